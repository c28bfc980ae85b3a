import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ManifestFile } from '@godwit/archive/tar/manifest'
import { type SegmentEntry, writeSegment } from '@godwit/archive/tar/write-segment'
import type { Discussions, FileToFetch } from '@godwit/hosts/discussions'
import {
  FileDamaged,
  FileTooLarge,
  HostNotFound,
  HostServerError,
  HostUnavailable,
} from '@godwit/hosts/host-errors'
import { withWriteContext } from '@godwit/lib/disk-errors'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'

interface FilesDependencies {
  blobs: BlobStore
  scratch: string
  discussions: Pick<Discussions, 'open'>
  now: () => number
}

interface MissingFile {
  file: string
  reason: string
}

/** The longest pause while a segment is written, which cannot be continued later. */
const MAX_WAIT_MS = 15 * 60_000
/** Tar entries need a time, but the forge has none for files. */
const NO_TIME = 0

/** Whether a file is streamed from the forge into its entry, or downloaded before its entry begins. */
type FetchMode = 'streamed' | 'downloaded'

interface WriteState {
  /** Files that the forge does not have or that are too large, each with the reason. */
  missing: MissingFile[]
  /** Whether a file could not be read to its end after its entry had begun. */
  isDamaged: boolean
}

/**
 * Writes the files of records as one segment. Files are streamed from the forge with the size that the forge lists. If one is
 * damaged after its entry has begun, the segment is written again, and each file is downloaded before its entry begins, so that
 * only the damaged one is missing.
 */
export async function writeFilesSegment(
  dependencies: FilesDependencies,
  listFiles: () => AsyncIterable<FileToFetch>,
  signal: AbortSignal,
  mode: FetchMode = 'streamed',
): Promise<{ segment: SegmentRecord; files: ManifestFile[]; missing: MissingFile[] }> {
  const key = randomUUID()
  const files: ManifestFile[] = []
  const state: WriteState = { missing: [], isDamaged: false }
  try {
    const entries = entriesOf(dependencies, listFiles(), state, mode, signal)
    const segment = await writeSegment(
      entries,
      (bytes) => dependencies.blobs.put(key, bytes, { signal, isSlow: true }),
      { signal, files },
    )
    return { segment: { key, ...segment }, files, missing: state.missing }
  } catch (error) {
    // If this fails too, the sweep removes the blob.
    await dependencies.blobs.delete(key).catch(() => {})
    if (mode === 'downloaded' || !state.isDamaged) throw error
    return writeFilesSegment(dependencies, listFiles, signal, 'downloaded')
  }
}

async function* entriesOf(
  dependencies: FilesDependencies,
  files: AsyncIterable<FileToFetch>,
  state: WriteState,
  mode: FetchMode,
  signal: AbortSignal,
): AsyncGenerator<SegmentEntry> {
  const seen = new Set<string>()
  for await (const file of files) {
    // Two texts may link to the same file.
    if (seen.has(file.file)) continue
    seen.add(file.file)
    const opened = await openFile(dependencies, file, mode, signal)
    if ('reason' in opened) {
      state.missing.push(opened)
      continue
    }
    await using found = opened
    yield { kind: 'directory', path: posix.dirname(file.file), modifiedAt: NO_TIME }
    const open = () => detectDamage(found.bytes(), state)
    const { size } = found
    yield { kind: 'file', path: file.file, size, modifiedAt: NO_TIME, packed: false, open }
  }
}

async function* detectDamage(bytes: AsyncIterable<Uint8Array>, state: WriteState) {
  try {
    yield* bytes
  } catch (error) {
    state.isDamaged = reasonToSkip(error) !== undefined
    throw error
  }
}

/** Returns why a file is left out, or undefined if the error concerns more than this file. */
function reasonToSkip(error: unknown): string | undefined {
  if (error instanceof HostNotFound) return 'missing on the forge'
  const concernsOneFile =
    error instanceof FileTooLarge ||
    error instanceof FileDamaged ||
    error instanceof HostServerError
  return concernsOneFile ? error.message : undefined
}

interface OpenedFile extends AsyncDisposable {
  size: number
  bytes(): AsyncIterable<Uint8Array>
}

/** Opens a file before its entry begins, so that a missing file has no entry. Requests a damaged file a second time. */
async function openFile(
  dependencies: FilesDependencies,
  file: FileToFetch,
  mode: FetchMode,
  signal: AbortSignal,
): Promise<OpenedFile | MissingFile> {
  for (let isSecond = false; ; ) {
    try {
      return file.size === null || mode === 'downloaded'
        ? await downloadFile(dependencies, file, signal)
        : await streamFile(dependencies, file, file.size, signal)
    } catch (error) {
      const reason = reasonToSkip(error)
      if (error instanceof FileDamaged && !isSecond) isSecond = true
      else if (reason !== undefined) return { file: file.file, reason }
      else if (!(error instanceof HostUnavailable) || error.reason === 'unreachable') throw error
      else if (error.dueAt - dependencies.now() > MAX_WAIT_MS) throw error
      else await sleep(Math.max(0, error.dueAt - dependencies.now()), undefined, { signal })
    }
  }
}

async function streamFile(
  { discussions }: FilesDependencies,
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

/** A tar entry begins with its size. If the forge does not list the size, the file must be downloaded first. */
async function downloadFile(
  { discussions, scratch }: FilesDependencies,
  file: FileToFetch,
  signal: AbortSignal,
): Promise<OpenedFile> {
  const path = join(scratch, `file-${randomUUID()}`)
  const remove = () => rm(path, { force: true })
  try {
    const written = createWriteStream(path, { mode: 0o600 })
    await withWriteContext(path, () => pipeline(discussions.open(file, signal), written))
  } catch (error) {
    await remove()
    throw error
  }
  const { size } = await stat(path)
  return { size, bytes: () => createReadStream(path), [Symbol.asyncDispose]: remove }
}
