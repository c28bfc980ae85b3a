import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { invalidNameReason } from '@godwit/lib/names'
import type { LastChangeTokenOf, RefusedEntry, RepositoryName, SpellingOf } from '../../source.ts'
import {
  caseConflict,
  currentChangeToken,
  type Directory,
  IS_LINK,
  isNamedAsRepository,
  listingEntryAt,
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
   * Lists repositories in a fixed order, with entries that look like repositories and are refused. Throws Unreadable if the root
   * cannot be read.
   */
  list(options?: ListingOptions): LayoutEntries
  /**
   * Returns the directory of a repository that was listed before, even if it is damaged now. Returns several directories if several
   * have the same name; then `list` refuses them all. Throws Unreadable.
   */
  directoriesOf(repository: RepositoryName): RepositoryDirectory[]
}

export interface ListingOptions {
  /** Lists only this repository, ignoring case. If owners differ only in case, lists the one with exactly this spelling. */
  only?: RepositoryName
  read?: ReadDirectory
  spellingOf?: SpellingOf | undefined
  lastChangeTokenOf?: LastChangeTokenOf | undefined
}

/** An entry below the root; the `path` of a members file is relative to the root. */
type LayoutEntry =
  | { repository: RepositoryDirectory }
  | { refused: RefusedEntry }
  | { membersOf: string; path: string }

/**
 * Each step blocks for a few system calls. Where a listing has no entry for long, it yields undefined, so that its reader can let
 * other work of the thread run. It yields a promise for a symbolic link, whose target may be on a slow file system.
 */
export type LayoutEntries = Generator<MaybeEntry | Promise<MaybeEntry>, void, void>
type MaybeEntry = LayoutEntry | undefined

/** An entry `….git`, and the name of the repository that follows from its path. */
export interface Candidate {
  owner: string
  name: string
  /** Relative to the root, without `.git`. */
  path: string
  entry: Dirent
}

interface CheckedCandidate extends Candidate {
  /** Why it is not a repository; undefined if it is one. */
  reason: string | undefined
  /** Its change token, if that is still the last one. */
  changeToken: string | undefined
}

/**
 * Yields the repositories among the candidates. If several have the same name, ignoring case, all are refused: otherwise one would
 * take over the name of the other as soon as the other disappears.
 */
export function* resolveCandidates(
  root: string,
  candidates: readonly Candidate[],
  lastChangeTokenOf?: LastChangeTokenOf,
): LayoutEntries {
  const checked: CheckedCandidate[] = []
  for (const candidate of candidates) {
    checked.push(checkCandidate(root, candidate, lastChangeTokenOf?.(candidate)))
    yield undefined
  }
  const holders = Map.groupBy(checked.filter(holdsName), keyOf)
  for (const each of checked) {
    const { owner, name, path, reason } = each
    const hiddenRepository = { fullName: `${owner}/${name}` }
    const others = (holders.get(keyOf(each)) ?? []).filter((other) => other.path !== path)
    if (holdsName(each) && others.length > 0) {
      const same = others.map((other) => `${other.path}.git`).join(', ')
      const conflict = `its name would be ${hiddenRepository.fullName}, the same as that of ${same}`
      yield refused(`${path}.git`, conflict, hiddenRepository)
    } else if (reason !== undefined) {
      yield refused(`${path}.git`, reason, hiddenRepository)
    } else {
      yield listingEntryAt(root, path, each)
    }
  }
}

/** Returns the candidates that hold the name; if none does, all directories among them. */
export function candidateDirectories(
  root: string,
  candidates: readonly Candidate[],
): RepositoryDirectory[] {
  const directories = candidates.filter(({ entry }) => entry.isDirectory())
  const holders = directories.map((each) => checkCandidate(root, each)).filter(holdsName)
  const chosen = holders.length > 0 ? holders : directories
  return chosen.map((each) => repositoryAt(root, each.path, each))
}

export function checkCandidate(
  root: string,
  candidate: Candidate,
  lastChangeToken?: string,
): CheckedCandidate {
  const { name, path, entry } = candidate
  const dir = join(root, `${path}.git`)
  const changeToken = currentChangeToken(dir, entry, lastChangeToken)
  const invalidName = [...path.split('/'), name].map(invalidNameReason).find(Boolean)
  const reason = invalidName ?? (changeToken === undefined ? refusal(dir, entry) : undefined)
  return { ...candidate, reason, changeToken }
}

/** A directory that cannot be read now may be a repository, so no other repository may have its name. */
const holdsName = ({ reason, entry }: CheckedCandidate): boolean =>
  reason === undefined || (entry.isDirectory() && reason !== NOT_A_REPOSITORY && reason !== IS_LINK)

const keyOf = ({ owner, name }: Candidate): string => `${owner}/${name}`.toLowerCase()

/** Names in use, ignoring case. */
export class TakenNames {
  readonly #spellings = new Map<string, string>()

  /** Returns the spelling that is in use. */
  spellingOf(name: string): string | undefined {
    return this.#spellings.get(name.toLowerCase())
  }

  take(name: string): void {
    this.#spellings.set(name.toLowerCase(), name)
  }

  /** Takes the name of an owner, or returns the refusal of an invalid or conflicting name. */
  takeOwner(owner: string): { refused: RefusedEntry } | undefined {
    const reason = invalidNameReason(owner)
    if (reason !== undefined) return refused(owner, reason)
    const taken = this.spellingOf(owner)
    if (taken !== undefined && taken !== owner) return caseConflict(owner, taken)
    this.take(owner)
    return undefined
  }

  /**
   * Takes the spelling that the service uses for an owner, if the owner's directory still exists. Otherwise a directory that differs
   * only in case could take over the owner's account.
   */
  reserve(spelling: string | undefined, root: Directory): void {
    if (spelling !== undefined && root.hasDirectory(spelling) && !this.spellingOf(spelling))
      this.take(spelling)
  }
}

/** Returns the repositories of a directory, or those of one name, without wikis. */
export function repositoryEntries(directory: Directory, only?: string): Dirent[] {
  const entries = only === undefined ? directory.entries : directory.named(`${only}.git`)
  return entries.filter((entry) => isNamedAsRepository(entry) && !isWiki(nameOf(entry), directory))
}

/** `site.wiki` is the wiki of `site`, if both are in the directory. */
export function isWiki(name: string, directory: Directory): boolean {
  const repository = name.slice(0, -'.wiki'.length)
  return (
    name.endsWith('.wiki') && directory.has(`${repository}.git`) && !isWiki(repository, directory)
  )
}
