import type { Refs } from './refs.ts'

export type ObjectFormat = 'sha1' | 'sha256'

export interface BareRepository {
  dir: string
  /** The name in messages to users. */
  name: string
  objectFormat: ObjectFormat
}

/** A file whose name determines its content: a pack, its index, a loose object or an LFS object. */
export interface ObjectFile {
  /** Relative to the repository, such as `objects/pack/pack-….pack`. */
  path: string
  size: number
  /** The absolute path on this machine. */
  from: string
}

/** A Git LFS pointer, which a tree contains instead of a large file: the SHA-256 and the size of its content. */
export interface LfsPointer {
  oid: string
  size: number
}

/** The file of an LFS object. Its content may be damaged: compare its digest with the oid. */
export interface LfsObject extends LfsPointer {
  /** The absolute path on this machine. */
  from: string
}

/**
 * Settings of a repository that a snapshot preserves. None of them names a program or a path. Attributes can name filters and
 * drivers, but their programs are defined in the config, and Godwit writes the config of a snapshot.
 */
export interface PreservedSettings {
  /** Settings of `receive` that refuse pushes, such as `denyDeletes`. */
  denials: [name: string, value: string][]
  /** `info/attributes` as a byte string (latin1). */
  attributes: string | undefined
  /** Why existing attributes are not preserved. */
  attributesProblem: string | undefined
}

/** The directories of a repository and its wiki, and their names in an archive. */
export interface RepositoryLocation {
  dir: string
  /** The bare repository of its wiki. */
  wikiDir?: string | undefined
  /** `Owner/Name`, as the archive spells it. */
  fullName: string
  /** The URL to clone from, without credentials: the `origin` in the archive. */
  origin?: string | undefined
  wikiOrigin?: string | undefined
}

/** A bare repository as it was at one moment. */
export interface ExaminedRepository extends BareRepository, Refs {
  origin: string | undefined
  /** The file `description` as a byte string (latin1). */
  description: string
  preserved: PreservedSettings
  /**
   * Whether it may use objects of other repositories. If so, `objectFiles` may lack objects, and contain objects of other repositories.
   */
  hasExternalObjects: boolean
  objectFiles: ObjectFile[]
  lfsObjects: ObjectFile[]
  /** The LFS pointers in the trees of its branches and tags; null if they were not searched. */
  lfsPointers: LfsPointer[] | null
}

/** The content that a snapshot of a repository and its wiki would have. */
export interface Examination {
  location: RepositoryLocation
  repository: ExaminedRepository
  wiki: ExaminedRepository | null
  /** The size of object files and LFS objects, without objects of other repositories. */
  bytes: number
  /** SHA-256 of everything that determines the snapshot: equal fingerprints mean equal content. */
  fingerprint: string
  /** Proves later that another examination would have the same result. Undefined if nothing can. */
  changeToken?: string | undefined
}

export interface SnapshotEntry {
  /** Relative to the root of the archive, without a final slash. */
  path: string
  kind: 'directory' | 'file'
  size: number
  /** Epoch milliseconds. */
  modifiedAt: number
  /** Whether the content is compressed already. */
  packed: boolean
  /** A chunk is valid until the next is requested. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

export interface SnapshotReport {
  /** The pointers whose LFS objects are missing, in the order of their oids. */
  missingLfs: LfsPointer[]
  /** All warnings on one line; null if there are none. */
  warning: string | null
}

/** All objects that are reachable from these tips are in these files. The next verification of the repository starts from them. */
export interface VerifiedTips {
  tips: string[]
  objectFiles: string[]
}

export interface Verified {
  repository: VerifiedTips
  wiki: VerifiedTips | null
}

/** Called about once a second with the part of the objects that git has read since the last call, where 1 is all of them. */
type OnRead = (part: number) => void

/** A copy of a repository and its wiki as they were at one moment. It does not change with the source. */
export interface Snapshot {
  /** The examination of the copy. It is newer than the requested one if the repository has changed in the meantime. */
  examination: Examination
  repository: BareRepository
  wiki: BareRepository | null
  /** The size of its object files. Those of the examination may be larger, because small loose objects are packed. */
  bytes: number
  /**
   * Yields directories before files. Order and times depend on the content alone. Reading a file to its end verifies it: the stream
   * rejects with Damaged if the bytes do not match the object.
   */
  entries(): Iterable<SnapshotEntry>
  /** Checks that every object is present. `last` is the result for the previous snapshot. Rejects with Unreadable. */
  verify(last: Verified | undefined, signal: AbortSignal, onRead?: OnRead): Promise<Verified>
  /** Returns warnings about the complete snapshot. Call it after all entries have been read. */
  report(onRead?: OnRead): Promise<SnapshotReport>
  remove(): Promise<void>
}
