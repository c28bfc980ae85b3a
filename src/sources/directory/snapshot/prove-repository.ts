import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import type { FoundRepository, Source } from '../../source.ts'
import { includesOthers, readSettings } from '../facts/repository-settings.ts'
import { type Examination, examine, type Found } from './examine.ts'
import type { Snapshot } from './snapshot.ts'
import { byName, Unsupported } from './snapshot-errors.ts'
import type { ScratchRepository } from './snapshot-scratch.ts'

export interface ProvingParts {
  /** The unpacked repositories. */
  source: Source
  git: Git
  /** Where the proven copies are put, links for the most part; on the same file system. */
  scratch: string
}

const A_DAY = 86_400_000

/**
 * A copy of a repository that holds nothing but refs, objects, attributes and a config of our making, which keeps what it
 * refused of pushes.
 */
export interface Proven {
  /** Of the copy itself. */
  examination: Examination
  snapshot: Snapshot
}

/**
 * A repository out of an archive, taken like any other: every object is there and has the content that its name says.
 * Rejects with Unreadable.
 */
export async function proveRepository(
  { source, git, scratch }: ProvingParts,
  found: FoundRepository,
  directories: readonly string[],
  signal: AbortSignal,
): Promise<Proven> {
  const name = `${found.owner}/${found.name}`
  for (const dir of directories) await refuseIncludes(git, dir, name, signal)
  const examination = await source.examine(found, signal)
  refuseBorrowing(examination)
  const snapshot = await source.snapshot(examination, scratch, signal)
  try {
    await source.verify(snapshot, undefined, signal)
    const { repository, wiki } = snapshot
    for (const part of wiki ? [repository, wiki] : [repository])
      await hashPackedObjects(git, part, signal)
    await readWhole(snapshot)
    const place = { dir: repository.dir, wikiDir: wiki?.dir, fullName: name }
    return { examination: await examine(place, git, signal), snapshot }
  } catch (error) {
    await snapshot.remove()
    throw error
  }
}

/** Git would follow them to any file of this machine. */
async function refuseIncludes(
  git: Git,
  dir: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const settings = await readSettings(git, dir, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    throw byName(name, error, dir)
  })
  if (includesOthers(settings)) throw new Unsupported(name, 'its config includes other files')
}

/** Whose objects those would be, nobody can say. */
function refuseBorrowing({ repository, wiki }: Examination): void {
  for (const part of [repository, wiki] satisfies (Found | null)[])
    if (part?.borrows)
      throw new Unsupported(part.name, 'it borrows objects from elsewhere (alternates)')
}

/** A pack's checksum says that nothing was lost on the way; only hashing proves that no index names one object another. */
async function hashPackedObjects(
  git: Git,
  { dir, name, files }: ScratchRepository,
  signal: AbortSignal,
): Promise<void> {
  for (const { path, kind } of files) {
    if (kind !== 'idx') continue
    const call = { dir, signal, timeoutMs: A_DAY }
    await git.run(['verify-pack', join(dir, path)], call).catch((error: unknown) => {
      signal.throwIfAborted()
      throw byName(name, error, dir)
    })
  }
}

/**
 * What is read to its end has been checked: trailers of packs, hashes of loose objects, digests of LFS objects. Refs and
 * the like are written where they belong: a snapshot keeps on disk only what git needs to walk the objects.
 */
async function readWhole(snapshot: Snapshot): Promise<void> {
  const { repository, wiki, examination } = snapshot
  const root = `repositories/${examination.place.fullName}`
  for await (const { path, kind, packed, open } of snapshot.entries()) {
    const inWiki = wiki && `${path}/`.startsWith(`${root}.wiki.git/`)
    const [dir, start] = inWiki ? [wiki.dir, `${root}.wiki.git`] : [repository.dir, `${root}.git`]
    const here = join(dir, path.slice(start.length))
    if (kind === 'directory') await mkdir(here, { recursive: true })
    else if (!packed) await writeFile(here, open())
    else for await (const _ of open());
  }
}
