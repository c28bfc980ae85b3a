import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { invalidNameReason } from '../../../lib/names.ts'
import type { RefusedEntry, RepositoryName, SpellingOf } from '../../source.ts'
import {
  type Directory,
  findRepositoryAt,
  IS_LINK,
  isNamedAsRepository,
  NOT_A_REPOSITORY,
  nameOf,
  type ReadDirectory,
  type RepositoryDirectory,
  refusal,
  refused,
  repositoryAt,
} from '../repository-directory.ts'

/** Maps names of repositories to directories below a root, and back. Never follows links. */
export interface Layout {
  /**
   * Lists repositories in a fixed order, with entries that look like repositories and are refused. Rejects with Unreadable where the
   * root cannot be read.
   */
  list(options?: ListingOptions): LayoutEntries
  /**
   * Returns where a repository is that was listed before, even if it is damaged now. Returns several directories where several have
   * the same name; then `list` refuses them all. Rejects with Unreadable.
   */
  directoriesOf(repository: RepositoryName): Promise<RepositoryDirectory[]>
}

export interface ListingOptions {
  /** Lists only this repository, without regard to case. Of owners that differ only in case, the one spelled exactly so. */
  only?: RepositoryName
  read?: ReadDirectory
  spellingOf?: SpellingOf
}

/** An entry below the root; the `path` of a members file is relative to the root. */
export type LayoutEntry =
  | { repository: RepositoryDirectory }
  | { refused: RefusedEntry }
  | { membersOf: string; path: string }

export type LayoutEntries = AsyncGenerator<LayoutEntry, void, void>

/** An entry `….git`, and the name that its path gives it. */
export interface Candidate {
  owner: string
  name: string
  /** Relative to the root, without `.git`. */
  path: string
  entry: Dirent
}

interface CheckedCandidate extends Candidate {
  /** Why it is not a repository; undefined where it is one. */
  reason: string | undefined
}

/**
 * Yields the repositories among the candidates. Where several have the same name, without regard to case, all are refused: if one were
 * chosen, it would appear under the name by which the other is known as soon as either disappears.
 */
export async function* resolveCandidates(
  root: string,
  candidates: readonly Candidate[],
): LayoutEntries {
  const checked: CheckedCandidate[] = []
  for (const each of candidates) checked.push({ ...each, reason: await reasonAgainst(root, each) })
  const holders = Map.groupBy(checked.filter(holdsName), keyOf)
  for (const each of checked) {
    const { owner, name, path, reason } = each
    const hides = { fullName: `${owner}/${name}` }
    const others = (holders.get(keyOf(each)) ?? []).filter((other) => other.path !== path)
    if (holdsName(each) && others.length > 0) {
      const same = others.map((other) => `${other.path}.git`).join(', ')
      yield refused(`${path}.git`, `${hides.fullName} would be its name and that of ${same}`, hides)
    } else if (reason !== undefined) {
      yield refused(`${path}.git`, reason, hides)
    } else {
      yield await findRepositoryAt(root, path, { owner, name })
    }
  }
}

/** Returns the candidates that hold the name; if there are none, all directories among them. */
export async function candidateDirectories(
  root: string,
  candidates: readonly Candidate[],
): Promise<RepositoryDirectory[]> {
  const directories = candidates.filter(({ entry }) => entry.isDirectory())
  const holders: Candidate[] = []
  for (const each of directories)
    if (holdsName({ ...each, reason: await reasonAgainst(root, each) })) holders.push(each)
  const chosen = holders.length > 0 ? holders : directories
  return Promise.all(chosen.map((each) => repositoryAt(root, each.path, each)))
}

async function reasonAgainst(root: string, { name, path, entry }: Candidate) {
  const parts = path.split('/').map(invalidNameReason)
  const invalidName = parts.find((reason) => reason !== undefined) ?? invalidNameReason(name)
  return invalidName ?? refusal(join(root, `${path}.git`), entry)
}

/** A directory that cannot be read now may be a repository, so no other may have its name. */
const holdsName = ({ reason, entry }: CheckedCandidate): boolean =>
  reason === undefined || (entry.isDirectory() && reason !== NOT_A_REPOSITORY && reason !== IS_LINK)

const keyOf = ({ owner, name }: Candidate): string => `${owner}/${name}`.toLowerCase()

/** Names in use, without regard to case. */
export interface TakenNames {
  /** Returns the spelling that is in use. */
  spellingOf(name: string): string | undefined
  take(name: string): void
}

export function takenNames(): TakenNames {
  const taken = new Map<string, string>()
  return {
    spellingOf: (name) => taken.get(name.toLowerCase()),
    take(name) {
      taken.set(name.toLowerCase(), name)
    },
  }
}

/** Returns the repositories of a directory, or those of one name, without wikis: `site.wiki` is the wiki of a `site` beside it. */
export function repositoryEntries(directory: Directory, only?: string): Dirent[] {
  const exists = (name: string) => directory.has(`${name}.git`)
  const entries = only === undefined ? directory.repositories : directory.named(`${only}.git`)
  return entries.filter((entry) => isNamedAsRepository(entry) && !isWikiName(nameOf(entry), exists))
}

export function isWikiName(name: string, exists: (name: string) => boolean): boolean {
  const repository = name.slice(0, -'.wiki'.length)
  return name.endsWith('.wiki') && exists(repository) && !isWikiName(repository, exists)
}
