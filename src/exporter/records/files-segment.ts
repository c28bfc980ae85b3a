import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ManifestFile } from '../../archive/manifest.ts'
import { type SegmentEntry, writeSegment } from '../../archive/write-segment.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { writingTo } from '../../lib/disk-errors.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'
import type { Discussions, FileToFetch } from '../../sources/discussions.ts'
import {
  DamagedFile,
  ForgeError,
  ForgeNotFound,
  TooLarge,
  WaitUntil,
} from '../../sources/forge-errors.ts'
import { hashWhileReading } from '../make-segment.ts'

export interface FilesParts {
  blobs: BlobStore
  scratch: string
  discussions: Pick<Discussions, 'open'>
  now: () => number
}

export interface FilesSegment {
  segment: SegmentRecord
  files: ManifestFile[]
  /** Those that the forge names and does not give, or that are too large, with the reason. */
  missing: MissingFile[]
}

interface MissingFile {
  file: string
  reason: string
}

/** Told to wait no longer than this, a segment that is half-way done waits too: it cannot be continued later. */
const WAITED_MS = 15 * 60_000
/** Tar wants a time; the forge does not say when bytes were last changed, and they never are. */
const LONG_AGO = 0

/** Where the bytes of a file are before its entry in the segment is begun: still on the forge, or in a file of our own. */
type Fetching = 'streamed' | 'downloaded'

/**
 * Writes the files of records as one segment, each with the length that the forge says. They are streamed from the forge. If one
 * turns out to be damaged after its entry was begun, the segment is written anew, and each file is downloaded before its entry
 * is begun: a damaged one is then missing, and the others are there.
 */
export async function writeFilesSegment(
  parts: FilesParts,
  listFiles: () => AsyncIterable<FileToFetch>,
  signal: AbortSignal,
): Promise<FilesSegment> {
  const outcome: Outcome = { written: [], missing: [], isDamaged: false }
  try {
    return await writeOnce(parts, listFiles(), outcome, 'streamed', signal)
  } catch (error) {
    if (!outcome.isDamaged) throw error
    const again = { written: [], missing: [], isDamaged: false }
    return writeOnce(parts, listFiles(), again, 'downloaded', signal)
  }
}

async function writeOnce(
  parts: FilesParts,
  files: AsyncIterable<FileToFetch>,
  outcome: Outcome,
  fetching: Fetching,
  signal: AbortSignal,
): Promise<FilesSegment> {
  const key = randomUUID()
  try {
    const segment = await writeSegment(
      entriesOf(parts, files, outcome, fetching, signal),
      (bytes) => parts.blobs.put(key, bytes, { signal, isSlow: true }),
      { signal },
    )
    return { segment: { key, ...segment }, files: outcome.written, missing: outcome.missing }
  } catch (error) {
    // Where this fails as well, the sweep comes by.
    await parts.blobs.delete(key).catch(() => {})
    throw error
  }
}

interface Outcome {
  written: ManifestFile[]
  missing: MissingFile[]
  /** Whether a file could not be read to its end after its entry was begun. */
  isDamaged: boolean
}

async function* entriesOf(
  parts: FilesParts,
  files: AsyncIterable<FileToFetch>,
  outcome: Outcome,
  fetching: Fetching,
  signal: AbortSignal,
): AsyncGenerator<SegmentEntry> {
  const seen = new Set<string>()
  for await (const file of files) {
    // A text may link to the same file twice.
    if (seen.has(file.file)) continue
    seen.add(file.file)
    const opened = await openFile(parts, file, fetching, signal)
    if ('reason' in opened) {
      outcome.missing.push(opened)
      continue
    }
    await using found = opened
    yield { kind: 'directory', path: folderAbove(file.file), modifiedAt: LONG_AGO }
    const { size } = found
    const open = () =>
      hashWhileReading(noteDamage(found.bytes(), outcome), (sha256) =>
        outcome.written.push({ path: file.file, size, sha256 }),
      )
    yield { kind: 'file', path: file.file, size, modifiedAt: LONG_AGO, packed: false, open }
  }
}

async function* noteDamage(bytes: AsyncIterable<Uint8Array>, outcome: Outcome) {
  try {
    yield* bytes
  } catch (error) {
    outcome.isDamaged = whyMissing(error) !== undefined
    throw error
  }
}

/** Returns why the archive does without a file that could not be read; undefined if that is not about this file alone. */
function whyMissing(error: unknown): string | undefined {
  if (error instanceof ForgeNotFound) return 'missing on the forge'
  const isOfFile =
    error instanceof TooLarge || error instanceof DamagedFile || error instanceof ForgeError
  return isOfFile ? error.message : undefined
}

const folderAbove = (path: string) => path.slice(0, path.lastIndexOf('/'))

interface OpenedFile extends AsyncDisposable {
  size: number
  bytes(): AsyncIterable<Uint8Array>
}

/** Opened before its entry is begun: what is not there has none. A damaged file is asked for twice. */
async function openFile(
  parts: FilesParts,
  file: FileToFetch,
  fetching: Fetching,
  signal: AbortSignal,
): Promise<OpenedFile | MissingFile> {
  for (let isSecond = false; ; ) {
    try {
      return file.size === null || fetching === 'downloaded'
        ? await downloaded(parts, file, signal)
        : await streamed(parts, file, file.size, signal)
    } catch (error) {
      const reason = whyMissing(error)
      if (error instanceof DamagedFile && !isSecond) isSecond = true
      else if (reason !== undefined) return { file: file.file, reason }
      else if (!(error instanceof WaitUntil) || error.why === 'unreachable') throw error
      else if (error.dueAt - parts.now() > WAITED_MS) throw error
      else await sleep(Math.max(0, error.dueAt - parts.now()), undefined, { signal })
    }
  }
}

async function streamed(
  { discussions }: FilesParts,
  file: FileToFetch,
  size: number,
  signal: AbortSignal,
): Promise<OpenedFile> {
  const pieces = discussions.open(file, signal)[Symbol.asyncIterator]()
  const first = await pieces.next()
  return {
    size,
    async *bytes() {
      for (let next = first; !next.done; next = await pieces.next()) yield next.value
    },
    async [Symbol.asyncDispose]() {
      await pieces.return?.()
    },
  }
}

/** A tar entry begins with its length: where the forge does not say it, the bytes come first. */
async function downloaded(
  { discussions, scratch }: FilesParts,
  file: FileToFetch,
  signal: AbortSignal,
): Promise<OpenedFile> {
  const path = join(scratch, `file-${randomUUID()}`)
  const remove = () => rm(path, { force: true })
  try {
    const written = createWriteStream(path, { mode: 0o600 })
    await writingTo(path, () => pipeline(discussions.open(file, signal), written))
  } catch (error) {
    await remove()
    throw error
  }
  const { size } = await stat(path)
  return { size, bytes: () => createReadStream(path), [Symbol.asyncDispose]: remove }
}
