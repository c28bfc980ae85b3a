import { batchesOf } from '@godwit/lib/chunks'
import { readBlobs, walkObjects } from '../files/git-records.ts'
import { createInflater } from '../files/reused-inflater.ts'
import { type Git, type GitCall, LONG_TIMEOUT_MS } from '../git.ts'
import type { LfsPointer } from '../snapshot.ts'
import { GITHUB_LIMITS } from './importer-limits.ts'

/** git-lfs accepts no larger pointers, and a version, an oid and a size need at least the minimum. */
const MAX_POINTER_BYTES = 1023
const MIN_POINTER_BYTES = 100
const POINTER =
  /^version https?:\/\/\S+\r?\n(?:ext-\d+-\S+ \S+\r?\n)*oid sha256:([0-9a-f]{64})\r?\nsize (\d{1,15})(?:\r?\n|$)/

export function parsePointer(text: string): LfsPointer | undefined {
  const [, oid, size] = POINTER.exec(text) ?? []
  return oid === undefined ? undefined : { oid, size: Number(size) }
}

const isPointerSize = (size: number) => size >= MIN_POINTER_BYTES && size <= MAX_POINTER_BYTES

/**
 * Finds out, while the objects of a repository are read, whether it can have LFS pointers or files that are too large for GitHub. Most
 * repositories have neither, and a search with git takes longer than the export of a small repository. Not all pointers are deltas:
 * `git repack` makes none of them one, since more than half of a pointer is a hash, and `git fast-import` all but the first of a row.
 */
export class ContentDetector {
  mayHavePointers = false
  mayHaveLargeFiles = false
  #inflations = 0

  /** Checks an entry of a pack, or the beginning of a large one: type and size, then the deflated content. */
  checkPacked(entry: Buffer): void {
    let size = entry[0]! & 0x0f
    let at = 0
    for (let shift = 4; entry[at]! & 0x80 && shift < 60; shift += 7)
      size += (entry[++at]! & 0x7f) * 2 ** shift
    this.checkSize(size)
    if (this.mayHavePointers || (entry[0]! & 0x70) !== BLOB || !isPointerSize(size)) return
    this.#inflations += 1
    this.mayHavePointers =
      this.#inflations > MAX_INFLATIONS ||
      parsePointer(inflateOrEmpty(entry.subarray(at + 1))) !== undefined
  }

  checkSize(size: number): void {
    this.mayHaveLargeFiles ||= size >= MIN_BASE_OF_LARGE
  }
}

/**
 * A large file may be a delta, of which only the base is seen. `git repack` takes a base of at least half the size, which may be a delta
 * as well, and `git fast-import` the version before. Bases of files that are too large are practically never smaller than this.
 */
const MIN_BASE_OF_LARGE = GITHUB_LIMITS.file / 25

const BLOB = 3 << 4
/** With more small blobs, a search with git is faster. */
const MAX_INFLATIONS = 10_000

const inflate = createInflater(MAX_POINTER_BYTES)

function inflateOrEmpty(bytes: Buffer): string {
  try {
    return inflate(bytes).output.toString('latin1')
  } catch {
    // The check of the pack reports the damage.
    return ''
  }
}

const READ_AT_ONCE = 10_000

/** Returns the pointers in the trees of these commits and tags, without duplicates, in the order of their oids. */
export async function findPointers(
  git: Git,
  dir: string,
  heads: readonly string[],
  signal: AbortSignal,
): Promise<LfsPointer[]> {
  const found = new Map<string, LfsPointer>()
  const call = { dir, signal, timeoutMs: LONG_TIMEOUT_MS, config: { 'core.commitGraph': 'false' } }
  for (const oids of batchesOf(await listSmallBlobs(git, heads, call), READ_AT_ONCE)) {
    const maxBytes = oids.length * (MAX_POINTER_BYTES + 200)
    for (const blob of await readBlobs(git, oids, { ...call, maxBytes })) {
      const pointer = blob && parsePointer(blob.toString('latin1'))
      if (pointer && pointer.size > 0) found.set(`${pointer.oid} ${pointer.size}`, pointer)
    }
  }
  return [...found.keys()].sort().map((key) => found.get(key)!)
}

/** Lists the blobs in the trees of the heads that have the size of a pointer. */
async function listSmallBlobs(
  git: Git,
  heads: readonly string[],
  call: GitCall,
): Promise<string[]> {
  const small: string[] = []
  const walk = { tips: heads, options: ['--no-walk', LIMIT], format: FORMAT }
  for await (const line of walkObjects(git, walk, call)) {
    const [kind, size, oid] = line.split(' ', 3)
    if (kind === 'blob' && isPointerSize(Number(size))) small.push(oid!)
  }
  return small
}

const LIMIT = `--filter=blob:limit=${MAX_POINTER_BYTES + 1}`
const FORMAT = '%(objecttype) %(objectsize) %(objectname)'
