import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { type FileHandle, mkdir, open, opendir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import type { DiskStore } from '@godwit/archive/tar/blob-reader'
import type { ByteRange, Bytes } from '@godwit/lib/bytes'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { hasCode, ifExists } from '@godwit/lib/errno'
import { makeDirectory } from '@godwit/lib/make-directory'
import {
  assertBlobKey,
  assertRange,
  BlobExists,
  BlobNotFound,
  type BlobStore,
  isBlobKey,
  type StoredBlob,
} from './blob-store.ts'

const FLUSH_INTERVAL_BYTES = 8 * 1024 * 1024
const READ_BYTES = 256 * 1024
/** The number of characters of a key that name its folder. */
const SHARD_LENGTH = 2

/**
 * Stores blobs as files: `ROOT/ab/abc…`, where `ab` are the first two characters of the key, and `ROOT/tmp/…` while they are
 * written. The parent of ROOT must exist. Any number of processes may share a root.
 */
export function createDiskBlobStore(root: string): BlobStore & DiskStore {
  const unfinished = join(root, 'tmp')
  makeDirectory(unfinished, 0o700)

  function fileOf(key: string): string {
    assertBlobKey(key)
    return join(root, key.slice(0, SHARD_LENGTH), key)
  }

  /** Shards whose directory entry in the root is durable. */
  const durableShards = new Set<string>()

  async function syncShard(shard: string): Promise<void> {
    await syncFolder(shard)
    if (durableShards.has(shard)) return
    for (const folder of [root, dirname(root)]) await syncFolder(folder)
    durableShards.add(shard)
  }

  return {
    async put(key, bytes, { signal } = {}) {
      const file = fileOf(key)
      const temporary = join(unfinished, `${key}.${randomUUID()}`)
      try {
        await withWriteContext(file, async () => {
          await writeDurably(temporary, bytes, signal)
          await linkOnce(temporary, file, key)
        })
      } finally {
        await ifExists(unlinkFile(temporary), 'ENOENT')
      }
      await syncShard(dirname(file))
    },

    async open(key, range, { signal } = {}) {
      const handle = await open(fileOf(key)).catch(asBlobNotFound(key))
      const stream = await streamOf(handle, key, range, signal).catch(async (error: unknown) => {
        await handle.close()
        throw error
      })
      return signal ? addAbortSignal(signal, stream) : stream
    },

    async openFile(key) {
      const handle = await open(fileOf(key)).catch(asBlobNotFound(key))
      return {
        read: async (into, at) => (await handle.read(into, 0, into.length, at)).bytesRead,
        [Symbol.asyncDispose]: () => handle.close(),
      }
    },

    size: async (key) => (await statFile(fileOf(key)).catch(asBlobNotFound(key))).size,

    delete: async (key) => rm(fileOf(key), { force: true }),

    list: () => listBlobs(root),

    // 0 removes all files, even those with a time in the future, which exist after the clock was set back.
    sweepUnfinished: (olderThanMs) =>
      removeOlder(unfinished, olderThanMs > 0 ? Date.now() - olderThanMs : Infinity),

    async probe() {
      await stat(unfinished)
    },
  }
}

/**
 * Returns a function that blocks in a segment thread and uses the thread pool in the main thread. Blocking is ten times as fast, and
 * these calls seldom wait for the disk.
 */
const blockingInThreads = <A extends unknown[], T>(
  blocking: (...args: A) => T,
  pooled: (...args: A) => Promise<T>,
) => (isMainThread ? pooled : async (...args: A) => blocking(...args))

const statFile = isMainThread ? stat : async (file: string) => fs.statSync(file)
const linkFile = blockingInThreads(fs.linkSync, fs.promises.link)
const unlinkFile = blockingInThreads(fs.unlinkSync, fs.promises.unlink)
const closeFile = blockingInThreads(fs.closeSync, promisify(fs.close))
const openDescriptor = blockingInThreads(fs.openSync, promisify(fs.open))
const flush = promisify(fs.fsync)
const flushData = promisify(fs.fdatasync)
const write = promisify(fs.write)
/** A segment thread writes chunks of up to this size itself. */
const MAX_BLOCKING_BYTES = 128 * 1024

/** Writes a chunk while the next one is made. Flushes while it writes, so that the last flush has little left to do. */
async function writeDurably(
  path: string,
  bytes: Bytes,
  signal: AbortSignal | undefined,
): Promise<void> {
  const file = await openDescriptor(path, 'wx', 0o600)
  await using _ = { [Symbol.asyncDispose]: () => closeFile(file) }
  let writing: Promise<unknown> = Promise.resolve()
  let flushing: Promise<unknown> = Promise.resolve()
  let unflushed = 0
  try {
    for await (const chunk of bytes) {
      signal?.throwIfAborted()
      await writing
      if (unflushed >= FLUSH_INTERVAL_BYTES) {
        await flushing
        flushing = handledLater(flushData(file))
        unflushed = 0
      }
      writing = handledLater(writeWhole(file, chunk))
      unflushed += chunk.length
    }
  } finally {
    await Promise.allSettled([writing, flushing])
  }
  await Promise.all([writing, flushing])
  signal?.throwIfAborted()
  await flush(file)
}

/** Keeps an error from ending the process before the promise is awaited. */
function handledLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

async function writeWhole(file: number, bytes: Uint8Array): Promise<void> {
  const mayBlock = !isMainThread && bytes.length <= MAX_BLOCKING_BYTES
  for (let at = 0; at < bytes.length; )
    at += mayBlock ? fs.writeSync(file, bytes, at) : (await write(file, bytes, at)).bytesWritten
}

/** Unlike a rename, a link never replaces a blob that another put has finished. */
async function linkOnce(temporary: string, file: string, key: string): Promise<void> {
  try {
    const linked = linkFile(temporary, file).then(() => true)
    if (await ifExists(linked, 'ENOENT')) return
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await linkFile(temporary, file)
  } catch (error) {
    throw hasCode(error, 'EEXIST') ? new BlobExists(key, { cause: error }) : error
  }
}

async function streamOf(
  handle: FileHandle,
  key: string,
  range: ByteRange | undefined,
  signal: AbortSignal | undefined,
): Promise<Readable> {
  const { size } = await handle.stat()
  const { start, end } = range ?? { start: 0, end: size }
  assertRange(key, size, { start, end })
  signal?.throwIfAborted()
  // A read stream expects the position of the last byte, so it cannot express an empty range.
  if (start < end)
    return handle.createReadStream({ start, end: end - 1, highWaterMark: READ_BYTES })
  await handle.close()
  return Readable.from([])
}

async function* listBlobs(root: string): AsyncGenerator<StoredBlob> {
  for await (const shard of await opendir(root)) {
    // Skips other folders, such as `lost+found`, which only root may read.
    if (!shard.isDirectory() || shard.name.length > SHARD_LENGTH) continue
    const folder = join(root, shard.name)
    for await (const { name } of await opendir(folder)) {
      const found = isBlobKey(name) ? await ifExists(stat(join(folder, name)), 'ENOENT') : undefined
      if (found) yield { key: name, size: found.size, modifiedAt: found.mtimeMs }
    }
  }
}

async function removeOlder(folder: string, before: number): Promise<number> {
  let removed = 0
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    // A running put keeps writing, so its file is recent.
    const found = await ifExists(stat(file), 'ENOENT')
    if (found === undefined || found.mtimeMs > before) continue
    await rm(file, { force: true })
    removed += 1
  }
  return removed
}

async function syncFolder(folder: string): Promise<void> {
  const file = await openDescriptor(folder, 'r')
  await using _ = { [Symbol.asyncDispose]: () => closeFile(file) }
  await flush(file)
}

function asBlobNotFound(key: string): (error: unknown) => never {
  return (error) => {
    throw hasCode(error, 'ENOENT') ? new BlobNotFound(key, { cause: error }) : error
  }
}
