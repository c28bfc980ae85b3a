import { pipeline } from 'node:stream/promises'
import { inflateSync } from 'node:zlib'
import type { Git } from '../../../git/git.ts'
import { batchesOf } from '../../../lib/batches.ts'
import type { LfsPointer } from '../../snapshot.ts'
import { readBlobs, recordsIn } from '../files/git-records.ts'

/** git-lfs takes nothing larger for a pointer, and nothing smaller holds a version, an oid and a size. */
const LARGEST = 1023
const SMALLEST = 100
const POINTER =
  /^version https?:\/\/\S+\r?\n(?:ext-\d+-\S+ \S+\r?\n)*oid sha256:([0-9a-f]{64})\r?\nsize (\d{1,15})(?:\r?\n|$)/

export function parsePointer(text: string): LfsPointer | undefined {
  const [, oid, size] = POINTER.exec(text) ?? []
  return oid === undefined ? undefined : { oid, size: Number(size) }
}

const isPointerSize = (size: number) => size >= SMALLEST && size <= LARGEST

/**
 * Tells, from the bytes of a repository as they go by, whether there can be a pointer in it at all: most have none, and to
 * ask git for each would take longer than the export of a small one. No packer stores a pointer as a delta, since more
 * than half of it is a hash.
 */
export class PointerWatch {
  #maySee = false
  #looks = 0

  get mayHavePointers(): boolean {
    return this.#maySee
  }

  /** A blob as it lies in a pack: its type and size, then the deflated content. */
  packed(entry: Buffer): void {
    if (this.#maySee || (entry[0]! & 0x70) !== BLOB) return
    let size = entry[0]! & 0x0f
    let at = 0
    for (let shift = 4; entry[at]! & 0x80 && shift < 32; shift += 7)
      size += (entry[++at]! & 0x7f) * 2 ** shift
    if (!isPointerSize(size)) return
    this.#looks += 1
    this.#maySee = this.#looks > MAX_LOOKS || isPointer(inflated(entry.subarray(at + 1)))
  }

  /** A loose object, inflated: `blob SIZE`, a zero byte, the content. */
  loose(object: Buffer): void {
    if (this.#maySee || object.length > LARGEST + 20) return
    const text = object.toString('latin1')
    this.#maySee = text.startsWith('blob ') && isPointer(text.slice(text.indexOf('\0') + 1))
  }
}

const BLOB = 3 << 4
/** Where there are so many small files, it is quicker to ask git. */
const MAX_LOOKS = 10_000

const isPointer = (text: string) => parsePointer(text) !== undefined

function inflated(bytes: Buffer): string {
  try {
    return inflateSync(bytes, { maxOutputLength: LARGEST }).toString('latin1')
  } catch {
    // Whether the pack is sound is for others to say.
    return ''
  }
}

const READ_AT_ONCE = 10_000
const AN_HOUR = 3_600_000

/** The pointers in the trees of these commits and tags, each once, in the order of their oids. */
export async function findPointers(
  git: Git,
  dir: string,
  heads: readonly string[],
  signal: AbortSignal,
): Promise<LfsPointer[]> {
  const found = new Map<string, LfsPointer>()
  const call = { dir, signal, timeoutMs: AN_HOUR, config: { 'core.commitGraph': 'false' } }
  for (const oids of batchesOf(await smallBlobs(git, heads, call), READ_AT_ONCE)) {
    const maxBytes = oids.length * (LARGEST + 200)
    for (const blob of await readBlobs(git, oids, { ...call, maxBytes })) {
      const pointer = blob && parsePointer(blob.toString('latin1'))
      if (pointer && pointer.size > 0) found.set(`${pointer.oid} ${pointer.size}`, pointer)
    }
  }
  return [...found.keys()].sort().map((key) => found.get(key)!)
}

/** Those that can be a pointer by their size, of all that the trees of the heads hold. */
async function smallBlobs(
  git: Git,
  heads: readonly string[],
  call: { dir: string; signal: AbortSignal; timeoutMs: number },
): Promise<string[]> {
  if (heads.length === 0) return []
  const listing = git.start(['rev-list', '--objects', '--no-walk', LIMIT, '--stdin'], call)
  // Their failure is told by git itself, when it ends.
  listing.stdin.on('error', () => {})
  listing.stdin.end(`${heads.join('\n')}\n`)
  const asking = git.start(['cat-file', `--batch-check=${FORMAT}`], call)
  const piped = pipeline(listing.stdout, asking.stdin).catch(() => {})
  const small: string[] = []
  for await (const line of recordsIn(asking.stdout, '\n')) {
    const [kind, size, oid] = line.split(' ', 3)
    if (kind === 'blob' && isPointerSize(Number(size))) small.push(oid!)
  }
  await piped
  await listing.done
  await asking.done
  return small
}

const LIMIT = `--filter=blob:limit=${LARGEST + 1}`
/** With `rest`, what follows the name of an object, its path, is no part of the name. */
const FORMAT = '%(objecttype) %(objectsize) %(objectname) %(rest)'
