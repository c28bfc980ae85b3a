import type { BlobFile, ByteRange, OnDisk } from '../blobs/blob-store.ts'
import type { ArchivePlan } from './plan-archive.ts'
import { piecesOf } from './read-archive.ts'

const LEAST_BYTES = 64 * 1024
const MOST_BYTES = 1024 * 1024
/** More than the buffers of both systems hold: whoever took this much really takes it. */
const PROVEN_BYTES = 16 * 1024 * 1024
const SLOW_MS = 1000

/** Resolves when the bytes are no longer needed. */
export type Write = (bytes: Uint8Array) => Promise<void>

/**
 * The bytes of a range of the archive, by way of two buffers that are used in turns: one is read into while the other is
 * written. Memory that is made anew for every read costs more than the reading itself. Whoever takes bytes faster than they
 * are read gets more of them at a time; whoever is slow, of whom there may be many, costs little memory, and is seen to take
 * something whenever a small piece is gone.
 */
export async function copyArchive(
  plan: ArchivePlan,
  blobs: OnDisk,
  range: ByteRange,
  write: Write,
): Promise<void> {
  const buffers = [Buffer.allocUnsafeSlow(LEAST_BYTES), Buffer.allocUnsafeSlow(LEAST_BYTES)]
  let size = LEAST_BYTES
  let written: Promise<void> = Promise.resolve()
  let isTaken = false
  let taken = 0
  function nextBuffer(): Buffer {
    if (buffers[0]!.length < size) buffers[0] = Buffer.allocUnsafeSlow(size)
    return buffers[0]!.subarray(0, size)
  }
  async function writeNext(bytes: Uint8Array): Promise<void> {
    if (isTaken && taken > PROVEN_BYTES) size = Math.min(2 * size, MOST_BYTES)
    const since = performance.now()
    await written
    if (performance.now() - since > SLOW_MS) size = LEAST_BYTES
    taken += bytes.length
    isTaken = false
    written = write(bytes).then(() => {
      isTaken = true
    })
    // Told by whoever waits for it next.
    written.catch(() => {})
    buffers.reverse()
  }
  for (const piece of piecesOf(plan, range)) {
    if ('bytes' in piece) await writeNext(piece.bytes)
    else {
      await using file = await blobs.openFile(piece.key)
      for (let at = piece.range.start; at < piece.range.end; ) {
        const bytes = await readSome(file, nextBuffer(), { start: at, end: piece.range.end })
        // A blob that falls short must break the download: what follows would land at the wrong place.
        if (bytes.length === 0) throw new Error(`blob ${piece.key} ends at ${at}`)
        await writeNext(bytes)
        at += bytes.length
      }
    }
  }
  await written
}

async function readSome(file: BlobFile, into: Buffer, { start, end }: ByteRange): Promise<Buffer> {
  const wanted = into.subarray(0, Math.min(into.length, end - start))
  return wanted.subarray(0, await file.read(wanted, start))
}
