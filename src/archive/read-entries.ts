import { pipeline } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { createGunzip, type Gunzip } from 'node:zlib'
import type { Bytes } from '../blobs/blob-store.ts'
import { ArchiveDamaged, PlainBytes } from './plain-bytes.ts'
import {
  longNameSize,
  parseTarHeader,
  TAR_BLOCK,
  type TarEntry,
  tarPadding,
  textUpToNul,
} from './tar-header.ts'

export interface ArchiveEntry extends TarEntry {
  /** To be read before the next entry is asked for; what is left of it then is skipped. Empty for a directory. */
  content: AsyncIterable<Uint8Array>
}

/**
 * The entries of an archive, one after another. Until the loop has ended by itself the CRC of the whole is unchecked.
 * Throws ArchiveDamaged, and a failure of the stream itself as it is.
 */
export async function* readEntries(
  archive: Bytes,
  { signal }: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<ArchiveEntry> {
  const gunzip = createGunzip({ chunkSize: 256 * 1024, rejectGarbageAfterEnd: true })
  const fed = pipeline(trailerLast(archive, gunzip), gunzip, { signal })
  fed.catch(() => {}) // whoever reads gunzip hears of it first; it is awaited below
  const tar = new PlainBytes(gunzip)
  try {
    for (let entry = await nextHeader(tar); entry; entry = await nextHeader(tar)) {
      const content = contentOf(tar, entry)
      yield { ...entry, content: content.bytes() }
      await content.skipRest()
      await tar.exactly(tarPadding(entry.size).length)
    }
    await onlyZerosLeft(tar)
    await fed.catch(tar.rethrow)
  } finally {
    gunzip.destroy()
    await fed.catch(() => {})
  }
}

/** Of gzip: CRC and length. */
const TRAILER_LENGTH = 8

/**
 * Holds the trailer back until all before it was read: whoever finds a wrong CRC throws away what nobody has taken yet, and
 * with it the manifest, which says whose bytes are wrong.
 */
async function* trailerLast(archive: Bytes, gunzip: Gunzip): AsyncGenerator<Uint8Array> {
  let held = Buffer.alloc(0)
  for await (const chunk of archive) {
    const bytes = held.length > 0 ? Buffer.concat([held, chunk]) : Buffer.from(chunk)
    const end = Math.max(0, bytes.length - TRAILER_LENGTH)
    held = Buffer.from(bytes.subarray(end))
    if (end > 0) yield bytes.subarray(0, end)
  }
  const isTaken = () => gunzip.writableLength === 0 && gunzip.readableLength === 0
  while (!isTaken() && !gunzip.destroyed) await turn()
  yield held
}

/** Undefined where the end of the tar is marked. */
async function nextHeader(tar: PlainBytes): Promise<TarEntry | undefined> {
  const { offset } = tar
  const block = await tar.exactly(TAR_BLOCK)
  if (isZero(block)) return undefined
  const size = judged(offset, () => longNameSize(block))
  if (size === undefined) return judged(offset, () => parseTarHeader(block))
  const record = await tar.exactly(size + tarPadding(size).length)
  const named = await tar.exactly(TAR_BLOCK)
  return judged(offset, () => parseTarHeader(named, textUpToNul(record.subarray(0, size))))
}

function judged<T>(offset: number, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new ArchiveDamaged((error as Error).message, offset, { cause: error })
  }
}

/** The content of one entry, for as long as that entry is the current one. */
function contentOf(tar: PlainBytes, { path, size }: TarEntry) {
  let left = size
  let passed = false

  async function* bytes(): AsyncGenerator<Uint8Array> {
    while (left > 0 || passed) {
      if (passed) throw new Error(`the content of ${path} was read after its turn`)
      const some = await tar.some(left)
      left -= some.length
      yield some
    }
  }

  async function skipRest(): Promise<void> {
    passed = left > 0
    while (left > 0) left -= (await tar.some(left)).length
  }

  return { bytes, skipRest }
}

/** Tars are filled up to whole records, of 10 KiB as a rule; what goes on much longer is no filling. */
const MOST_FILLING = 16 * 1024 * 1024

async function onlyZerosLeft(tar: PlainBytes): Promise<void> {
  let { offset } = tar
  const end = offset
  for (let rest = await tar.exactly(TAR_BLOCK); rest.length > 0; rest = await tar.upTo(Infinity)) {
    if (!isZero(rest)) throw new ArchiveDamaged('something follows the end of the tar', offset)
    offset = tar.offset
    if (offset - end > MOST_FILLING)
      throw new ArchiveDamaged('it goes on after the end of the tar', offset)
  }
}

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0)
