import { randomUUID } from 'node:crypto'
import { type FileHandle, link, mkdir, open, opendir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import { writingTo } from '../lib/disk-errors.ts'
import { hasCode, ifExists } from '../lib/errno.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import {
  assertBlobKey,
  assertRange,
  BlobExists,
  BlobNotFound,
  type BlobStore,
  type ByteRange,
  type Bytes,
  isBlobKey,
  type OnDisk,
  type StoredBlob,
} from './blob-store.ts'

const FLUSH_EVERY = 8 * 1024 * 1024
const READ_AHEAD = 256 * 1024
/** Of a key: so many of its characters name the folder that it is in. */
const SHARD_LENGTH = 2

/**
 * Blobs as files: `ROOT/ab/abc…` by the first two characters of the key, and `ROOT/tmp/…` while they are written. The
 * folder that holds ROOT must exist. Any number of processes may share a root.
 */
export function createDiskBlobStore(root: string): BlobStore & OnDisk {
  const unfinished = join(root, 'tmp')
  makeDirectory(unfinished, 0o700)

  function fileOf(key: string): string {
    assertBlobKey(key)
    return join(root, key.slice(0, SHARD_LENGTH), key)
  }

  /** Shards whose own place in the root is on disk for certain. */
  const settled = new Set<string>()

  async function settle(shard: string): Promise<void> {
    await syncFolder(shard)
    if (settled.has(shard)) return
    for (const folder of [root, dirname(root)]) await syncFolder(folder)
    settled.add(shard)
  }

  return {
    async put(key, bytes, { signal } = {}) {
      const file = fileOf(key)
      const temporary = join(unfinished, `${key}.${randomUUID()}`)
      try {
        await writingTo(file, async () => {
          await writeDurably(temporary, bytes, signal)
          await linkOnce(temporary, file, key)
        })
      } finally {
        await rm(temporary, { force: true })
      }
      await settle(dirname(file))
    },

    async open(key, range, { signal } = {}) {
      const handle = await open(fileOf(key)).catch(asMissing(key))
      const stream = await streamOf(handle, key, range, signal).catch(async (error: unknown) => {
        await handle.close()
        throw error
      })
      return signal ? addAbortSignal(signal, stream) : stream
    },

    async openFile(key) {
      const handle = await open(fileOf(key)).catch(asMissing(key))
      return {
        read: async (into, at) => (await handle.read(into, 0, into.length, at)).bytesRead,
        [Symbol.asyncDispose]: () => handle.close(),
      }
    },

    size: async (key) => (await stat(fileOf(key)).catch(asMissing(key))).size,

    delete: async (key) => rm(fileOf(key), { force: true }),

    list: () => finishedBlobs(root),

    // Older than nothing are all, even those that a clock which has been put back since says are yet to come.
    sweepUnfinished: (olderThanMs) =>
      removeOlder(unfinished, olderThanMs > 0 ? Date.now() - olderThanMs : Infinity),

    async probe() {
      await stat(unfinished)
    },
  }
}

/** Begins to flush long before the end, beside the writing, so that the last flush has little left to wait for. */
async function writeDurably(
  file: string,
  bytes: Bytes,
  signal: AbortSignal | undefined,
): Promise<void> {
  await using handle = await open(file, 'wx', 0o600)
  let flushing: Promise<unknown> = Promise.resolve()
  let unflushed = 0
  try {
    for await (const chunk of bytes) {
      signal?.throwIfAborted()
      await writeWhole(handle, chunk)
      unflushed += chunk.length
      if (unflushed < FLUSH_EVERY) continue
      await flushing
      flushing = handle.datasync()
      // A failure is told by whoever waits for it, and not before.
      flushing.catch(() => {})
      unflushed = 0
    }
  } finally {
    await flushing
  }
  signal?.throwIfAborted()
  await handle.sync()
}

async function writeWhole(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten
}

/** Unlike a rename, a link never replaces what another put was quicker to finish. */
async function linkOnce(temporary: string, file: string, key: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await link(temporary, file).catch((error: unknown) => {
    throw hasCode(error, 'EEXIST') ? new BlobExists(key, { cause: error }) : error
  })
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
  // A read stream takes the last byte, so it has no way to say "none".
  if (start < end)
    return handle.createReadStream({ start, end: end - 1, highWaterMark: READ_AHEAD })
  await handle.close()
  return Readable.from([])
}

async function* finishedBlobs(root: string): AsyncGenerator<StoredBlob> {
  for await (const shard of await opendir(root)) {
    // What else is there is not ours, such as the `lost+found` of a disk, which only root may read.
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
    // A put that is alive goes on writing, so its file is never old.
    const found = await ifExists(stat(file), 'ENOENT')
    if (found === undefined || found.mtimeMs > before) continue
    await rm(file, { force: true })
    removed += 1
  }
  return removed
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}

function asMissing(key: string): (error: unknown) => never {
  return (error) => {
    throw hasCode(error, 'ENOENT') ? new BlobNotFound(key, { cause: error }) : error
  }
}
