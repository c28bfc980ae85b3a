import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ManifestFile } from '../../archive/manifest.ts'
import { type SegmentEntry, writeSegment } from '../../archive/write-segment.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { writingTo } from '../../ground/disk-errors.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'
import type { Discussions, FileToFetch } from '../../sources/discussions.ts'
import { NotThere, TooLarge, WaitUntil } from '../../sources/forge-errors.ts'
import { digested } from '../segment-contents.ts'

export interface FilesParts {
  blobs: BlobStore
  scratch: string
  discussions: Pick<Discussions, 'open'>
  now: () => number
}

export interface FilesSegment {
  segment: SegmentRecord
  files: ManifestFile[]
  /** Those that the forge names and does not have, or that are too large, with the reason. */
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

/** Files of records as one segment, streamed from the forge, each with the length that the forge says. */
export async function writeFilesSegment(
  parts: FilesParts,
  files: AsyncIterable<FileToFetch>,
  signal: AbortSignal,
): Promise<FilesSegment> {
  const key = randomUUID()
  const written: ManifestFile[] = []
  const missing: MissingFile[] = []
  try {
    const segment = await writeSegment(
      entriesOf(parts, files, { written, missing }, signal),
      (bytes) => parts.blobs.put(key, bytes, { signal, isSlow: true }),
      { signal },
    )
    return { segment: { key, ...segment }, files: written, missing }
  } catch (error) {
    // Where this fails as well, the sweep comes by.
    await parts.blobs.delete(key).catch(() => {})
    throw error
  }
}

interface Outcome {
  written: ManifestFile[]
  missing: MissingFile[]
}

async function* entriesOf(
  parts: FilesParts,
  files: AsyncIterable<FileToFetch>,
  { written, missing }: Outcome,
  signal: AbortSignal,
): AsyncGenerator<SegmentEntry> {
  const seen = new Set<string>()
  for await (const file of files) {
    // A text may link to the same file twice.
    if (seen.has(file.file)) continue
    seen.add(file.file)
    const opened = await openFile(parts, file, signal)
    if ('reason' in opened) {
      missing.push(opened)
      continue
    }
    await using found = opened
    yield { kind: 'directory', path: folderAbove(file.file), modifiedAt: LONG_AGO }
    const { size } = found
    const open = () =>
      digested(found.bytes(), (sha256) => written.push({ path: file.file, size, sha256 }))
    yield { kind: 'file', path: file.file, size, modifiedAt: LONG_AGO, packed: false, open }
  }
}

const folderAbove = (path: string) => path.slice(0, path.lastIndexOf('/'))

interface OpenedFile extends AsyncDisposable {
  size: number
  bytes(): AsyncIterable<Uint8Array>
}

/** Opened before its entry is begun: what is not there has none. */
async function openFile(
  parts: FilesParts,
  file: FileToFetch,
  signal: AbortSignal,
): Promise<OpenedFile | MissingFile> {
  for (;;) {
    try {
      return file.size === null
        ? await downloaded(parts, file, signal)
        : await streamed(parts, file, file.size, signal)
    } catch (error) {
      if (error instanceof NotThere) return { file: file.file, reason: 'missing on the forge' }
      if (error instanceof TooLarge) return { file: file.file, reason: error.message }
      if (!(error instanceof WaitUntil) || error.dueAt - parts.now() > WAITED_MS) throw error
      if (error.why === 'away') throw error
      await sleep(Math.max(0, error.dueAt - parts.now()), undefined, { signal })
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
