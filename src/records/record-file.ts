import type { Shape } from '../lib/json-shape.ts'
import { parseJson } from '../lib/json-shape.ts'
import { ISSUE_TRACKER_KINDS } from './facts.ts'
import { anyRecord, SHAPES } from './record-shapes.ts'

const RECORD_FILE = /^([a-z][a-z_]*)_(\d{6})\.json$/

/** Returns the kind of records in a file at the top of an archive, such as `issues`, or undefined for other files. */
export function kindOfFile(name: string): string | undefined {
  return RECORD_FILE.exec(name)?.[1]
}

/** Archives of other exporters, or future ones, may have more kinds. */
export const KNOWN_KINDS: ReadonlySet<string> = new Set([
  'users',
  'bots',
  'organizations',
  'teams',
  'repositories',
  ...ISSUE_TRACKER_KINDS,
  'discussions',
  'discussion_categories',
  'protected_branches',
  'attachments',
  'repository_files',
])

/** Returns `1 pull request` for `pull_requests` and 1. */
export function formatRecordCount(kind: string, count: number): string {
  const plural = kind.replaceAll('_', ' ')
  if (count !== 1) return `${count} ${plural}`
  return `1 ${plural
    .replace(/branches$/, 'branch')
    .replace(/ies$/, 'y')
    .replace(/s$/, '')}`
}

export interface RecordsRead<T> {
  /** The valid records, each with its index in the file. */
  records: { index: number; value: T }[]
  /** The number of records in the file, valid or not. */
  count: number
}

/** Called for each invalid record with its index, its field and the reason. The record is left out. */
export type OnInvalid = (why: string) => void

/** Reads the records of one file: the fields in `SHAPES` for these kinds, all fields for others. Throws if the file is not a JSON list. */
export function readRecordFile(
  kind: string,
  json: string,
  onInvalid: OnInvalid,
): RecordsRead<unknown> {
  const shape = shapeOf(kind)
  const read: Shape<unknown> = (value, at) => {
    const fields = shape?.(value, at)
    return Object.hasOwn(SHAPES, kind) ? fields : value
  }
  return readList(json, read, onInvalid)
}

/** Applies `shape` to each item of a JSON list. Throws if the text is not a JSON list. */
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

/** Returns undefined for an unknown kind: any record is accepted. */
function shapeOf(kind: string): Shape<unknown> | undefined {
  if (Object.hasOwn(SHAPES, kind)) return SHAPES[kind as keyof typeof SHAPES]
  return KNOWN_KINDS.has(kind) ? anyRecord : undefined
}
