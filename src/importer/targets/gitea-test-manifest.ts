import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { GitHost } from '../../../test/support/git-host.ts'
import type {
  Manifest,
  ManifestFile,
  ManifestGit,
  ManifestSegment,
} from '../../archive/manifest.ts'
import { IS_OBJECT } from '../safe-entries.ts'

/** Of an unpacked archive nobody can say what its segments were. */
const SEGMENT: ManifestSegment = { sha256: '0'.repeat(64), length: 1, plain_length: 1, crc32: 0 }

/** Says of an unpacked archive what it holds, as if it had been exported so. */
export async function addManifest(
  archive: string,
  host: Pick<GitHost, 'git'>,
  { repositories, stored = [] }: { repositories: readonly string[]; stored?: readonly string[] },
  change: (manifest: Manifest) => void = () => {},
): Promise<void> {
  const named = async (paths: readonly string[]) =>
    await Promise.all(paths.map((path) => fileAt(archive, path)))
  const manifest: Manifest = {
    ...{ format: 4, generator: 'godwit test', migration_guid: 'a', skipped: [], repositories: [] },
    created_at: '2024-01-01T00:00:00Z',
    metadata: {
      segment: SEGMENT,
      files: await named((await readdir(archive)).filter((name) => name.endsWith('.json'))),
    },
    stored_files: [{ full_name: repositories[0]!, segment: SEGMENT, files: await named(stored) }],
  }
  async function plainFiles(folder: string): Promise<string[]> {
    const below = join('repositories', folder)
    const found = await readdir(join(archive, below), { recursive: true, withFileTypes: true })
    return found
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(archive, join(entry.parentPath, entry.name)))
      .filter((path) => !IS_OBJECT.test(path))
  }
  for (const full_name of repositories) {
    const dir = join(archive, 'repositories', full_name)
    const wiki = existsSync(`${dir}.wiki.git`) ? await gitAt(host, `${dir}.wiki.git`) : null
    const folders = [`${full_name}.git`, ...(wiki ? [`${full_name}.wiki.git`] : [])]
    const files = await named((await Promise.all(folders.map(plainFiles))).flat())
    const said = { full_name, size: 1, segment: SEGMENT, wiki, lfs: [], files }
    manifest.repositories.push({ ...said, ...(await gitAt(host, `${dir}.git`)) })
  }
  change(manifest)
  await writeFile(join(archive, 'godwit-manifest.json'), JSON.stringify(manifest))
}

async function fileAt(archive: string, path: string): Promise<ManifestFile> {
  const content = await readFile(join(archive, path))
  return { path, size: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

async function gitAt(host: Pick<GitHost, 'git'>, dir: string): Promise<ManifestGit> {
  const lines = await host.git(['for-each-ref', '--format=%(objectname) %(refname)'], { dir })
  const refs = lines.split('\n').flatMap((line) => {
    const [oid, name] = line.split(' ')
    return oid && name ? [{ oid, name }] : []
  })
  const head = (await host.git(['symbolic-ref', 'HEAD'], { dir })).trim()
  return { object_format: 'sha1', head, refs, symrefs: [] }
}
