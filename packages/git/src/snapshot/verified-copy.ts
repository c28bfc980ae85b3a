import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { orUnreadable, Unsupported } from '../files/repository-errors.ts'
import { hasIncludes, readSettings } from '../files/repository-settings.ts'
import { type Git, LONG_TIMEOUT_MS } from '../git.ts'
import type { Examination, RepositoryLocation, Snapshot } from '../snapshot.ts'
import { type ExamineDependencies, examine } from './examine.ts'
import type { ScratchRepository } from './scratch-repository.ts'
import { takeSnapshot } from './take-snapshot.ts'

/**
 * A verified copy of a repository, with only its refs, objects and attributes, and a config of ours that still denies the same pushes.
 */
export interface VerifiedCopy {
  /** The examination of the copy. */
  examination: Examination
  snapshot: Snapshot
}

/**
 * Takes a snapshot of a repository and hashes every object. Rejects with Unreadable, also if the repository includes
 * config files or uses objects of other repositories. `scratch` is the directory for the copy, on the same file system: most of its
 * files are hard links.
 */
export async function makeVerifiedCopy(
  { dir, wikiDir, fullName: name }: RepositoryLocation,
  scratch: string,
  dependencies: Pick<ExamineDependencies, 'git' | 'signal'>,
): Promise<VerifiedCopy> {
  const { git, signal } = dependencies
  for (const each of wikiDir === undefined ? [dir] : [dir, wikiDir]) {
    const settings = await orUnreadable({ name, dir: each }, signal, () =>
      readSettings(git, each, signal),
    )
    // An include can name any file of this machine.
    if (hasIncludes(settings)) throw new Unsupported(name, 'its config includes other files')
  }
  const examination = await examine({ dir, wikiDir, fullName: name }, dependencies)
  // It is not known to whom objects of other repositories belong.
  for (const part of [examination.repository, examination.wiki])
    if (part?.hasExternalObjects)
      throw new Unsupported(part.name, 'it uses objects of other repositories (alternates)')
  const snapshot = await takeSnapshot(examination, scratch, dependencies)
  try {
    await snapshot.verify(undefined, signal)
    const { repository, wiki } = snapshot
    for (const part of wiki ? [repository, wiki] : [repository])
      await hashPackedObjects(git, part, signal)
    await readAll(snapshot)
    const location = { dir: repository.dir, wikiDir: wiki?.dir, fullName: name }
    return { examination: await examine(location, dependencies), snapshot }
  } catch (error) {
    await snapshot.remove()
    throw error
  }
}

/** The checksum of a pack does not prove that its index gives each object the right name; hashing the objects does. */
async function hashPackedObjects(
  git: Git,
  repository: ScratchRepository,
  signal: AbortSignal,
): Promise<void> {
  const { dir, files } = repository
  const call = { dir, signal, timeoutMs: LONG_TIMEOUT_MS }
  // This is what `git verify-pack` runs.
  for (const { path } of files.filter(({ kind }) => kind === 'pack'))
    await orUnreadable(repository, signal, () =>
      git.run(['index-pack', '--verify', join(dir, path)], call),
    )
}

/**
 * Reads all files to the end, which checks packs, loose objects and LFS objects, and writes the text files that a snapshot has only in
 * memory.
 */
async function readAll(snapshot: Snapshot): Promise<void> {
  const { repository, wiki, examination } = snapshot
  const root = `repositories/${examination.location.fullName}`
  for (const { path, kind, packed, open } of snapshot.entries()) {
    const inWiki = wiki && `${path}/`.startsWith(`${root}.wiki.git/`)
    const [dir, start] = inWiki ? [wiki.dir, `${root}.wiki.git`] : [repository.dir, `${root}.git`]
    const file = join(dir, path.slice(start.length))
    if (kind === 'directory') await mkdir(file, { recursive: true })
    else if (!packed) await writeFile(file, open())
    else for await (const _ of open());
  }
}
