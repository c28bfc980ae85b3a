import type { SegmentRecord } from '../migrations/segment-store.ts'
import type { RepositoryName } from '../sources/source.ts'

/** What was made of one repository, durable and verified. Contents and proofs are JSON, as the database keeps them. */
export interface MadeSegment extends SegmentRecord {
  fingerprint: string
  contents: string
  verified: string
}

/** Reads repositories and writes segments. Rejects with Unreadable where the repository is to blame. */
export interface SegmentMaker {
  /** A cheap look: the fingerprint of what a segment would hold now. */
  fingerprint(repository: RepositoryName, signal: AbortSignal): Promise<string>
  make(order: SegmentOrder, signal: AbortSignal): Promise<MadeSegment>
}

interface SegmentOrder {
  repository: RepositoryName
  /** For the blob: a new one for every attempt. */
  key: string
  /** What the last segment of this repository has proven. */
  lastVerified: string | undefined
}
