import type { FactsByKind } from '../records/facts.ts'
import type { RepositoryName } from './source.ts'

/**
 * What people said about the repositories of a source: a port beside `Source`. It reads neutral facts, never records with
 * addresses, and keeps nothing itself: what was read is handed out in batches, and whoever asks keeps them (`Kept`).
 *
 * All of it rejects with `WaitUntil` where the forge is to be asked again later (the job goes back with that due time), and
 * with `ForgeRefused` where that will not help; the messages of both are fit for a user to see.
 */
export interface Discussions {
  /**
   * A few requests. The stamp of the last complete reading (`readingOf(kept.cursor).stamp`) where nothing has changed since; any
   * other text otherwise. After a reading the stamp of its last batch is the one to remember.
   */
  stamp(repository: RepositoryName, kept: Kept, signal: AbortSignal): Promise<string>
  /**
   * Reads what `kept` does not have, in batches. Each is to be kept in one transaction, with its cursor, before the next is asked
   * for: a process that dies loses one batch. What no batch mentions is as it was kept.
   */
  read(repository: RepositoryName, kept: Kept, signal: AbortSignal): AsyncIterable<Batch>
  /** Who owns repositories: an organization with its members and teams, or a person. */
  owner(login: string, signal: AbortSignal): Promise<Group>
  /**
   * The bytes of an attachment or a release's asset, exactly `size` of them where that is known. Rejects with `ForgeNotFound` where
   * it is gone.
   */
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
  /** The files that these facts name, to be fetched by `open`. */
  files: readonly FileToFetch[]
  /** Of the group `repository`: what the organization's teams may do with it. */
  teams?: readonly { slug: string; access: string }[]
  /** Of an owner: what the forge did not give, for the report. */
  notes?: readonly string[]
  /** What the reader needs to know again next time. */
  seen?: Readonly<Record<string, string>>
}

/** Bytes that a fact of kind `attachments` or `releases` names by `file`. */
export interface FileToFetch {
  /** Path in the archive, such as `attachments/{uuid}/{name}`. */
  file: string
  /** Path on the forge. */
  source: string
  /** Null where the forge does not say before it is asked for the bytes. */
  size: number | null
}

export interface Batch {
  put: readonly Group[]
  /** Keys of groups that are gone. */
  remove: readonly string[]
  cursor: string
  progress: { read: number; total: number }
}

/** What earlier batches of one repository left. Groups can be many: they are not held in memory all at once. */
export interface Kept {
  /** Of the last batch; null where there is none. */
  cursor: string | null
  versions(): AsyncIterable<{ key: string; version: string }>
  find(key: string): Promise<Group | undefined>
}

/** What a cursor says of the reading it ends. */
export interface Reading {
  /** Whether it came to its end. */
  isComplete: boolean
  /** When the listing began that all of it but what the notes name is at least as new as: REST gives no snapshot. Epoch milliseconds. */
  asOf: number
  stamp: string
  /** What this forge does not give, or did not: sentences for the report. */
  notes: readonly string[]
}

/** Undefined where nothing was read, or by another version of the reader. */
export function readingOf(cursor: string | null): Reading | undefined {
  const said = cursor === null ? undefined : (JSON.parse(cursor) as Reading & { format?: unknown })
  return said?.format === CURSOR_FORMAT ? said : undefined
}

/** To be raised when groups must be read anew. */
export const CURSOR_FORMAT = 1
