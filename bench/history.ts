import { createCipheriv, createHash } from 'node:crypto'

export interface HistoryShape {
  commits: number
  files: number
  /** The number of lines of every file. By default files begin with 120 lines and grow. */
  lines?: number
  /** Incompressible bytes, such as images, models or jars. */
  binaryBytes: number
  /** The number of refs besides the branch, spread over all commits. */
  refs?: number
  /** Leaves several packs, and the newest objects loose, as pushes do before git packs them together. */
  isUnpacked?: boolean
  /** Leaves the one pack of the import, without compression or deltas of files, because packing again would take many minutes. */
  isImportedOnly?: boolean
}

const BINARY_SIZES = [2000, 20_000, 80_000, 400_000, 2_000_000]
const LINES_IN_A_FILE = 120
const LINES_CHANGED = 4
const FIRST_COMMIT = 1_300_000_000
/** After these shares of the commits, a new pack begins. The last one is small enough to become loose objects. */
const CHECKPOINTS = [0.6, 0.8, 0.9, 0.97, 0.99]

/**
 * Generates the input of `git fast-import` for a history of this many commits: growing text that is edited a few
 * lines at a time, which compresses well as deltas, and occasional binary files. The same seed gives the same
 * object ids.
 */
export function* history(shape: HistoryShape, seed: string): Generator<Buffer> {
  const random = randomness(seed)
  const files = new Map<string, string[]>()
  let binaryBytes = 0
  const { commits, refs = 0, lines: newLines = LINES_IN_A_FILE } = shape
  for (let commit = 0; commit < commits; commit += 1) {
    if (shape.isUnpacked && CHECKPOINTS.some((share) => commit === Math.floor(share * commits)))
      yield Buffer.from('checkpoint\n\n')
    yield commitHeader(commit, sentence(random))
    const newFiles = Math.ceil((shape.files * (commit + 1)) / shape.commits) - files.size
    for (let made = 0; made < newFiles; made += 1) {
      const path = textPath(files.size)
      files.set(
        path,
        Array.from({ length: newLines }, () => sentence(random)),
      )
      yield fileChange(path, textOf(files.get(path)!))
    }
    for (let edits = 1 + random(5); edits > 0; edits -= 1) {
      const path = textPath(random(files.size))
      const lines = files.get(path)!
      if (shape.lines === undefined) edit(lines, random)
      else lines[random(shape.lines)] = sentence(random)
      yield fileChange(path, textOf(lines))
    }
    while (binaryBytes < (shape.binaryBytes * (commit + 1)) / shape.commits) {
      const left = shape.binaryBytes - binaryBytes
      const size = Math.min(BINARY_SIZES[random(BINARY_SIZES.length)]!, left)
      yield fileChange(`assets/${random(400)}.bin`, noise(size, `${seed} ${binaryBytes}`))
      binaryBytes += size
    }
  }
  for (let ref = 1; ref <= refs; ref += 1) {
    const commit = Math.floor((ref * (commits - 1)) / refs)
    yield Buffer.from(`reset refs/pull/${ref}/head\nfrom :${commit + 1}\n\n`)
  }
}

function commitHeader(at: number, message: string): Buffer {
  const text = `${message}\n`
  return Buffer.from(
    `commit refs/heads/main\nmark :${at + 1}\ncommitter Ada <ada@example.com> ${FIRST_COMMIT + at * 3600} +0000\n` +
      `data ${Buffer.byteLength(text)}\n${text}\n`,
  )
}

function fileChange(path: string, content: Buffer): Buffer {
  const head = `M 100644 inline ${path}\ndata ${content.length}\n`
  return Buffer.concat([Buffer.from(head), content, Buffer.from('\n')])
}

const textPath = (index: number): string =>
  `src/part-${index % 13}/module-${index % 89}/file-${index}.ts`

const textOf = (lines: string[]): Buffer => Buffer.from(`${lines.join('\n')}\n`)

function edit(lines: string[], random: Random): void {
  const at = random(lines.length)
  const fresh = Array.from({ length: 1 + random(LINES_CHANGED) }, () => sentence(random))
  lines.splice(at, fresh.length - random(2), ...fresh)
}

/** Returns an integer from 0 up to, not including, `below`. */
type Random = (below: number) => number

/** xorshift32: returns the same numbers for the same seed on every machine. */
function randomness(seed: string): Random {
  let state = createHash('md5').update(seed).digest().readUInt32LE(0) || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const WORDS = Array.from({ length: 2000 }, (_, index) => {
  const digest = createHash('md5').update(`word ${index}`).digest('hex')
  return digest.replaceAll(/\d/g, '').slice(0, 3 + (index % 7))
})

/** A few words make up most of the text, as in real files. */
function sentence(random: Random): string {
  const word = () => WORDS[random(random(WORDS.length) + 1)]!
  return Array.from({ length: 3 + random(8) }, word).join(' ')
}

function noise(length: number, seed: string): Buffer {
  const key = createHash('md5').update(seed).digest()
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length))
}
