import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type HistoryShape, history } from './history.ts'
import { run } from './measure.ts'

/** A kind of project: how many repositories of it exist, and the shape of each. */
interface Kind extends HistoryShape {
  name: string
  count: number
}

const MB = 1_000_000

/** The sizes are distributed as on a real host: most repositories are small, a few hold most of the bytes. */
const PROJECTS: Kind[] = [
  { name: 'platform', count: 1, commits: 40_000, files: 5000, binaryBytes: 60 * MB },
  { name: 'app', count: 3, commits: 7000, files: 900, binaryBytes: 25 * MB },
  { name: 'library', count: 8, commits: 1200, files: 150, binaryBytes: 3 * MB },
  { name: 'tool', count: 24, commits: 120, files: 30, binaryBytes: 0.1 * MB },
  { name: 'notes', count: 24, commits: 5, files: 3, binaryBytes: 0 },
]

/** Repositories as they are in use: mostly text in long chains of deltas, many refs, several packs and loose objects. */
const LIVELY: Kind[] = [
  { name: 'server', count: 1, commits: 8000, files: 1200, binaryBytes: 2 * MB, refs: 4000 },
  { name: 'site', count: 4, commits: 1200, files: 400, binaryBytes: 6 * MB, isUnpacked: true },
  { name: 'client', count: 10, commits: 900, files: 120, binaryBytes: 0, refs: 300 },
  { name: 'script', count: 45, commits: 60, files: 12, binaryBytes: 0.02 * MB, isUnpacked: true },
]

const SMALL_ONES: Kind[] = [{ name: 'small', count: 200, commits: 8, files: 3, binaryBytes: 8000 }]

const ONE_GIANT: Kind[] = [
  { name: 'giant', count: 1, commits: 20_000, files: 4000, binaryBytes: 2000 * MB },
]

/** Repositories that show whether time and memory stay in proportion: one by its bytes, the other by its objects. */
const LARGE_PACK: Kind[] = [
  {
    name: 'large',
    count: 1,
    commits: 2000,
    files: 400,
    binaryBytes: 4000 * MB,
    isImportedOnly: true,
  },
]
const MANY_OBJECTS: Kind[] = [
  {
    name: 'many',
    count: 1,
    commits: 175_000,
    files: 400,
    lines: 10,
    binaryBytes: 0,
    isImportedOnly: true,
  },
]

/** Packs that are uploaded to a bucket in several parts each. */
const PACKS: Kind[] = [{ name: 'pack', count: 4, commits: 20, files: 5, binaryBytes: 40 * MB }]

/** The repository for the clone benchmark. */
const HUNDRED: Kind[] = [
  { name: 'hundred', count: 1, commits: 6000, files: 800, binaryBytes: 55 * MB },
]

export const CORPORA = {
  hundred: HUNDRED,
  projects: PROJECTS,
  lively: LIVELY,
  small: SMALL_ONES,
  giant: ONE_GIANT,
  'large-pack': LARGE_PACK,
  'many-objects': MANY_OBJECTS,
  packs: PACKS,
}
export type CorpusName = keyof typeof CORPORA

/** Increase this when the generator changes, so that the cached corpora are rebuilt. */
const GENERATION = 3

export const OWNER = 'ada'

/** Returns a directory of `ada/NAME.git`. It is generated once and kept in the system's temporary directory. */
export async function makeCorpus(name: CorpusName): Promise<string> {
  const kept = join(tmpdir(), 'godwit-bench', `${name}-${GENERATION}`)
  if (await readdir(kept).catch(() => undefined)) return kept
  const making = `${kept}.${process.pid}`
  await rm(making, { recursive: true, force: true })
  await mkdir(join(making, OWNER), { recursive: true })
  for (const kind of CORPORA[name]) {
    for (let index = 1; index <= kind.count; index += 1) {
      const repository = `${kind.name}-${index}`
      await makeRepository(join(making, OWNER, `${repository}.git`), kind, repository)
      console.error(`made ${repository}`)
    }
  }
  await rename(making, kept)
  return kept
}

const FAST_IMPORT = ['fast-import', '--quiet']

async function makeRepository(dir: string, kind: Kind, seed: string): Promise<void> {
  await run('git', ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', dir])
  const unpackLimit = `fastimport.unpackLimit=${kind.isUnpacked ? 1000 : 0}`
  const args = kind.isImportedOnly ? [...FAST_IMPORT, '--big-file-threshold=10k'] : FAST_IMPORT
  const compression = `pack.compression=${kind.isImportedOnly ? 0 : -1}`
  const importing = spawn('git', ['-C', dir, '-c', unpackLimit, '-c', compression, ...args], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  const ended = once(importing, 'exit')
  await pipeline(history(kind, seed), importing.stdin)
  const [code] = await ended
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`)
  if (kind.isUnpacked || kind.isImportedOnly) return
  await run('git', ['-C', dir, '-c', 'pack.threads=2', 'repack', '-adq'])
}
