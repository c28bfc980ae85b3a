import type { RefusedEntry, RepositoryName, SpellingOf } from '../../source.ts'
import type { ReadDirectory } from '../directory.ts'
import type { RepositoryDirectory } from '../repository-directory.ts'

/** One entry below the root. `path` is that of the file of members, below the root. */
type Place =
  | { repository: RepositoryDirectory }
  | { refused: RefusedEntry }
  | { membersOf: string; path: string }

export type FoundPlaces = AsyncGenerator<Place, void, void>

export interface ListingOptions {
  /** Where names differ only in case, the owner that is spelled so. */
  only?: RepositoryName
  read?: ReadDirectory
  spellingOf?: SpellingOf
}

/** Which name a repository has here by where it is, and the other way round. No link is ever followed. */
export interface Layout {
  /** In a fixed order, with what looks like a repository and is not taken. Rejects where the root cannot be read. */
  list(options?: ListingOptions): FoundPlaces
  /**
   * Where a repository that was found before is, whatever has become of it. There are several places where several have come
   * to have one name; then none of them is listed.
   */
  dataPathsOf(repository: RepositoryName): Promise<RepositoryDirectory[]>
}
