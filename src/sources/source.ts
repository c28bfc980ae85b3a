import type { RunningGit } from '../git/git.ts'
import type { Examination, Snapshot } from './snapshot.ts'

export interface RepositoryName {
  owner: string
  name: string
}

/** One repository as a source lists it. */
export interface FoundRepository extends RepositoryName {
  /** Changes whenever anything that facts are read from may have changed; costs no git process to make. */
  stamp: string
  hasWiki: boolean
}

/** Something that stands where a repository would and cannot be taken as one; `path` is relative to the source. */
export interface RefusedEntry {
  path: string
  reason: string
  /** The name that this one differs from only in case, where that is the reason. */
  twinOf?: string
  /** What cannot be seen for it, where the path does not tell: one repository, or all whose full names begin so. */
  hides?: { fullName: string } | { beginning: string }
  /** Known not to be served, rather than unknown: what was served before no longer is. */
  isWithdrawn?: true
}

/** How an owner's name is spelled where it is known already; case is disregarded. */
export type SpellingOf = (owner: string) => string | undefined

export type ListedEntry =
  | { found: FoundRepository }
  | { refused: RefusedEntry }
  | { members: StatedMembers }

/** Who belongs to an owner, as the source states it. */
export interface StatedMembers {
  owner: string
  /** Undefined where it cannot be read: what was stated before then still holds. */
  members: StatedMember[] | undefined
  warnings: RefusedEntry[]
}

export interface StatedMember {
  login: string
  role: 'owner' | 'member'
}

export interface Collaborator {
  login: string
  permission: Permission
}

/** The weakest first. */
export const PERMISSIONS = ['read', 'triage', 'write', 'maintain', 'admin'] as const
export type Permission = (typeof PERMISSIONS)[number]

/** What a source knows of a repository: no ids, no URLs. Times are epoch milliseconds. */
export interface SourceFacts {
  description: string
  homepage: string | null
  private: boolean
  defaultBranch: string
  sizeKib: number
  createdAt: number
  pushedAt: number
  /** The newest of the pushed commits and the files that hold the facts. */
  updatedAt: number
  /**
   * The commit that HEAD names and whose tree language and licence were read from; null while the branch is unborn, and
   * where the operator named either, so that what was said by hand is never taken for what a tree holds.
   */
  headCommit: string | null
  language: string | null
  /** SPDX identifier, such as `MIT`. */
  license: string | null
  topics: string[]
  archived: boolean
  disabled: boolean
  isTemplate: boolean
  /** `owner/name`, not followed. */
  templateRepository: string | null
  forkOf: string | null
  hasIssues: boolean
  hasProjects: boolean
  hasWiki: boolean
  hasPages: boolean
  hasDownloads: boolean
  allowRebaseMerge: boolean
  allowSquashMerge: boolean
  allowMergeCommit: boolean
  deleteBranchOnMerge: boolean
  collaborators: Collaborator[]
  /** Where the repository is a mirror of, without credentials; null when it is no mirror. */
  mirrorOf: string | null
  /** Only where it was said; how an account that is new begins. */
  ownerIsOrganization?: true
  /** Only where the operator said that it has none: git does not know, and importers take it for a yes. */
  turnedOff?: ('hasIssues' | 'hasDownloads')[]
  /** Only where its own config says so. */
  denies?: ('nonFastForwards' | 'deletes')[]
}

/** What git does not know, until the operator says otherwise. */
export const USUAL_FACTS = {
  archived: false,
  disabled: false,
  isTemplate: false,
  hasIssues: false,
  hasProjects: false,
  hasPages: false,
  hasDownloads: false,
  allowRebaseMerge: true,
  allowSquashMerge: true,
  allowMergeCommit: true,
  deleteBranchOnMerge: false,
}

/** Facts that are expensive to derive and need not be derived again: those of the same head commit, and the birthday. */
export type KnownFacts = Pick<SourceFacts, 'headCommit' | 'language' | 'license' | 'createdAt'>

/** What is asked of the branches or tags of a repository. */
export interface AskedRefs {
  kind: 'branches' | 'tags'
  offset: number
  limit: number
  /** The one of this name alone, or all but that one. */
  only?: string | undefined
  except?: string | undefined
}

export interface ListedRef {
  name: string
  commit: string
}

/** Some of the branches or tags, and how many there are in all. */
export interface RefPage {
  total: number
  refs: ListedRef[]
}

/** A file that says under which licence a repository is. */
export interface LicenseFile {
  path: string
  oid: string
  bytes: Buffer
  /** SPDX identifier; null where the text is of no licence that is known. */
  license: string | null
}

/** One request of a git client that fetches, and nothing of what came before it: so is git's protocol over HTTP. */
export interface ServedFetch {
  /** The refs that there are, or an answer to what is then written to the process. */
  answer: 'advertisement' | 'request'
  protocolVersion: 0 | 1 | 2
  /** Its wiki, not the repository itself. */
  ofWiki: boolean
  signal: AbortSignal
}

/** Where repositories come from. One contract suite runs on every implementation. */
export interface Source {
  /**
   * In a fixed order; rejects, rather than ending early, when the source as a whole cannot be read. Of owners that differ
   * only in case one is taken, the known spelling before the first in order, and the others are refused.
   */
  list(spellingOf?: SpellingOf): AsyncIterable<ListedEntry>
  /**
   * The same as its row in `list`, for one repository; undefined when there is none. Case is disregarded, but of owners
   * that differ only in case it is the one that is spelled as asked.
   */
  find(owner: string, name: string): Promise<FoundRepository | undefined>
  /** Why `find` does not give what is there; undefined where nothing is. Absent where nothing is ever hidden. */
  whyHidden?(repository: RepositoryName): Promise<string | undefined>
  /** The same as its row in `list`, for one owner; undefined where the source states no members. */
  members(owner: string): Promise<StatedMembers | undefined>
  /** Rejects with Unreadable. */
  facts(repository: FoundRepository, known?: KnownFacts, signal?: AbortSignal): Promise<SourceFacts>
  /** Branches or tags as someone who clones the repository is shown them. Rejects with Unreadable, as do the next two. */
  refs(repository: RepositoryName, asked: AskedRefs, signal: AbortSignal): Promise<RefPage>
  /** Bytes by language, the largest first. */
  languages(repository: RepositoryName, signal: AbortSignal): Promise<Record<string, number>>
  licenseFile(repository: RepositoryName, signal: AbortSignal): Promise<LicenseFile | undefined>
  /** A cheap look at what a snapshot would hold. Rejects with Unreadable, as do the next two. */
  examine(repository: RepositoryName, signal: AbortSignal): Promise<Examination>
  /** What would be told of it though it can be exported; null where there is nothing. More expensive than `examine`. */
  warning(examination: Examination, signal: AbortSignal): Promise<string | null>
  /** The repository at one moment, apart from the source, in a directory below `scratchDirectory`. */
  snapshot(
    examination: Examination,
    scratchDirectory: string,
    signal: AbortSignal,
  ): Promise<Snapshot>
  /** Starts git's own server of fetches, which heeds the repository's own settings for them. Rejects with Unreadable. */
  serveFetch(repository: RepositoryName, fetch: ServedFetch): Promise<RunningGit>
  /** Rejects with Unreadable where a lock could not keep pushes out; changes nothing. */
  checkLock(repository: RepositoryName): Promise<void>
  /** Whether a lock of ours stands in the repository or its wiki, effective or not. Rejects with Unreadable. */
  hasLock(repository: RepositoryName): Promise<boolean>
  /**
   * Refuses pushes to the repository and its wiki, or lets them in again, as `isWanted` says; it is asked while nobody else can
   * change that, and who holds a lock is the caller's to count. Also of what `find` does not give and is there. Rejects with
   * Unreadable, and may then have settled a part; with Gone where nothing is there.
   */
  settleLock(repository: RepositoryName, isWanted: () => Promise<boolean>): Promise<void>
}
