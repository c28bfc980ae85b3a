import { randomUUID } from 'node:crypto'
import type { Db } from '../db/database.ts'
import { insertSegment, lastVerified, nameSegments } from '../migrations/segment-store.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import { findReusable, type ReuseParts } from './check-segments.ts'
import type { Inspection, MadeSegment, SegmentMaker } from './segment-maker.ts'

export interface ObtainParts extends ReuseParts {
  segments: SegmentMaker
}

export interface Obtained {
  segmentKey: string
  /** Exported before and unchanged since. */
  reused: boolean
  bytes: number
}

export interface ObtainOrder<T> {
  facts: RepositoryFacts
  /** Runs what it is given in a transaction. */
  transact(work: (tx: Db) => Promise<T>): Promise<T>
  /** Notes the end in the same transaction that takes the segment into use. */
  onEnd(tx: Db, obtained: Obtained): Promise<T>
  /** A segment is to be made; answers whom to tell how many of its bytes are written. */
  onMake?(look: Inspection): Promise<(written: number) => void>
}

/**
 * The segment of a repository as it is now: the one that is there, or else a new one. The repository is looked at once. The
 * segment comes first, then the row that names it.
 */
export async function obtainSegment<T>(
  parts: ObtainParts,
  order: ObtainOrder<T>,
  signal: AbortSignal,
): Promise<T> {
  const { db, segments } = parts
  const { facts } = order
  let [bytes, known]: [number, string | undefined] = [0, undefined]
  let fingerprint: string | undefined
  let onBytes: ((written: number) => void) | undefined
  const made = await segments.make(
    {
      repository: { owner: facts.owner.login, name: facts.name },
      key: randomUUID(),
      lastVerified: await lastVerified(db, facts.id),
    },
    signal,
    {
      async isNeeded(look) {
        bytes = look.bytes
        fingerprint = look.fingerprint
        known = await findReusable(parts, fingerprint, signal)
        if (known !== undefined) return false
        onBytes = await order.onMake?.(look)
        return true
      },
      onBytes: (written) => onBytes?.(written),
    },
  )
  if (made === undefined) return reuse(parts, order, { segmentKey: known!, bytes })
  // It changed while it was read: what it is now may have been exported before, and a damaged segment must make way.
  if (made.fingerprint !== fingerprint) await findReusable(parts, made.fingerprint, signal)
  return record(parts, order, made, bytes)
}

function reuse<T>(
  { now }: ObtainParts,
  { transact, onEnd }: ObtainOrder<T>,
  { segmentKey, bytes }: Omit<Obtained, 'reused'>,
): Promise<T> {
  return transact(async (tx) => {
    // The sweep may have been here since.
    if (!(await nameSegments(tx, [segmentKey], now())).has(segmentKey))
      throw new Error('the segment was swept or is damaged')
    return onEnd(tx, { segmentKey, reused: true, bytes })
  })
}

/** The one of whoever was quicker with the same content is taken, and this one is not needed. */
async function record<T>(
  { blobs, now }: ObtainParts,
  { facts, transact, onEnd }: ObtainOrder<T>,
  made: MadeSegment,
  bytes: number,
): Promise<T> {
  let segmentKey = made.key
  const ended = await transact(async (tx) => {
    segmentKey = await insertSegment(tx, { ...made, repositoryId: facts.id }, now())
    return onEnd(tx, { segmentKey, reused: false, bytes })
  })
  if (segmentKey !== made.key) await blobs.delete(made.key)
  return ended
}
