import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { TAR_BLOCK } from './tar-header.ts'
import { crc32Combine, type Segment, storedBlocks } from './write-segment.ts'

/** A segment in the blob store. */
export interface StoredSegment extends Omit<Segment, 'storedCrc32'> {
  key: string
  /** Null if it is unknown. Then the bytes are not verified when they are read. */
  storedCrc32: number | null
}

type ArchivePart =
  | { bytes: Uint8Array; length: number }
  | { key: string; length: number; storedCrc32: number | null }

export interface ArchivePlan {
  length: number
  /** The length of the tar, before compression. */
  plainLength: number
  /** A strong entity tag with its quotes. */
  etag: string
  parts: ArchivePart[]
}

/** The gzip header, with which every archive begins. */
export const ARCHIVE_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
const TAR_END = Buffer.alloc(2 * TAR_BLOCK)
export const CLOSING_BLOCK = storedBlocks(TAR_END, { final: true })
const TRAILER_LENGTH = 8
/** The length of the closing block and the gzip trailer, with which every archive ends. */
export const ARCHIVE_TAIL_LENGTH = CLOSING_BLOCK.length + TRAILER_LENGTH

/** Computes the length, entity tag and parts of an archive without reading its segments. */
export function planArchive(segments: readonly StoredSegment[]): ArchivePlan {
  const digest = createHash('sha256').update('godwit archive 1\n')
  let crc = 0
  let plainLength = 0
  for (const segment of segments) {
    checkSegment(segment)
    digest.update(`${segment.sha256} ${segment.length}\n`)
    crc = crc32Combine(crc, segment.crc32, segment.plainLength)
    plainLength += segment.plainLength
  }
  crc = crc32Combine(crc, crc32(TAR_END), TAR_END.length)
  plainLength += TAR_END.length
  const parts = [
    computed(ARCHIVE_HEAD),
    ...segments.map(({ key, length, storedCrc32 }) => ({ key, length, storedCrc32 })),
    computed(Buffer.concat([CLOSING_BLOCK, gzipTrailer(crc, plainLength)])),
  ]
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return { length, plainLength, etag: `"${digest.digest('hex')}"`, parts }
}

const computed = (bytes: Uint8Array): ArchivePart => ({ bytes, length: bytes.length })

function gzipTrailer(crc: number, plainLength: number): Buffer {
  const trailer = Buffer.alloc(TRAILER_LENGTH)
  trailer.writeUInt32LE(crc, 0)
  trailer.writeUInt32LE(plainLength % 2 ** 32, 4)
  return trailer
}

/** Segments are described by rows of a database. A wrong description would produce an unreadable archive. */
function checkSegment({ key, length, plainLength, crc32, sha256 }: StoredSegment): void {
  const isValid =
    isLength(length) &&
    isLength(plainLength) &&
    plainLength % TAR_BLOCK === 0 &&
    crc32 >>> 0 === crc32 &&
    /^[0-9a-f]{64}$/.test(sha256)
  if (!isValid) throw new Error(`the description of segment ${key} is malformed`)
}

const isLength = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
