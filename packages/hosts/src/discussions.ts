import type { RecordsByKind } from '@godwit/archive/records/record-kinds'
import type { Loss } from '@godwit/lib/findings'
import type { RepositoryName } from './source.ts'

/**
 * Reads issues, pull requests, releases and the like of the repositories of a source. It returns records in batches and stores nothing:
 * the caller stores the records and passes them to the next read.
 *
 * All methods reject with `HostUnavailable` if the caller should retry at its `dueAt`, and with `HostRequestFailed` if a retry does
 * not help. The messages of both can be shown to users.
 */
export interface Discussions {
  /**
   * Returns a reader for an export that began at `since`. Answers of the forge that concern several repositories, such as those about
   * owners and people, are shared if they were requested at that time or later.
   */
  sharing(since: number): Discussions
  /** Finds out what has changed since the last read, with a few requests. Read the batches soon, or not at all. */
  findChanges(
    repository: RepositoryName,
    stored: StoredGroups,
    signal: AbortSignal,
  ): Promise<FoundChanges>
  /**
   * Reads an owner: an organization with its members and teams, or a person. If `viewer` is set, which is the login of a person, the
   * result has only the members and teams that the forge shows this person.
   */
  owner(login: string, signal: AbortSignal, viewer?: string): Promise<Group>
  /**
   * Yields the bytes of an attachment or release asset, exactly `size` if that is known. Rejects with `HostNotFound` if it was deleted.
   */
  open(file: FileToFetch, signal: AbortSignal): AsyncIterable<Uint8Array>
}

export interface FoundChanges {
  /**
   * The change token of the last complete read if nothing has changed since, otherwise another string. The last batch of a read has its
   * change token.
   */
  changeToken: string
  /**
   * Reads what is not stored, in batches. The caller stores each batch with its cursor in one transaction before it requests the next, so
   * a process that dies loses one batch. Groups that are in no batch have not changed.
   */
  batches(): AsyncIterable<Batch>
}

/** Records by kind, as archives group them. */
export type RecordsOfGroup = { readonly [K in keyof RecordsByKind]?: readonly RecordsByKind[K][] }

/**
 * Records that are read together and replaced together: all about one issue or pull request (`issue/12`), one person (`user/ann`),
 * `repository` with its labels and collaborators, `milestones`, `releases`, `protected_branches`.
 */
export interface Group {
  /** Unique within a repository. */
  key: string
  /** Changes with the records. */
  version: string
  records: RecordsOfGroup
  /** The files that these records refer to. `open` reads them. */
  files: readonly FileToFetch[]
  /** In the group `repository`: the access of the organization's teams. */
  teams?: readonly { slug: string; access: string }[]
  /** In the group of an owner: the slugs of teams that the viewer sees only at repositories that they have access to. */
  unlistedTeams?: readonly string[]
  /** What archives cannot represent, or what only its author may see. */
  losses?: readonly Loss[]
  /** In the group of an owner: sentences for the report about what the forge did not provide. */
  notes?: readonly string[]
  /** What the next read needs: `updated_at` of each comment, and when the issue was last read in full. */
  seen?: Readonly<Record<string, string>>
}

/** A file that a record of kind `attachments` or `releases` refers to. */
export interface FileToFetch {
  /** Path in the archive, such as `attachments/{uuid}/{name}`. */
  file: string
  /** Path on the forge. */
  source: string
  /** Null if the forge does not list the size. */
  size: number | null
}

export interface Batch {
  put: readonly Group[]
  /** The keys of groups that no longer exist. */
  remove: readonly string[]
  cursor: string
  progress: { read: number; total: number }
}

/** The stored groups of one repository. There can be many, so they are not all in memory at once. */
export interface StoredGroups {
  /** The cursor of the last batch; null before the first read. */
  cursor: string | null
  /** `after` leaves out keys up to this one. */
  versions(after?: string): AsyncIterable<{ key: string; version: string }>
  find(key: string): Promise<Group | undefined>
}

/** The state of a read, as its cursor describes it. */
export interface ReadState {
  /** Whether the read was completed. */
  isComplete: boolean
  /** When the listing began, in epoch milliseconds. All records are at least as new, unless the notes say otherwise. */
  asOf: number
  changeToken: string
  /** Sentences for the report about what the forge does not provide, or did not provide. */
  notes: readonly string[]
}

/** Returns undefined if nothing was read, or if another version of the reader wrote the cursor. */
export function readStateOf(cursor: string | null): ReadState | undefined {
  const reading =
    cursor === null ? undefined : (JSON.parse(cursor) as ReadState & { format?: unknown })
  return reading?.format === CURSOR_FORMAT ? reading : undefined
}

/** Raise it when all groups must be read again. */
export const CURSOR_FORMAT = 2
