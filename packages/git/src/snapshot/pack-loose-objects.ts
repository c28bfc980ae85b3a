import { createHash, hash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'
import { codeOf, hasCode } from '@godwit/lib/errno'
import { nextTurn } from '@godwit/lib/turns'
import { packedStream } from '../files/packed-stream.ts'
import { readInto } from '../files/regular-file.ts'
import { ChangedDuringRead, Damaged, toUnreadable } from '../files/repository-errors.ts'
import { createInflater } from '../files/reused-inflater.ts'
import type { ExaminedRepository, ObjectFile, ObjectFormat } from '../snapshot.ts'

/** Larger files stay loose. Inflates to 66 MB in the worst case. */
const MAX_FILE_BYTES = 64 * 1024
const MAX_PACK_BYTES = 8 * 1024 * 1024

/** An object file. The content may be in memory instead of on disk. */
export interface CopiedFile extends ObjectFile {
  bytes?: Buffer | undefined
}

/** A new file of a pack, not yet written. */
interface NewPackFile {
  path: string
  bytes: Buffer
}

/**
 * Checks the small loose objects of a repository and yields packs of them with their indexes, in the order of their names. Between two
 * runs of `git gc` a repository has thousands of them: to link, walk, archive and extract a file for each takes longer than to pack
 * them. Adds the files that it leaves as they are to `others`. Throws ChangedDuringRead if a file has disappeared.
 */
export async function* packLooseObjects(
  found: LooseObjects,
  others: CopiedFile[],
  signal: AbortSignal,
): AsyncGenerator<NewPackFile> {
  let pack = new NewPack()
  for (const file of found.objectFiles) {
    signal.throwIfAborted()
    const isLoose = !file.path.startsWith('objects/pack/')
    const isPacked = isLoose && file.size <= MAX_FILE_BYTES && addLoose(pack, found, file)
    if (!isPacked) others.push(file)
    const later = nextTurn()
    if (later) await later
    if (pack.length < MAX_PACK_BYTES) continue
    yield* pack.files(found.objectFormat)
    pack = new NewPack()
  }
  if (pack.oids.length > 0) yield* pack.files(found.objectFormat)
}

type LooseObjects = Pick<ExaminedRepository, 'dir' | 'name' | 'objectFormat'> & {
  objectFiles: readonly CopiedFile[]
}

const inflate = createInflater()

const HEADER = /^(commit|tree|blob|tag) (0|[1-9]\d*)$/

const fileBuffer = Buffer.allocUnsafeSlow(MAX_FILE_BYTES + 1)

/**
 * Returns false for an object with an unusual header, which a pack cannot hold. The name of an object is the hash of its inflated
 * bytes.
 */
function addLoose(pack: NewPack, found: LooseObjects, file: CopiedFile): boolean {
  const damaged = (reason: string, cause?: unknown) =>
    new Damaged(found.name, `${file.path}: ${reason}`, cause)
  try {
    const bytes = file.bytes ?? readInto(file.from, fileBuffer)
    if (bytes.length > MAX_FILE_BYTES) throw new ChangedDuringRead(`${file.path} was replaced`)
    const oid = file.path.split('/').slice(-2).join('')
    const packed = readPacked(bytes, found.objectFormat)
    const object = packed?.oid === oid ? packed : readWhole(bytes, found.objectFormat)
    const { used, header, content } = object
    if (object.oid !== oid) throw damaged('hash mismatch')
    if (used !== bytes.length) throw damaged('garbage at end of loose object')
    const [, type, size] = HEADER.exec(header) ?? []
    if (content.length !== Number(size)) return false
    pack.add(oid, TYPES.indexOf(type!) + 1, object)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT'))
      throw new ChangedDuringRead(`${file.path} disappeared`, { cause: error })
    if (!codeOf(error)?.startsWith('Z_')) throw toUnreadable(error, found)
    throw damaged(file.size === 0 ? 'object file is empty' : 'inflate error', error)
  }
}

interface LooseObject {
  oid: string
  /** How many bytes of the file belong to the object. */
  used: number
  header: string
  content: Buffer
  /** The deflated content, if the file has it. */
  stream?: Buffer
}

/** Returns undefined if the stream of the file is short, or cannot be used in a pack, or is damaged. */
function readPacked(bytes: Buffer, format: ObjectFormat): LooseObject | undefined {
  const packed = bytes.length < MIN_PACKED_BYTES ? undefined : packedStream(bytes)
  if (!packed) return undefined
  const { header, stream } = packed
  try {
    const { output: content, used } = inflate(stream)
    const oid = createHash(format).update(`${header}\0`).update(content).digest('hex')
    return used === stream.length ? { oid, used: bytes.length, header, content, stream } : undefined
  } catch {
    return undefined
  }
}

function readWhole(bytes: Buffer, format: ObjectFormat): LooseObject {
  const { output, used } = inflate(bytes)
  const oid = hash(format, output)
  const headerLength = output.subarray(0, MAX_HEADER_LENGTH).indexOf(0)
  const header = output.toString('latin1', 0, Math.max(headerLength, 0))
  return { oid, used, header, content: output.subarray(headerLength + 1) }
}

const MAX_HEADER_LENGTH = 32
/** Shorter streams are seldom worth it: messages of commits often refer to the header, and the others can be stored. */
const MIN_PACKED_BYTES = 400

const TYPES = ['commit', 'tree', 'blob', 'tag']
/** Objects are small: a larger window would take longer to set up than to use. */
const DEFLATE = { level: 1, windowBits: 13, memLevel: 6 }

/** Smaller objects are stored: deflated they are hardly smaller, and take ten times as long. */
const MIN_DEFLATED_BYTES = 1024
/** The beginning of a zlib stream whose only block is stored. */
const STORED_HEAD = [0x78, 0x01, 0x01]

const INDEX_HEAD = [0xff744f63, 2]
const PACK_HEAD = [0x5041434b, 2]
const PACK_HEAD_BYTES = 12

/** The objects of a pack, in the order of their names, in one buffer: separate buffers would keep the garbage collector busy. */
class NewPack {
  readonly oids: string[] = []
  readonly #offsets: number[] = []
  readonly #checksums: number[] = []
  #bytes = Buffer.allocUnsafe(4096)
  length = PACK_HEAD_BYTES

  /** The first byte of an entry has the type and four bits of the size, the following ones seven bits each. */
  add(
    oid: string,
    type: number,
    { content, stream }: Pick<LooseObject, 'content' | 'stream'>,
  ): void {
    const offset = this.length
    const { length } = content
    const head = [(type << 4) | (length & 0x0f)]
    for (let rest = length >>> 4; rest > 0; rest >>>= 7) {
      head[head.length - 1]! |= 0x80
      head.push(rest & 0x7f)
    }
    if (stream || length >= MIN_DEFLATED_BYTES) {
      this.#append(head)
      this.#append(stream ?? deflateSync(content, { ...DEFLATE, chunkSize: length + 64 }))
    } else {
      this.#append([...head, ...STORED_HEAD, length, length >> 8, ~length, ~length >> 8])
      this.#append(content)
      this.length = this.#reserve(4).writeUInt32BE(adler32(content), this.length)
    }
    this.oids.push(oid)
    this.#offsets.push(offset)
    this.#checksums.push(crc32(this.#bytes.subarray(offset, this.length)))
  }

  #append(bytes: ArrayLike<number>): void {
    this.#reserve(bytes.length).set(bytes, this.length)
    this.length += bytes.length
  }

  #reserve(length: number): Buffer {
    if (this.length + length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (this.length + length))
      this.#bytes.copy(larger)
      this.#bytes = larger
    }
    return this.#bytes
  }

  /** Returns the pack and its index. */
  files(format: ObjectFormat): NewPackFile[] {
    const checksumOf = (bytes: Buffer) => hash(format, bytes, 'buffer')
    this.#bytes.set(numbers([...PACK_HEAD, this.oids.length]))
    const checksum = checksumOf(this.#bytes.subarray(0, this.length))
    this.#append(checksum)
    const index = Buffer.concat([...this.#indexTables(), checksum])
    const path = `objects/pack/pack-${checksum.toString('hex')}`
    return [
      { path: `${path}.pack`, bytes: this.#bytes.subarray(0, this.length) },
      { path: `${path}.idx`, bytes: Buffer.concat([index, checksumOf(index)]) },
    ]
  }

  /** Returns the tables of an index of version 2: how many names begin with each byte or a smaller one, names, CRCs and offsets. */
  #indexTables(): Buffer[] {
    const fanout = new Array<number>(256).fill(0)
    for (const oid of this.oids) fanout[Number.parseInt(oid.slice(0, 2), 16)]! += 1
    for (let byte = 1; byte < 256; byte++) fanout[byte]! += fanout[byte - 1]!
    return [
      numbers([...INDEX_HEAD, ...fanout]),
      Buffer.from(this.oids.join(''), 'hex'),
      numbers(this.#checksums),
      numbers(this.#offsets),
    ]
  }
}

function adler32(content: Buffer): number {
  let sum = 1
  let sumOfSums = 0
  for (const byte of content) {
    sum += byte
    sumOfSums += sum
  }
  return (sumOfSums % 65_521) * 65_536 + (sum % 65_521)
}

function numbers(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, at * 4)
  return bytes
}
