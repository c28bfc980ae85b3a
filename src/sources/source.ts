import type { RunningGit } from '../git/git.ts'
import type { Examination, Snapshot } from './snapshot.ts'

export interface RepositoryName {
  owner: string
  name: string
}

/** A repository as a source lists it. */
export interface FoundRepository extends RepositoryName {
  /** Changes whenever the facts may have changed. Cheap: no git process is needed to make it. */
  stamp: string
  hasWiki: boolean
}

/** An entry of the source that is not listed as a repository, and why. */
export interface RefusedEntry {
  /** Relative to the root of the source. */
  path: string
  reason: string
  /** Set where the reason is that this name differs only in case from another, which is given here. */
  caseConflictWith?: string
  /** Which repositories may be behind the entry, if its path does not say it: one, or all whose full names begin so. */
  hides?: { fullName: string } | { beginning: string }
  /** The repository is no longer served. Without it, a repository that was served before may just be unreadable for now. */
  isWithdrawn?: true
}

/** Returns the known spelling of an owner's name, without regard to case; undefined for an unknown owner. */
export type SpellingOf = (owner: string) => string | undefined

export type ListedEntry =
  | { found: FoundRepository }
  | { refused: RefusedEntry }
  | { members: StatedMembers }

/** The members of an owner according to the source. */
export interface StatedMembers {
  owner: string
  /** Undefined where they cannot be read: then the previous ones stay. */
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

/** From the weakest to the strongest. */
export const PERMISSIONS = ['read', 'triage', 'write', 'maintain', 'admin'] as const
export type Permission = (typeof PERMISSIONS)[number]

/** What a source knows about a repository, without ids and URLs of the API. Times are epoch milliseconds. */
export interface SourceFacts {
  description: string
  homepage: string | null
  private: boolean
  defaultBranch: string
  sizeKib: number
  createdAt: number
  pushedAt: number
  /** The newest time of pushed commits and of the files that hold the facts. */
  updatedAt: number
  /**
   * The commit that HEAD names, from whose tree language and licence were read. Null while the branch has no commit. Also null where
   * the operator stated one of them: then the next read does not take the stated values for those of this commit.
   */
  headCommit: string | null
  language: string | null
  /** SPDX identifier, such as `MIT`. */
  license: string | null
  topics: string[]
  archived: boolean
  disabled: boolean
  isTemplate: boolean
  /** `owner/name`, as stated: the repository may not exist. */
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
  /** The URL that the repository is a mirror of, without credentials; null where it is not a mirror. */
  mirrorOf: string | null
  /** Set where the source states it: a new account of this owner becomes an organization. */
  ownerIsOrganization?: true
  /** What the operator has turned off explicitly: importers assume that a repository has these. */
  turnedOff?: ('hasIssues' | 'hasDownloads')[]
  /** Which pushes the repository's own config refuses. */
  denies?: ('nonFastForwards' | 'deletes')[]
}

/** Facts that git does not know; the operator can state others. */
export const DEFAULT_FACTS = {
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

/** Facts from the last read that are expensive to read again: those of the same head commit, and the creation time. */
export type KnownFacts = Pick<SourceFacts, 'headCommit' | 'language' | 'license' | 'createdAt'>

/** Which branches or tags of a repository to list. */
export interface RefQuery {
  kind: 'branches' | 'tags'
  offset: number
  limit: number
  /** Lists only the ref of this name, or all but that one. */
  only?: string | undefined
  except?: string | undefined
}

export interface ListedRef {
  name: string
  commit: string
}

/** A page of branches or tags, and the number of all. */
export interface RefPage {
  total: number
  refs: ListedRef[]
}

/** The licence file of a repository. */
export interface LicenseFile {
  path: string
  oid: string
  bytes: Buffer
  /** SPDX identifier; null for an unknown text. */
  license: string | null
}

/** One request of a git client that fetches. Git's protocol over HTTP is stateless. */
export interface FetchRequest {
  /** `advertisement` lists the refs; `request` answers what is written to the process. */
  answer: 'advertisement' | 'request'
  protocolVersion: 0 | 1 | 2
  /** Serves the wiki instead of the repository. */
  isWiki: boolean
  signal: AbortSignal
}

/**
 * Where repositories come from. Every implementation passes the suite in test/contracts/source.contract.ts. Methods that reject with Unreadable do so
 * with a message that a user may see; other errors are failures of this machine, and aborts reject with the reason of the signal.
 */
export interface Source {
  /**
   * Lists all repositories, refused entries and stated members, in a fixed order. Called by every sync. Rejects, rather than ending
   * early, where the source as a whole cannot be read: then nothing is known to be gone. Of owners whose names differ only in case,
   * the one with the known spelling is listed, otherwise the first; the others are refused.
   */
  list(spellingOf?: SpellingOf): AsyncIterable<ListedEntry>
  /**
   * Returns one repository as `list` does; undefined where it would not be listed. Called before a single repository is read again.
   * Disregards case, but of owners whose names differ only in case it finds the one spelled exactly so. Rejects as `list` does.
   */
  find(owner: string, name: string): Promise<FoundRepository | undefined>
  /**
   * Returns why `find` does not return a repository that exists; undefined where it does not exist. Called to explain a missing
   * repository. A source that hides nothing does not have this method.
   */
  whyHidden?(repository: RepositoryName): Promise<string | undefined>
  /** Returns one owner's members as `list` does; undefined where the source states none. */
  members(owner: string): Promise<StatedMembers | undefined>
  /**
   * Reads the facts of a repository. Called by a sync for every new or changed stamp, with the facts that are `known` from before.
   * Rejects with Unreadable.
   */
  facts(repository: FoundRepository, known?: KnownFacts, signal?: AbortSignal): Promise<SourceFacts>
  /** Lists branches or tags as a clone would show them. Called for a request of the API. Rejects with Unreadable. */
  refs(repository: RepositoryName, query: RefQuery, signal: AbortSignal): Promise<RefPage>
  /** Returns the bytes by language, the largest first. Called for a request of the API. Rejects with Unreadable. */
  languages(repository: RepositoryName, signal: AbortSignal): Promise<Record<string, number>>
  /** Returns undefined where there is no licence file. Called for a request of the API. Rejects with Unreadable. */
  licenseFile(repository: RepositoryName, signal: AbortSignal): Promise<LicenseFile | undefined>
  /**
   * Finds out what a snapshot would hold, without reading the objects. Called by preflights and before each export, which ends here
   * if the fingerprint has not changed. Rejects with Unreadable.
   */
  examine(repository: RepositoryName, signal: AbortSignal): Promise<Examination>
  /**
   * Returns what the report of a snapshot would warn of, null where it would not. Called by preflights; more expensive than
   * `examine`. Rejects with Unreadable.
   */
  warning(examination: Examination, signal: AbortSignal): Promise<string | null>
  /**
   * Copies the repository as it is at one moment into a new directory below `scratchDirectory`. Called by an export after `examine`;
   * the caller removes the snapshot. Rejects with Unreadable, and then leaves nothing behind.
   */
  snapshot(
    examination: Examination,
    scratchDirectory: string,
    signal: AbortSignal,
  ): Promise<Snapshot>
  /**
   * Starts git's server for a fetch, which follows the repository's own settings for fetches. Called for each request of a git
   * client. Rejects with Unreadable before anything is started.
   */
  serveFetch(repository: RepositoryName, fetch: FetchRequest): Promise<RunningGit>
  /** Rejects with Unreadable where a lock would not keep pushes out. Called before a migration is accepted. Changes nothing. */
  checkLock(repository: RepositoryName): Promise<void>
  /** Whether the repository or its wiki has a lock of ours, effective or not. Called by doctor. Rejects with Unreadable. */
  hasLock(repository: RepositoryName): Promise<boolean>
  /**
   * Refuses pushes to the repository and its wiki, or allows them again, as `isWanted` says; `isWanted` is called while nobody else can
   * change the lock, and may be called several times. Called when migrations start and end, and by housekeeping. Also works for a
   * repository that `find` does not return. Rejects with Gone where the repository does not exist, otherwise with Unreadable (Busy
   * where a retry may help); then the repository may be settled and its wiki not.
   */
  settleLock(repository: RepositoryName, isWanted: () => Promise<boolean>): Promise<void>
}
