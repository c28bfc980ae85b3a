import type { Shape } from '../lib/json-shape.ts'
import { parseJson } from '../lib/json-shape.ts'
import { SAID_KINDS } from './facts.ts'
import { anyRecord, SHAPES } from './record-shapes.ts'

const RECORD_FILE = /^([a-z][a-z_]*)_(\d{6})\.json$/

/** The kind of record that a file at the top of an archive holds, such as `issues`; undefined where it is no such file. */
export function kindOfFile(name: string): string | undefined {
  return RECORD_FILE.exec(name)?.[1]
}

/** The kinds that are known to occur; archives of other makers, and of times to come, may hold more. */
export const KNOWN_KINDS: ReadonlySet<string> = new Set([
  'users',
  'bots',
  'organizations',
  'teams',
  'repositories',
  ...SAID_KINDS,
  'discussions',
  'discussion_categories',
  'protected_branches',
  'attachments',
  'repository_files',
])

/** `pull_requests`, 1: 1 pull request. */
export function countInWords(kind: string, count: number): string {
  const plural = kind.replaceAll('_', ' ')
  if (count !== 1) return `${count} ${plural}`
  return `1 ${plural
    .replace(/branches$/, 'branch')
    .replace(/ies$/, 'y')
    .replace(/s$/, '')}`
}

export interface RecordsRead<T> {
  /** What there is, with its index in the file. */
  records: { index: number; value: T }[]
  /** How many the file holds, good or bad. */
  count: number
}

/** Told of each record that is not as it should be: where in the file, and why. Such a record is left out. */
export type OnInvalid = (why: string) => void

/** The records of one file: of the kinds in `SHAPES` only what is read of them, of others all. Throws where it is no list of JSON. */
export function readRecordFile(
  kind: string,
  json: string,
  onInvalid: OnInvalid,
): RecordsRead<unknown> {
  const shape = commandShape(kind)
  const understand: Shape<unknown> = (value, at) => {
    const understood = shape?.(value, at)
    return Object.hasOwn(SHAPES, kind) ? understood : value
  }
  return readList(json, understand, onInvalid)
}

/** What `shape` finds in each of a list of JSON. Throws where it is none. */
export function readList<T>(json: string, shape: Shape<T>, onInvalid: OnInvalid): RecordsRead<T> {
  const all: unknown = parseJson(json)
  if (!Array.isArray(all)) throw new Error('it is not a list of records')
  const read: RecordsRead<T> = { records: [], count: all.length }
  for (const [index, value] of all.entries()) {
    try {
      read.records.push({ index, value: shape(value, `[${index}]`) })
    } catch (error) {
      onInvalid((error as Error).message)
    }
  }
  return read
}

/** Nobody knows what a record of another kind should be. */
function commandShape(kind: string): Shape<unknown> | undefined {
  if (Object.hasOwn(SHAPES, kind)) return SHAPES[kind as keyof typeof SHAPES]
  return KNOWN_KINDS.has(kind) ? anyRecord : undefined
}
