import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { A_DAY, type Git } from '../../git/git.ts'
import type { Examination, Found, Snapshot } from '../snapshot.ts'
import { orDamaged, Unsupported } from './files/repository-errors.ts'
import { includesOthers, readSettings } from './files/repository-settings.ts'
import type { RepositoryDirectory } from './repository-directory.ts'
import { type ExamineParts, examine } from './snapshot/examine.ts'
import type { ScratchRepository } from './snapshot/snapshot-scratch.ts'
import { takeSnapshot } from './snapshot/take-snapshot.ts'

/**
 * A copy of a repository that holds nothing but refs, objects, attributes and a config of our making, which keeps what it
 * refused of pushes.
 */
export interface Proven {
  /** Of the copy itself. */
  examination: Examination
  snapshot: Snapshot
}

export interface ProvingParts extends ExamineParts {
  examine(): Promise<Examination>
  /** Where the copy is put, links for the most part; on the same file system. */
  scratch: string
}

/** Taken like any other, where nothing of it leads elsewhere; and everything is hashed. */
export async function proveRepository(
  { owner, name: named, dir: own, wikiDir }: RepositoryDirectory,
  { examine: look, scratch, ...parts }: ProvingParts,
): Promise<Proven> {
  const { git, signal } = parts
  const name = `${owner}/${named}`
  for (const dir of wikiDir === null ? [own] : [own, wikiDir])
    await refuseIncludes(git, dir, name, signal)
  const examination = await look()
  refuseBorrowing(examination)
  const snapshot = await takeSnapshot(examination, scratch, parts)
  try {
    await snapshot.verify(undefined, signal)
    const { repository, wiki } = snapshot
    for (const part of wiki ? [repository, wiki] : [repository])
      await hashPackedObjects(git, part, signal)
    await readWhole(snapshot)
    const place = { dir: repository.dir, wikiDir: wiki?.dir, fullName: name }
    return { examination: await examine(place, { git, signal }), snapshot }
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
  const settings = await orDamaged({ name, dir }, signal, () => readSettings(git, dir, signal))
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
  repository: ScratchRepository,
  signal: AbortSignal,
): Promise<void> {
  const { dir, files } = repository
  const call = { dir, signal, timeoutMs: A_DAY }
  for (const { path } of files.filter(({ kind }) => kind === 'idx'))
    await orDamaged(repository, signal, () => git.run(['verify-pack', join(dir, path)], call))
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
