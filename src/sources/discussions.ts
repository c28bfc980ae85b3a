import type { FactsByKind } from '../records/facts.ts'
import type { RepositoryName } from './source.ts'

/**
 * Reads issues, pull requests and other discussions about the repositories of a source. It returns facts without URLs, in batches, and
 * stores nothing: the caller stores them and passes them back.
 *
 * All methods reject with `ForgeUnavailable` where the forge must be asked again later (the job is requeued with that due time), and with
 * `ForgeRequestFailed` where a retry does not help. A user may see the messages of both.
 */
export interface Discussions {
  /**
   * Returns the stamp of the last complete read, which its cursor has, where nothing has changed since, otherwise another
   * text. Takes a few requests. After a read, its stamp is in the cursor of the last batch.
   */
  stamp(repository: RepositoryName, stored: StoredGroups, signal: AbortSignal): Promise<string>
  /**
   * Reads what `stored` does not have, in batches. The caller stores each batch with its cursor in one transaction before it requests the
   * next: a process that dies loses one batch. Groups in no batch have not changed.
   */
  read(repository: RepositoryName, stored: StoredGroups, signal: AbortSignal): AsyncIterable<Batch>
  /** Reads an owner: an organization with its members and teams, or a person. */
  owner(login: string, signal: AbortSignal): Promise<Group>
  /** Yields the bytes of an attachment or release asset, exactly `size` where that is known. Rejects with `ForgeNotFound` where it is gone. */
  open(file: FileToFetch, signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** Facts by kind, as archives group them. */
export type Facts = { readonly [K in keyof FactsByKind]?: readonly FactsByKind[K][] }

/**
 * Facts that are read together and replaced together: all about one issue or pull request (`issue/12`), one person (`user/ann`),
 * `repository` with its labels and collaborators, `milestones`, `releases`, `protected_branches`.
 */
export interface Group {
  /** Unique within a repository. */
  key: string
  /** Changes with the facts. */
  version: string
  facts: Facts
  /** The files that these facts name; `open` reads them. */
  files: readonly FileToFetch[]
  /** In the group `repository`: the access of the organization's teams. */
  teams?: readonly { slug: string; access: string }[]
  /** In the group of an owner: what the forge did not provide, for the report. */
  notes?: readonly string[]
  /** What the reader needs at the next read. */
  seen?: Readonly<Record<string, string>>
}

/** A file that a fact of kind `attachments` or `releases` names by `file`. */
export interface FileToFetch {
  /** Path in the archive, such as `attachments/{uuid}/{name}`. */
  file: string
  /** Path on the forge. */
  source: string
  /** Null where the forge does not list the size. */
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
  /** The cursor of the last batch; null where there is none. */
  cursor: string | null
  versions(): AsyncIterable<{ key: string; version: string }>
  find(key: string): Promise<Group | undefined>
}

/** What a cursor says about its read. */
export interface ReadState {
  /** Whether the read was completed. */
  isComplete: boolean
  /** When the listing began, in epoch milliseconds: all facts are at least as new, except where the notes say otherwise. */
  asOf: number
  stamp: string
  /** What this forge does not provide, or did not: sentences for the report. */
  notes: readonly string[]
}

/** Returns undefined where nothing was read, or another version of the reader wrote the cursor. */
export function readStateOf(cursor: string | null): ReadState | undefined {
  const reading =
    cursor === null ? undefined : (JSON.parse(cursor) as ReadState & { format?: unknown })
  return reading?.format === CURSOR_FORMAT ? reading : undefined
}

/** Raise it when all groups must be read again. */
export const CURSOR_FORMAT = 1
