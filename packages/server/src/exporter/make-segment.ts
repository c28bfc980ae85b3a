import type { MessagePort } from 'node:worker_threads'
import { contentsOf } from '@godwit/archive/formats/github-archive/segment-contents'
import type { ManifestFile } from '@godwit/archive/tar/manifest'
import { type SegmentEntry, writeSegment } from '@godwit/archive/tar/write-segment'
import type { Examination, Verified } from '@godwit/git/snapshot'
import { Unreadable } from '@godwit/git/unreadable'
import type { RepositoryName, Source } from '@godwit/hosts/source'
import { onChunk } from '@godwit/lib/chunks'
import { collectGarbage } from '@godwit/lib/collect-garbage'
import { type BlobStore, BlobsUnavailable } from '../blobs/blob-store.ts'
import type { BlobOperation } from '../blobs/watch-errors.ts'
import type { Examined, SegmentRecord } from '../migrations/segment-store.ts'
import { readDigest, type StoredDigest, storedLength } from './read-digest.ts'

/** Reads repositories and writes segments. */
export interface SegmentMaker {
  /**
   * Reads refs and file names, but no objects, and writes nothing. Returns the length of the last segment in the store as well, and
   * undefined for a repository that cannot be read.
   */
  examine(
    repositories: readonly RepositoryToExamine[],
    signal: AbortSignal,
  ): Promise<((Examined & { storedLength: number | undefined }) | undefined)[]>
  /**
   * Examines the repository and writes its segment, unless a stored segment has the same fingerprint. Rejects with Unreadable if the
   * repository cannot be exported.
   */
  make(
    options: SegmentOptions,
    signal: AbortSignal,
    onProgress: (progress: SegmentProgress) => void,
  ): Promise<MakeResult>
  /** Reads a stored segment. Returns undefined if it is missing or cannot be read. */
  digest(key: string, signal: AbortSignal): Promise<StoredDigest | undefined>
}

interface RepositoryToExamine extends RepositoryName {
  /** The key of its last segment, and the result of the last examination. */
  last: Examined & { key: string }
}

interface SegmentOptions {
  repository: RepositoryName
  /** The key of the new blob. Each attempt needs a new key. */
  key: string
  /** The verification result of the previous segment of this repository, as JSON. */
  lastVerified: string | undefined
  /** Nothing is written if the repository has one of these fingerprints. */
  storedFingerprints: readonly string[]
  /** Whether a small repository may be verified in memory, without git. */
  mayBeInMemory?: boolean
  /** Whether `onProgress` is called. The default is true. */
  reportsProgress?: boolean
}

export interface MakeResult extends Examined {
  /** Undefined if the fingerprint is one of `storedFingerprints`. */
  segment: MadeSegment | undefined
}

/**
 * A new segment, durable and verified, with the examination of its snapshot, which differs from the earlier one if the repository changed
 * in between. Contents and verification are JSON, as the database stores them.
 */
export interface MadeSegment extends SegmentRecord, Examined {
  contents: string
  verified: string
  warning: string | null
  missingLfs: number
}

/** Reported once before the first byte, then at most twice per second. */
export interface SegmentProgress extends Examined {
  /** `bytes` multiplied by the share of the work (writing, verifying, searching) that is done. */
  bytesDone: number
}

interface MakerDependencies {
  source: Source
  blobs: BlobStore
  /** The directory of snapshots. If it is on the filesystem of the repositories, snapshots consist of links instead of copies. */
  scratchDirectory: string
}

export function createSegmentMaker(dependencies: MakerDependencies): SegmentMaker {
  const { source, blobs } = dependencies
  return {
    examine: (repositories, signal) =>
      Array.fromAsync(repositories, async ({ last, ...repository }) => {
        try {
          const isProven =
            last.changeToken && (await source.isUnchanged(repository, last.changeToken))
          const found = isProven ? last : await source.examine(repository, signal)
          const { fingerprint, bytes, changeToken } = found
          return {
            fingerprint,
            bytes,
            changeToken,
            storedLength: await storedLength(blobs, last.key),
          }
        } catch {
          return undefined
        }
      }),

    digest: (key, signal) => readDigest(blobs, key, { signal }),

    async make(options, signal, onProgress) {
      const examination = await source.examine(options.repository, signal)
      const { fingerprint, bytes } = examination
      if (options.storedFingerprints.includes(fingerprint))
        return { fingerprint, bytes, segment: undefined }
      const report = (share: number) => {
        if (options.reportsProgress === false) return
        onProgress({ fingerprint, bytes, bytesDone: Math.floor(bytes * share) })
      }
      report(0)
      const segment = await writeRepository(
        dependencies,
        options,
        examination,
        countWork(report),
        signal,
      )
      return { fingerprint, bytes, segment }
    },
  }
}

async function writeRepository(
  { source, blobs, scratchDirectory }: MakerDependencies,
  { key, lastVerified, mayBeInMemory = false }: SegmentOptions,
  examination: Examination,
  addWork: AddWork,
  signal: AbortSignal,
): Promise<MadeSegment> {
  const snapshot = await source.snapshot(examination, scratchDirectory, {
    signal,
    mayBeInMemory,
  })
  await using _ = { [Symbol.asyncDispose]: snapshot.remove }
  // Verifying and writing run concurrently, each on its own core. If one fails, it aborts the other.
  const failed = new AbortController()
  const combinedSignal = AbortSignal.any([signal, failed.signal])
  const last = lastVerified === undefined ? undefined : (JSON.parse(lastVerified) as Verified)
  const entries = snapshot.entries() as Iterable<SegmentEntry>
  const onRead = (part: number) => addWork('verified', part)
  const onBytes = ({ length }: Uint8Array) => addWork('written', length / examination.bytes)
  const files: ManifestFile[] = []
  try {
    const [verified, segment] = await awaitBoth(failed, [
      snapshot.verify(last, combinedSignal, onRead).finally(() => onRead(1)),
      writeSegment(
        entries,
        (bytes) => blobs.put(key, onChunk(bytes, onBytes), { signal: combinedSignal }),
        { files },
      ),
    ])
    const { missingLfs, warning } = await snapshot.report((part) => addWork('searched', part))
    return {
      key,
      ...segment,
      fingerprint: snapshot.examination.fingerprint,
      bytes: snapshot.examination.bytes,
      changeToken: snapshot.examination.changeToken,
      contents: JSON.stringify(contentsOf(snapshot, missingLfs, files)),
      verified: JSON.stringify(verified),
      warning,
      missingLfs: missingLfs.length,
    }
  } catch (error) {
    // If this fails too, the sweep removes the blob.
    await blobs.delete(key).catch(() => {})
    throw error
  }
}

const REPORT_INTERVAL_MS = 500
/** The share of the final search for LFS pointers and GitHub's limits, which usually takes little time. */
const SEARCH_SHARE = 0.05

/** Called with a part of a step, where 1 is the whole step. */
type AddWork = (step: 'written' | 'verified' | 'searched', part: number) => void

/** Calls `report` with the share of the work that is done. Writing and verifying run concurrently, so the slower one counts. */
function countWork(report: (share: number) => void): AddWork {
  const done = { written: 0, verified: 0, searched: 0 }
  let nextAt = performance.now() + REPORT_INTERVAL_MS
  return (step, part) => {
    done[step] = Math.min(done[step] + part, 1)
    if (performance.now() < nextAt) return
    nextAt = performance.now() + REPORT_INTERVAL_MS
    const { written, verified, searched } = done
    report(Math.min(written, verified) * (1 - SEARCH_SHARE) + searched * SEARCH_SHARE)
  }
}

/** Waits for both even if one fails, so that nothing is still writing when the caller cleans up. */
async function awaitBoth<A, B>(
  failed: AbortController,
  both: [Promise<A>, Promise<B>],
): Promise<[A, B]> {
  for (const each of both) each.catch((error: unknown) => failed.abort(error))
  await Promise.allSettled(both)
  failed.signal.throwIfAborted()
  return Promise.all(both)
}

/** A message to a segment thread. */
export type SegmentRequest =
  | { id: number; call: 'examine'; argument: readonly RepositoryToExamine[] }
  | { id: number; call: 'make'; argument: SegmentOptions }
  | { id: number; call: 'digest'; argument: string }
  | { id: number; call: 'abort' }

/** A message from a segment thread. All but `progress` and `blobError` end the request. */
export type SegmentReply =
  | { id: number; progress: SegmentProgress }
  | { id: number; value: unknown }
  | { id: number; error: PlainError }
  | { blobError: BlobOperation }

/** Errors lose their class between threads. `fields` are the name, the stack and all others that are strings or numbers. */
export interface PlainError {
  kind: 'unreadable' | 'blobs-unavailable' | 'other'
  message: string
  fields: Record<string, string | number>
}

/** Between the jobs of an export, a thread has less time than this without a request. */
const PAUSE_MS = 200

/** Handles the requests that arrive at `port`. Called in a segment thread. Collects garbage when there are none for a moment. */
export function serveSegmentRequests(port: MessagePort, maker: SegmentMaker): void {
  const running = new Map<number, AbortController>()
  let pause: NodeJS.Timeout | undefined
  const reply = (message: SegmentReply) => port.postMessage(message)
  port.on('message', async (request: SegmentRequest) => {
    const { id } = request
    if (request.call === 'abort') return running.get(id)?.abort()
    clearTimeout(pause)
    const aborter = new AbortController()
    running.set(id, aborter)
    try {
      reply({ id, value: await run(maker, request, aborter.signal, reply) })
    } catch (error) {
      reply({ id, error: plainError(error as Error) })
    }
    running.delete(id)
    if (running.size === 0) pause = setTimeout(collectGarbage, PAUSE_MS, 'regular').unref()
  })
}

function run(
  maker: SegmentMaker,
  request: Exclude<SegmentRequest, { call: 'abort' }>,
  signal: AbortSignal,
  reply: (message: SegmentReply) => void,
): Promise<unknown> {
  const { id, call, argument } = request
  if (call === 'examine') return maker.examine(argument, signal)
  if (call === 'digest') return maker.digest(argument, signal)
  return maker.make(argument, signal, (progress) => reply({ id, progress }))
}

function plainError(error: Error): PlainError {
  const { name, message, stack = '' } = error
  const fields = Object.entries(error).filter(([, value]) => /string|number/.test(typeof value))
  return { kind: kindOf(error), message, fields: { ...Object.fromEntries(fields), name, stack } }
}

function kindOf(error: Error): PlainError['kind'] {
  if (error instanceof Unreadable) return 'unreadable'
  return error instanceof BlobsUnavailable ? 'blobs-unavailable' : 'other'
}

/** A store that reads the bytes of a segment and discards them. */
const DISCARDING_STORE = {
  async put(_key, bytes) {
    for await (const _ of bytes);
  },
  delete: async () => {},
} satisfies Partial<BlobStore>

/** Verifies a repository as its first export would. Rejects with Unreadable if an export would fail; a warning does not prevent one. */
export async function checkRepository(
  dependencies: Omit<MakerDependencies, 'blobs'>,
  repository: RepositoryName,
  signal: AbortSignal,
) {
  const blobs = DISCARDING_STORE as unknown as BlobStore
  const maker = createSegmentMaker({ ...dependencies, blobs })
  const options = { repository, key: 'check', lastVerified: undefined, storedFingerprints: [] }
  const { bytes, segment } = await maker.make(options, signal, () => {})
  return { bytes, warning: segment!.warning }
}
