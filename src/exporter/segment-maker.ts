import type { SegmentRecord } from '../migrations/segment-store.ts'
import type { RepositoryName } from '../sources/source.ts'

/** What was made of one repository, durable and verified. Contents and proofs are JSON, as the database keeps them. */
export interface MadeSegment extends SegmentRecord {
  fingerprint: string
  contents: string
  verified: string
  warning: string | null
}

/** What a segment would hold now. */
export interface Inspection {
  fingerprint: string
  bytes: number
}

/** Reads repositories and writes segments. Rejects with Unreadable where the repository is to blame. */
export interface SegmentMaker {
  /** Cheap, and writes nothing. */
  look(repository: RepositoryName, signal: AbortSignal): Promise<Inspection>
  /** Looks first, and makes what is needed: undefined where it was not. */
  make(
    order: SegmentOrder,
    signal: AbortSignal,
    watch: SegmentObserver,
  ): Promise<MadeSegment | undefined>
  /** Reads a stored segment: undefined where it is missing or cannot be read. */
  digest(key: string, signal: AbortSignal): Promise<StoredDigest | undefined>
}

export interface StoredDigest {
  length: number
  sha256: string
}

export interface SegmentObserver {
  isNeeded(look: Inspection): Promise<boolean>
  /** Told now and then how many bytes of the segment are written. */
  onBytes(written: number): void
}

interface SegmentOrder {
  repository: RepositoryName
  /** For the blob: a new one for every attempt. */
  key: string
  /** What the last segment of this repository has proven. */
  lastVerified: string | undefined
}
