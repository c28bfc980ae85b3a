import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createInflate } from 'node:zlib'
import { codeOf } from '@godwit/lib/errno'
import {
  memoryFile,
  openRegularFile,
  READ_REGULAR,
  type RegularFile,
} from '../files/regular-file.ts'
import { Damaged, orUnreadable } from '../files/repository-errors.ts'
import { syncFs } from '../files/sync-fs.ts'
import { type Git, LONG_TIMEOUT_MS, PROGRESS } from '../git.ts'
import type { Verified, VerifiedTips } from '../snapshot.ts'
import { checkPack } from './check-pack.ts'
import type { ScratchRepository, SnapshotFile } from './scratch-repository.ts'

/**
 * Checks that every object that the refs reach is present; throws Damaged with git's message. The bytes of the objects are checked by
 * `checkedBytes` while `snapshot.entries()` are read. A snapshot is verified when both have passed.
 */
export async function verify(
  { repository, wiki }: { repository: ScratchRepository; wiki: ScratchRepository | null },
  git: Git,
  signal: AbortSignal,
  last?: Verified,
): Promise<Verified> {
  return {
    repository: await verifyConnected(repository, git, signal, last?.repository),
    wiki: wiki && (await verifyConnected(wiki, git, signal, last?.wiki)),
  }
}

async function verifyConnected(
  repository: ScratchRepository,
  git: Git,
  signal: AbortSignal,
  last: VerifiedTips | null | undefined,
): Promise<VerifiedTips> {
  const { dir, tips, sources: objectFiles } = repository
  const hasAllFiles = last && new Set(last.objectFiles).isSubsetOf(new Set(objectFiles))
  const verified = hasAllFiles ? last.tips : []
  const wanted = repository.isConnected ? [] : [...new Set(tips).difference(new Set(verified))]
  if (wanted.length > 0)
    await orUnreadable(repository, signal, () =>
      // Not --all: some versions of git skip a ref whose object is missing, with exit code 0.
      git.run(['rev-list', '--objects', '--quiet', PROGRESS, '--stdin'], {
        dir,
        input: [...wanted, ...verified.map((oid) => `^${oid}`), ''].join('\n'),
        // With a commit-graph git does not notice missing commits.
        config: { 'core.commitGraph': 'false' },
        timeoutMs: LONG_TIMEOUT_MS,
        signal,
      }),
    )
  return { tips, objectFiles }
}

const CHUNK_BYTES = 1024 * 1024
const MAX_SMALL_BYTES = 128 * 1024

/** Yields the bytes of a file; throws Damaged at the end if they do not match its name or its checksum. */
export function checkedBytes(
  repository: ScratchRepository,
  file: SnapshotFile,
): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  switch (file.kind) {
    case 'pack':
      return readPack(repository, file)
    case 'idx':
      return readWithTrailer(repository, file)
    case 'loose':
      return readLoose(repository, file)
    case 'lfs':
      return readLfs(repository, file)
    case 'text':
      return [file.bytes]
  }
}

/** Verifies packed blobs, which `rev-list` does not read, by the pack's checksum and a comparison with its index. */
async function* readPack(
  repository: ScratchRepository,
  file: SnapshotFile,
): AsyncGenerator<Buffer> {
  using check = checkPack({
    index: openIndex(repository, file.path.replace(/pack$/, 'idx')),
    size: file.size,
    width: widthOf(repository),
    onEntry: (entry) => repository.detector.checkPacked(entry),
  })
  const trailer = yield* readWithTrailer(repository, file, check.add.bind(check))
  const mismatch = check.findMismatch(trailer)
  if (mismatch !== undefined) throw damaged(repository, file, mismatch)
}

function openIndex({ dir, files }: ScratchRepository, path: string): RegularFile {
  const bytes = files.find((file) => file.path === path)?.bytes
  return bytes ? memoryFile(bytes) : openRegularFile(join(dir, path))
}

/** Packs and indexes end with the checksum of the bytes before it. */
async function* readWithTrailer(
  repository: ScratchRepository,
  file: SnapshotFile,
  onChunk?: (chunk: Buffer) => void,
): AsyncGenerator<Buffer, Buffer> {
  const hash = createHash(repository.objectFormat)
  const trailer = Buffer.alloc(widthOf(repository))
  const end = file.size - trailer.length
  let at = 0
  for await (const chunk of readChunks(repository, file)) {
    const body = Math.min(Math.max(end - at, 0), chunk.length)
    hash.update(chunk.subarray(0, body))
    chunk.copy(trailer, Math.max(at + body - end, 0), body)
    at += chunk.length
    onChunk?.(chunk)
    yield chunk
  }
  if (end < 0 || !hash.digest().equals(trailer))
    throw damaged(repository, file, `${file.kind === 'pack' ? 'pack' : 'index'} checksum mismatch`)
  return trailer
}

/** The name of a loose object is the hash of its inflated bytes. They are checked before the first byte is yielded. */
async function* readLoose(
  repository: ScratchRepository,
  file: SnapshotFile,
): AsyncGenerator<Buffer> {
  const hash = createHash(repository.objectFormat)
  const used = await inflateFile(repository, file, hash).catch((error) => {
    throw codeOf(error)?.startsWith('Z_')
      ? damaged(repository, file, 'inflate error', error)
      : error
  })
  const oid = file.path.split('/').slice(-2).join('')
  if (hash.digest('hex') !== oid) throw damaged(repository, file, 'hash mismatch')
  if (used !== file.size) throw damaged(repository, file, 'garbage at end of loose object')
  yield* readChunks(repository, file)
}

/**
 * Returns how many bytes of the file belong to the object. Does not use `pipeline`: if bytes follow the object, it sometimes fails with
 * an AbortError.
 */
async function inflateFile(
  repository: ScratchRepository,
  file: SnapshotFile,
  hash: Hash,
): Promise<number> {
  let size = 0
  const inflating = createInflate({ chunkSize: CHUNK_BYTES })
  const ended = once(
    inflating.on('data', (part: Buffer) => {
      size += part.length
      hash.update(part)
    }),
    'end',
  )
  // A failure is handled below, where `ended` is awaited.
  ended.catch(() => {})
  try {
    for await (const chunk of readChunks(repository, file)) {
      const written = new Promise((resolve) => inflating.write(chunk, resolve))
      await Promise.race([written, ended])
      if (inflating.readableEnded) break
    }
    inflating.end()
    await ended
    repository.detector.checkSize(size)
    return inflating.bytesWritten
  } finally {
    inflating.destroy()
  }
}

async function* readLfs(repository: ScratchRepository, file: SnapshotFile): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of readChunks(repository, file)) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== basename(file.path))
    throw damaged(repository, file, 'the content does not match its LFS oid')
}

/** Yields exactly `file.size` bytes, or throws at the end. A chunk is valid until the next is requested. */
async function* readChunks(
  repository: ScratchRepository,
  file: SnapshotFile,
): AsyncGenerator<Buffer> {
  if (file.bytes || file.size <= MAX_SMALL_BYTES) return yield await readWhole(repository, file)
  await using handle = await open(join(repository.dir, file.path), READ_REGULAR)
  using pooled = pooledChunks()
  const [chunk, other] = pooled.chunks
  /** An error is thrown where the result is awaited. Until then it must not end the process. */
  const startReading = (into: Buffer) => {
    const started = handle.read(into)
    started.catch(() => {})
    return started
  }
  let left = file.size
  let reading = startReading(chunk)
  try {
    for (;;) {
      const { bytesRead, buffer } = await reading
      left -= bytesRead
      if (bytesRead === 0 || left < 0) break
      // The next chunk is read while the caller uses this one.
      reading = startReading(buffer === chunk ? other : chunk)
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await reading.catch(() => {})
  }
  if (left !== 0) throw damaged(repository, file, SIZE_CHANGED)
}

/** Buffers for reuse: new ones for each file would keep the garbage collector busy. */
const unusedChunks: [Buffer, Buffer][] = []

function pooledChunks(): Disposable & { chunks: [Buffer, Buffer] } {
  const newChunk = () => Buffer.allocUnsafeSlow(CHUNK_BYTES)
  const chunks = unusedChunks.pop() ?? [newChunk(), newChunk()]
  return { chunks, [Symbol.dispose]: () => unusedChunks.push(chunks) }
}

const readRegular = syncFs((path: string) => readFileSync(path, { flag: READ_REGULAR }))

async function readWhole(repository: ScratchRepository, file: SnapshotFile): Promise<Buffer> {
  const bytes = file.bytes ?? (await readRegular(join(repository.dir, file.path)))
  if (bytes.length !== file.size) throw damaged(repository, file, SIZE_CHANGED)
  return bytes
}

const SIZE_CHANGED = 'its size changed after it was found'

function damaged(
  repository: ScratchRepository,
  file: SnapshotFile,
  reason: string,
  cause?: unknown,
): Damaged {
  return new Damaged(repository.name, `${file.path}: ${reason}`, cause)
}

function widthOf({ objectFormat }: ScratchRepository): number {
  return objectFormat === 'sha256' ? 32 : 20
}
