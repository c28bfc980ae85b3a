import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Manifest } from '../archive/manifest.ts'
import { ARCHIVE_HEAD, ARCHIVE_TAIL_LENGTH, CLOSING_BLOCK } from '../archive/plan-archive.ts'

export type Compared =
  /** The repositories, by full name, and the metadata, whose stored bytes are not those that the manifest names. */
  { differing: string[] } | { incomparable: string }

const CHUNK = 1024 * 1024

/**
 * Whether the deflated bytes of each segment are, by length and SHA-256, those that it was exported as. The manifest's own
 * is the one whose length nobody can know when it is written. It is the last of all, and in format 1 it was the first.
 */
export async function compareSegments(
  file: string,
  { repositories, metadata, stored_files = [] }: Manifest,
  signal: AbortSignal,
): Promise<Compared> {
  // Asked before it is opened: opening a pipe would wait for another writer.
  const kind = await stat(file)
  if (kind.isDirectory()) return { incomparable: 'it is a directory' }
  if (!kind.isFile()) return { incomparable: 'it could be read only once' }
  await using archive = await open(file)
  if (!(await isAsWritten(archive, kind.size)))
    return { incomparable: 'it was packed again since it was exported' }

  const named = [...repositories, ...stored_files].map(({ full_name, segment }) => ({
    name: full_name,
    ...segment,
  }))
  const segments = metadata ? [{ name: 'the metadata', ...metadata.segment }, ...named] : named
  const lengths = segments.reduce((sum, { length }) => sum + length, 0)
  const end = kind.size - ARCHIVE_TAIL_LENGTH
  let start = metadata ? ARCHIVE_HEAD.length : end - lengths
  if (start < ARCHIVE_HEAD.length || start + lengths > end)
    return { differing: segments.map(({ name }) => name) }
  const differing: string[] = []
  for (const { name, length, sha256 } of segments) {
    const range = { start, end: start + length - 1 }
    if (length === 0 || (await digestOf(file, range, signal)) !== sha256) differing.push(name)
    start += length
  }
  return { differing }
}

/** Any other program that writes gzip ends it otherwise than with one stored block of zeros. */
async function isAsWritten(archive: FileHandle, size: number): Promise<boolean> {
  if (size < ARCHIVE_HEAD.length + ARCHIVE_TAIL_LENGTH) return false
  const head = await bytesAt(archive, 0, ARCHIVE_HEAD.length)
  const closing = await bytesAt(archive, size - ARCHIVE_TAIL_LENGTH, CLOSING_BLOCK.length)
  return head.equals(ARCHIVE_HEAD) && closing.equals(CLOSING_BLOCK)
}

async function bytesAt(archive: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await archive.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** Of the whole file, or of the bytes from `start` up to and including `end`. */
export async function digestOf(
  file: string,
  range: { start?: number; end?: number } = {},
  signal?: AbortSignal,
): Promise<string> {
  const digest = createHash('sha256')
  await pipeline(createReadStream(file, { ...range, highWaterMark: CHUNK }), digest, { signal })
  return digest.digest('hex')
}
