import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createInflate, inflateSync } from 'node:zlib'
import { codeOf } from '../../../lib/errno.ts'
import { Damaged } from '../files/repository-errors.ts'
import { checkPack } from './check-pack.ts'
import type { ScratchRepository, SnapshotFile } from './snapshot-scratch.ts'

/** A file that became a link after it was found is not what was found. */
const READ_OWN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const CHUNK = 1024 * 1024
const SMALL = 128 * 1024
/** Inflates to 66 MB at the very worst. */
const INFLATED_AT_ONCE = 64 * 1024

/** The bytes of a file; the end is reached only if they are those that its name, or its trailer, promises. */
export function checkedBytes(
  repository: ScratchRepository,
  file: SnapshotFile,
): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  switch (file.kind) {
    case 'pack':
      return pack(repository, file)
    case 'idx':
      return trailed(repository, file)
    case 'loose':
      return loose(repository, file)
    case 'lfs':
      return lfs(repository, file)
    case 'text':
      return [file.bytes]
  }
}

/**
 * rev-list reads no packed blob: the pack's checksum, and that its index means this very pack and every entry in it,
 * vouch for those.
 */
async function* pack(repository: ScratchRepository, file: SnapshotFile): AsyncGenerator<Buffer> {
  await using check = await checkPack({
    indexPath: join(repository.dir, file.path.replace(/pack$/, 'idx')),
    size: file.size,
    width: widthOf(repository),
    onSmallEntry: (entry) => repository.pointerWatch.packed(entry),
  })
  const trailer = yield* trailed(repository, file, check.take.bind(check))
  const complaint = check.complaint(trailer)
  if (complaint !== undefined) throw damaged(repository, file, complaint)
}

/** Packs and their indexes end with the checksum of all that goes before. */
async function* trailed(
  repository: ScratchRepository,
  file: SnapshotFile,
  onChunk?: (chunk: Buffer) => Promise<void>,
): AsyncGenerator<Buffer, Buffer> {
  const hash = createHash(repository.objectFormat)
  const trailer = Buffer.alloc(widthOf(repository))
  const end = file.size - trailer.length
  let at = 0
  for await (const chunk of whole(repository, file)) {
    const body = Math.min(Math.max(end - at, 0), chunk.length)
    hash.update(chunk.subarray(0, body))
    chunk.copy(trailer, Math.max(at + body - end, 0), body)
    at += chunk.length
    await onChunk?.(chunk)
    yield chunk
  }
  if (end < 0 || !hash.digest().equals(trailer))
    throw damaged(repository, file, `${file.kind === 'pack' ? 'pack' : 'index'} checksum mismatch`)
  return trailer
}

/** A loose object is named by the hash of what it inflates to. Checked before it is handed on. */
async function* loose(repository: ScratchRepository, file: SnapshotFile): AsyncGenerator<Buffer> {
  const small = file.size <= INFLATED_AT_ONCE ? await readWhole(repository, file) : undefined
  const hash = createHash(repository.objectFormat)
  const used = await (small
    ? inflate(repository, small, hash)
    : inflateFile(repository, file, hash)
  ).catch((error) => {
    if (!codeOf(error)?.startsWith('Z_')) throw error
    const empty = file.size === 0
    throw damaged(repository, file, empty ? 'object file is empty' : 'inflate error', error)
  })
  const oid = file.path.split('/').slice(-2).join('')
  if (hash.digest('hex') !== oid) throw damaged(repository, file, 'hash mismatch')
  if (used !== file.size) throw damaged(repository, file, 'garbage at end of loose object')
  if (small) yield small
  else yield* whole(repository, file)
}

/** Answers how many of the bytes made up the object. */
async function inflate(
  { pointerWatch }: ScratchRepository,
  bytes: Buffer,
  hash: Hash,
): Promise<number> {
  const { buffer, engine } = inflateSync(bytes, { info: true }) as unknown as Inflated
  hash.update(buffer)
  pointerWatch.loose(buffer)
  return engine.bytesWritten
}

/** What `info: true` makes inflateSync answer, which its types leave out. */
interface Inflated {
  buffer: Buffer
  engine: { bytesWritten: number }
}

/** Fed by hand: where bytes follow the end of an object, a pipeline ends now well, now with an AbortError. */
async function inflateFile(
  repository: ScratchRepository,
  file: SnapshotFile,
  hash: Hash,
): Promise<number> {
  const inflating = createInflate({ chunkSize: CHUNK })
  const ended = once(
    inflating.on('data', (part: Buffer) => hash.update(part)),
    'end',
  )
  // A failure is told by whoever waits for it, and not before.
  ended.catch(() => {})
  try {
    for await (const chunk of whole(repository, file)) {
      const taken = new Promise((resolve) => inflating.write(chunk, resolve))
      await Promise.race([taken, ended])
      if (inflating.readableEnded) break
    }
    inflating.end()
    await ended
    return inflating.bytesWritten
  } finally {
    inflating.destroy()
  }
}

async function* lfs(repository: ScratchRepository, file: SnapshotFile): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of whole(repository, file)) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== basename(file.path))
    throw damaged(repository, file, 'the content does not match its LFS oid')
}

/** Exactly as many bytes as were announced, or a failure at the end. A chunk is good until the next is asked for. */
async function* whole(repository: ScratchRepository, file: SnapshotFile): AsyncGenerator<Buffer> {
  if (file.size <= SMALL) return yield await readWhole(repository, file)
  await using handle = await open(join(repository.dir, file.path), READ_OWN)
  using room = roomForChunk()
  const { chunk } = room
  let left = file.size
  for (;;) {
    const { bytesRead } = await handle.read(chunk)
    left -= bytesRead
    if (bytesRead === 0 || left < 0) break
    yield chunk.subarray(0, bytesRead)
  }
  if (left !== 0) throw damaged(repository, file, SIZE_CHANGED)
}

/** Rooms of files that are read, for those to come: new ones for each would keep the garbage collector busy. */
const spare: Buffer[] = []

function roomForChunk(): Disposable & { chunk: Buffer } {
  const chunk = spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK)
  return { chunk, [Symbol.dispose]: () => spare.push(chunk) }
}

async function readWhole(repository: ScratchRepository, file: SnapshotFile): Promise<Buffer> {
  const bytes = await readFile(join(repository.dir, file.path), { flag: READ_OWN })
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
