import type { RunningGit } from '@godwit/git/git'
import type { Examination, LfsObject, Snapshot } from '@godwit/git/snapshot'

export interface RepositoryName {
  owner: string
  name: string
}

/** A repository as a source lists it. */
export interface FoundRepository extends RepositoryName {
  /** Changes whenever the metadata may have changed. Computing it takes no git process. */
  changeToken: string
  hasWiki: boolean
}

/** An entry of the source that is not listed as a repository, and why. */
export interface RefusedEntry {
  /** Relative to the root of the source. */
  path: string
  reason: string
  /** The other name, if the entry is refused because its name differs from another one only in case. */
  caseConflictWith?: string
  /** The repositories that the entry may contain, if its path does not show them: one, or all whose full names have this prefix. */
  hiddenRepositories?: { fullName: string } | { prefix: string }
  /** Set if the repository is no longer served. If not set, a repository that was served before may be unreadable only temporarily. */
  isWithdrawn?: true
}

/** Returns how the service spells an owner's name that is given in any case; undefined for an unknown owner. */
export type SpellingOf = (owner: string) => string | undefined

/** Returns the change token that a repository had when its metadata was last read; undefined for an unknown repository. */
export type LastChangeTokenOf = (repository: RepositoryName) => string | undefined

export type ListedEntry =
  | { found: FoundRepository }
  | { refused: RefusedEntry }
  | { members: ConfiguredMembers }

/** The members of an owner, as the source defines them. */
export interface ConfiguredMembers {
  owner: string
  /** Undefined if they cannot be read. The previous members then remain. */
  members: ConfiguredMember[] | undefined
  warnings: RefusedEntry[]
}

export interface ConfiguredMember {
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
export interface SourceMetadata {
  description: string
  homepage: string | null
  private: boolean
  defaultBranch: string
  sizeKib: number
  createdAt: number
  pushedAt: number
  /** The newest time of pushed commits and of the files that hold the metadata. */
  updatedAt: number
  /**
   * The commit that HEAD names, from whose tree language and licence were read. Null while the branch has no commit. Also null if the
   * operator set the language or the licence, so that the next read does not reuse these values as those of the commit.
   */
  headCommit: string | null
  language: string | null
  /** SPDX identifier, such as `MIT`. */
  license: string | null
  topics: string[]
  archived: boolean
  disabled: boolean
  isTemplate: boolean
  /** `owner/name`. The repository may not exist. */
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
  /** The URL that the repository is a mirror of, without credentials; null if it is not a mirror. */
  mirrorOf: string | null
  /** Set if the source knows that the owner is an organization. A new account of this owner then becomes an organization. */
  ownerIsOrganization?: true
  /** The features that the operator has turned off explicitly. Importers assume that a repository has them. */
  turnedOff?: ('hasIssues' | 'hasDownloads')[]
  /** Which pushes the repository's own config refuses. */
  denies?: ('nonFastForwards' | 'deletes')[]
}

/** Defaults of metadata that git does not record. The operator can override them. */
export const DEFAULT_METADATA = {
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

/** Metadata from the last read that is expensive to read again: that of the same head commit, and the creation time. */
export type PreviousMetadata = Pick<
  SourceMetadata,
  'headCommit' | 'language' | 'license' | 'createdAt'
>

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

/** A page of branches or tags, and the total of all pages. */
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
  /** `advertisement` lists the refs; `request` responds to the client's request, which the caller writes to the process. */
  phase: 'advertisement' | 'request'
  protocolVersion: 0 | 1 | 2
  /** Serves the wiki instead of the repository. */
  isWiki: boolean
  signal: AbortSignal
}

/** LFS objects that a git client wants to download. */
export interface LfsRequest {
  /** SHA-256 in lower case. */
  oids: readonly string[]
  /** Searches the wiki instead of the repository. */
  isWiki: boolean
  signal: AbortSignal
}

/**
 * The repositories that the service exports. Every implementation passes the suite in packages/hosts/src/source.contract.ts. The message
 * of an Unreadable can be shown to users. Other errors are failures of this machine, and an aborted call rejects with the signal's
 * reason.
 */
export interface Source {
  /**
   * Lists all repositories, refused entries and members, in a fixed order. Called by every sync. If the source as a whole cannot be
   * read, it rejects instead of ending early, because repositories that are not listed count as deleted. Of owners whose names differ
   * only in case, the one with the known spelling is listed, otherwise the first; the others are refused. Repositories that still have
   * their last change token are listed faster; `readLastChangeTokens` is called once, when the names of the accounts are up to date.
   */
  list(
    spellingOf?: SpellingOf,
    readLastChangeTokens?: () => Promise<LastChangeTokenOf>,
  ): AsyncIterable<ListedEntry>
  /**
   * Returns one repository as `list` does; undefined if it would not be listed. Called before a single repository is read again.
   * Ignores case, but prefers an owner with exactly this spelling. Rejects as `list` does.
   */
  find(owner: string, name: string, lastChangeToken?: string): Promise<FoundRepository | undefined>
  /**
   * Returns why `find` does not return a repository that exists; undefined if it does not exist. Called to explain a missing
   * repository. A source that hides no repositories does not have this method.
   */
  whyHidden?(repository: RepositoryName): Promise<string | undefined>
  /** Returns one owner's members as `list` does; undefined if the source does not define them. */
  members(owner: string): Promise<ConfiguredMembers | undefined>
  /**
   * Reads the metadata. Called by a sync for each new or changed change token. `previous` is that of the last read. Rejects with
   * Unreadable.
   */
  metadata(
    repository: FoundRepository,
    previous?: PreviousMetadata,
    signal?: AbortSignal,
  ): Promise<SourceMetadata>
  /** Lists branches or tags as a clone would show them. Called for a request of the API. Rejects with Unreadable. */
  refs(repository: RepositoryName, query: RefQuery, signal: AbortSignal): Promise<RefPage>
  /** Returns the bytes by language, the largest first. Called for a request of the API. Rejects with Unreadable. */
  languages(repository: RepositoryName, signal: AbortSignal): Promise<Record<string, number>>
  /** Returns undefined if there is no licence file. Called for a request of the API. Rejects with Unreadable. */
  licenseFile(repository: RepositoryName, signal: AbortSignal): Promise<LicenseFile | undefined>
  /**
   * Finds out what a snapshot would contain, without reading the objects. Called by preflights and before each export, which ends here
   * if the fingerprint has not changed. Rejects with Unreadable.
   */
  examine(repository: RepositoryName, signal: AbortSignal): Promise<Examination>
  /**
   * Returns whether `examine` would return the same as when it returned this change token. Much faster than `examine`. Rejects with
   * Unreadable.
   */
  isUnchanged(repository: RepositoryName, changeToken: string): Promise<boolean>
  /**
   * Returns the warning that the report of a snapshot would have; null if it would have none. Called by preflights. More expensive
   * than `examine`. Rejects with Unreadable.
   */
  warning(examination: Examination, signal: AbortSignal): Promise<string | null>
  /**
   * Copies the repository as it is at one moment into a new directory below `scratchDirectory`, or into memory if it is small and that is
   * allowed. Called by an export after `examine`; the caller removes the snapshot. Rejects with Unreadable, and then leaves nothing
   * behind.
   */
  snapshot(
    examination: Examination,
    scratchDirectory: string,
    options: { signal: AbortSignal; mayBeInMemory: boolean },
  ): Promise<Snapshot>
  /**
   * Starts git's server for a fetch, which follows the repository's own settings for fetches. Called for each request of a git
   * client. Rejects with Unreadable before anything is started.
   */
  serveFetch(repository: RepositoryName, fetch: FetchRequest): Promise<RunningGit>
  /**
   * Returns those of the LFS objects that belong to the repository. Called for each request of git-lfs. An object that several
   * repositories may share belongs to those that have a pointer to it. Rejects with Unreadable.
   */
  findLfsObjects(repository: RepositoryName, request: LfsRequest): Promise<LfsObject[]>
  /** Rejects with Unreadable if a lock would not block pushes. Called before a migration is accepted. Changes nothing. */
  checkLock(repository: RepositoryName): Promise<void>
  /** Returns whether Godwit has locked the repository or its wiki, effectively or not. Called by doctor. Rejects with Unreadable. */
  hasLock(repository: RepositoryName): Promise<boolean>
  /**
   * Locks the repository and its wiki against pushes if `isWanted` returns true, otherwise unlocks them. `isWanted` is called while no
   * other process can change the lock, possibly several times. Called when migrations start and end, and by housekeeping. Also works
   * for a repository that `find` does not return. Rejects with RepositoryNotFound if the repository does not exist, otherwise with
   * Unreadable (RepositoryBusy if a retry may help). After an error, the repository may be reconciled and its wiki not.
   */
  reconcileLock(repository: RepositoryName, isWanted: () => Promise<boolean>): Promise<void>
}
