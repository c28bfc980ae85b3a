import { textUpToNul } from './read-tar-header.ts'
import { ArchiveNotSupported } from './unreadable-archive.ts'

/** What a pax header says of an entry that counts here; what it says besides is ignored. */
export interface PaxFacts {
  path?: string
  size?: number
  /** Epoch milliseconds. */
  modifiedAt?: number
}

const SPACE = 0x20
const EQUALS = 0x3d
const NEWLINE = 0x0a

/** Throws an Error where the records are malformed, and ArchiveNotSupported for a sparse file. */
export function parsePax(content: Buffer): PaxFacts {
  const facts: PaxFacts = {}
  for (const [key, value] of paxRecords(content)) {
    if (key.startsWith('GNU.sparse.') || key === 'SCHILY.realsize')
      throw new ArchiveNotSupported('it holds a sparse file')
    // An empty value takes back what was said before.
    if (key === 'path') assign(facts, 'path', value.length > 0 ? textUpToNul(value) : undefined)
    else if (key === 'size') assign(facts, 'size', sizeOf(value))
    else if (key === 'mtime') assign(facts, 'modifiedAt', timeOf(value))
  }
  return facts
}

function assign<K extends keyof PaxFacts>(facts: PaxFacts, key: K, value: PaxFacts[K]): void {
  if (value === undefined) delete facts[key]
  else facts[key] = value
}

/** Each is `LENGTH KEY=VALUE\n`, where the length counts all of it. */
function* paxRecords(content: Buffer): Generator<[key: string, value: Buffer]> {
  for (let start = 0; start < content.length; ) {
    // Some writers fill the record up with zeros.
    if (content.subarray(start).every((byte) => byte === 0)) return
    const space = content.indexOf(SPACE, start)
    const digits = content.toString('latin1', start, space === -1 ? start : space)
    const end = start + Number(digits)
    const equals = content.indexOf(EQUALS, space)
    const isWhole =
      /^\d{1,9}$/.test(digits) &&
      end <= content.length &&
      equals !== -1 &&
      equals < end &&
      content[end - 1] === NEWLINE
    if (!isWhole) throw new Error('a pax header is malformed')
    yield [content.toString('utf8', space + 1, equals), content.subarray(equals + 1, end - 1)]
    start = end
  }
}

function sizeOf(value: Buffer): number | undefined {
  if (value.length === 0) return undefined
  const digits = value.toString('latin1')
  const size = Number(digits)
  if (!/^\d+$/.test(digits)) throw new Error('a size in a pax header is malformed')
  if (!Number.isSafeInteger(size)) throw new Error('a size in a pax header is too large')
  return size
}

/** Seconds, with a fraction at times; whole seconds are what a tar without pax holds. */
function timeOf(value: Buffer): number | undefined {
  if (value.length === 0) return undefined
  const seconds = Number(value.toString('latin1'))
  if (!Number.isFinite(seconds)) throw new Error('a time in a pax header is malformed')
  return Math.max(0, Math.floor(seconds)) * 1000
}
