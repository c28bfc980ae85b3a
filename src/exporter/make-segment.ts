import type { ManifestFile } from '../archive/manifest.ts'
import { type SegmentEntry, writeSegment } from '../archive/write-segment.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { onChunk } from '../lib/on-chunk.ts'
import type { Verified } from '../sources/snapshot.ts'
import type { Source } from '../sources/source.ts'
import { readDigest } from './read-digest.ts'
import { contentsOf, recordFileDigests } from './segment-contents.ts'
import type { SegmentMaker } from './segment-maker.ts'

export interface MakerParts {
  source: Source
  blobs: BlobStore
  /** Snapshots live here while they are read; best on the filesystem of the repositories, where links cost nothing. */
  scratchDirectory: string
}

export function createSegmentMaker({ source, blobs, scratchDirectory }: MakerParts): SegmentMaker {
  return {
    async look(repository, signal) {
      const { fingerprint, bytes } = await source.examine(repository, signal)
      return { fingerprint, bytes }
    },

    digest: (key, signal) => readDigest(blobs, key, { signal }),

    async make({ repository, key, lastVerified }, signal, { isNeeded, onBytes }) {
      const examination = await source.examine(repository, signal)
      const { fingerprint, bytes } = examination
      if (!(await isNeeded({ fingerprint, bytes }))) return undefined
      const snapshot = await source.snapshot(examination, scratchDirectory, signal)
      await using _ = { [Symbol.asyncDispose]: snapshot.remove }
      // Proving and writing go side by side, on a core each; the first to fail stops the other.
      const failed = new AbortController()
      const either = AbortSignal.any([signal, failed.signal])
      const last = lastVerified === undefined ? undefined : (JSON.parse(lastVerified) as Verified)
      const entries = snapshot.entries() as AsyncIterable<SegmentEntry>
      const files: ManifestFile[] = []
      try {
        const [verified, segment] = await bothOrNeither(failed, [
          snapshot.verify(last, either),
          writeSegment(recordFileDigests(entries, files), (bytes) =>
            blobs.put(key, counted(bytes, onBytes), { signal: either }),
          ),
        ])
        const { missingLfs, warning } = await snapshot.report()
        const taken = snapshot.examination
        return {
          key,
          ...segment,
          fingerprint: taken.fingerprint,
          contents: JSON.stringify(contentsOf(taken, missingLfs, files)),
          verified: JSON.stringify(verified),
          warning,
        }
      } catch (error) {
        // Where this fails as well, the sweep comes by.
        await blobs.delete(key).catch(() => {})
        throw error
      }
    },
  }
}

const TOLD_EVERY_BYTES = 4 * 1024 * 1024

function counted(bytes: AsyncIterable<Uint8Array>, onBytes: (bytes: number) => void) {
  let written = 0
  let told = 0
  return onChunk(bytes, ({ length }) => {
    written += length
    if (written - told < TOLD_EVERY_BYTES) return
    told = written
    onBytes(written)
  })
}

/** Waits for both even when one fails, so that nothing still writes when the caller cleans up. */
async function bothOrNeither<A, B>(
  failed: AbortController,
  [a, b]: [Promise<A>, Promise<B>],
): Promise<[A, B]> {
  const stopTheOther = (error: unknown) => {
    failed.abort(error)
    throw error
  }
  const [first, second] = await Promise.allSettled([a.catch(stopTheOther), b.catch(stopTheOther)])
  if (failed.signal.aborted) throw failed.signal.reason
  return [(first as PromiseFulfilledResult<A>).value, (second as PromiseFulfilledResult<B>).value]
}
