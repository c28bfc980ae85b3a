/** One repository as a source lists it. */
export interface FoundRepository {
  owner: string
  name: string
  /** Changes whenever anything that facts are read from may have changed; costs no git process to make. */
  stamp: string
  hasWiki: boolean
}

/** Something that stands where a repository would and cannot be taken as one. */
export interface RefusedEntry {
  path: string
  reason: string
}

export type Listed = { found: FoundRepository } | { refused: RefusedEntry }

export interface Collaborator {
  login: string
  permission: Permission
}

export type Permission = 'read' | 'triage' | 'write' | 'maintain' | 'admin'

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
  /** The commit that HEAD names; null while the branch is unborn. Language and licence were read from its tree. */
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
}

/** Facts that are dear to derive and need not be derived again: those of the same head commit, and the birthday. */
export type KnownFacts = Pick<SourceFacts, 'headCommit' | 'language' | 'license' | 'createdAt'>

/** The repository is there and cannot be read; `message` is fit for a user to see. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}

/** Where repositories come from. One contract suite runs on every implementation. */
export interface Source {
  list(): AsyncIterable<Listed>
  /** The same as its row in `list`, for one repository; undefined when there is none. Case is disregarded. */
  find(owner: string, name: string): Promise<FoundRepository | undefined>
  /** Rejects with Unreadable. */
  facts(repository: FoundRepository, known?: KnownFacts, signal?: AbortSignal): Promise<SourceFacts>
}
