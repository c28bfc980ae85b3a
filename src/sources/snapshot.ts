import type { Refs } from './refs.ts'

export type ObjectFormat = 'sha1' | 'sha256'

export interface BareRepository {
  dir: string
  /** How it is called in a message to its user. */
  name: string
  objectFormat: ObjectFormat
}

/** A file whose name tells its content: a pack, its index, a loose object, an LFS object. */
export interface ObjectFile {
  /** Inside the repository, such as `objects/pack/pack-….pack`. */
  path: string
  size: number
  /** Where it lies on this machine. */
  from: string
}

/** What stands in a tree in place of a large file: the SHA-256 and the size of its content. */
export interface LfsPointer {
  oid: string
  size: number
}

/**
 * What a repository says besides its refs and objects, and that harms nobody where it is written again: neither names a
 * program or a place. Attributes may name filters and drivers, but what those run is said in a config, and that is ours.
 */
export interface KeptSettings {
  /** What it refuses of pushes, as settings of `receive`, such as `denyDeletes`. */
  denials: [name: string, value: string][]
  /** `info/attributes` as a byte string (latin1). */
  attributes: string | undefined
  /** Why the attributes that are there are not kept. */
  attributesProblem: string | undefined
}

export interface ExaminedPlace {
  dir: string
  /** The bare repository of its wiki, where there is one. */
  wikiDir?: string | undefined
  /** `Owner/Name`, as it is to be written in the archive. */
  fullName: string
  /** Where it can be cloned from, without credentials: what the archive names as its origin. */
  origin?: string | undefined
  wikiOrigin?: string | undefined
}

/** One bare repository as it was found at one moment. */
export interface Found extends BareRepository, Refs {
  origin: string | undefined
  /** The file as a byte string (latin1). */
  description: string
  kept: KeptSettings
  /** Objects may lie elsewhere (alternates, links): not all of those are its own, and perhaps not all of its own are here. */
  borrows: boolean
  objectFiles: ObjectFile[]
  lfsObjects: ObjectFile[]
  /** In the trees of its branches and tags; null where they were not looked for. */
  lfsPointers: LfsPointer[] | null
}

export interface Examination {
  place: ExaminedPlace
  repository: Found
  wiki: Found | null
  /** Of the repository's own objects and LFS objects; what it borrows is not counted. */
  bytes: number
  /** SHA-256 of all that decides what the snapshot holds: equal fingerprints, equal content. */
  fingerprint: string
}

export interface SnapshotEntry {
  /** From the root of the archive, without a slash at the end. */
  path: string
  kind: 'directory' | 'file'
  size: number
  /** Epoch milliseconds. */
  modifiedAt: number
  /** Compressed already: deflating it again is wasted. */
  packed: boolean
  /** A chunk is good until the next is asked for. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

export interface SnapshotReport {
  /** LFS objects that are not there, as their pointers name them, in the order of their oids. */
  missingLfs: LfsPointer[]
  /** All that is to be told, in a line; null where there is nothing. */
  warning: string | null
}

/** All that these tips reach was found in these files: worth remembering for the next snapshot. */
export interface Connected {
  tips: string[]
  objectFiles: string[]
}

export interface Verified {
  repository: Connected
  wiki: Connected | null
}

/** A repository and its wiki as they were at one moment, apart from the source and unchanging. */
export interface Snapshot {
  /** Of what was taken, which is newer than what was asked for where files moved meanwhile. */
  examination: Examination
  repository: BareRepository
  wiki: BareRepository | null
  /**
   * Directories before files, in an order and with times that depend on the content alone. Reading a file to its end
   * checks it: the stream rejects with Damaged where the bytes are not those of the object.
   */
  entries(): AsyncIterable<SnapshotEntry>
  /**
   * Proves that every object is there; `last` is what the previous snapshot of the same repository has proven. Rejects with
   * Unreadable.
   */
  verify(last: Verified | undefined, signal: AbortSignal): Promise<Verified>
  /** What is to be told of it though it is whole, once all entries were read. */
  report(): Promise<SnapshotReport>
  remove(): Promise<void>
}
