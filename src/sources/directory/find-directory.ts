import { dirname } from 'node:path'
import type { RepositoryName } from '../source.ts'
import { Unreadable } from '../unreadable.ts'
import { readRoot } from './directory.ts'
import { lstatIfThere } from './files/sync-fs.ts'
import { orUnreadable } from './files/why-unreadable.ts'
import type { ServedTree } from './list-repositories.ts'
import { hasConfig, isRepository, type RepositoryDirectory } from './repository-directory.ts'

/** Rejects with Unreadable. */
export async function directoryOf(
  { layout }: ServedTree,
  repository: RepositoryName,
): Promise<RepositoryDirectory> {
  const [place, ...others] = await layout.dataPathsOf(repository)
  if (!place) throw new Unreadable('the repository no longer exists')
  if (others.length > 0) throw sameName([place, ...others])
  return place
}

/** The same; whoever is told why not is told of which. */
export async function directoryToName(
  tree: ServedTree,
  repository: RepositoryName,
): Promise<RepositoryDirectory> {
  const { owner, name } = repository
  return directoryOf(tree, repository).catch((error: unknown) => {
    if (!(error instanceof Unreadable)) throw error
    throw new Unreadable(`${owner}/${name}: ${error.message}`, { cause: error })
  })
}

/** All that have the name and are there, damaged or not. Rejects with Unreadable where it is not known whether anything is. */
export async function existingDirectories(
  { top, layout }: ServedTree,
  repository: RepositoryName,
): Promise<RepositoryDirectory[]> {
  const isOwnDirectory = async (part: string) =>
    part === top || ((await lstatIfThere(part))?.isDirectory() ?? false)
  const isOne = async (dir: string) => (await hasConfig(dir)) || (await isRepository(dir))
  const places: RepositoryDirectory[] = []
  for (const place of await layout.dataPathsOf(repository)) {
    const { dir } = place
    const isHere = async () =>
      (await isOwnDirectory(dirname(dir))) && (await isOwnDirectory(dir)) && (await isOne(dir))
    if (await orUnreadable(dir, undefined, isHere)) places.push(place)
  }
  if (places.length === 0) await readRoot(top)
  return places
}

export function sameName(places: readonly RepositoryDirectory[]): Unreadable {
  const paths = places.map(({ path }) => `${path}.git`).join(', ')
  return new Unreadable(`several repositories have this name: ${paths}`)
}
