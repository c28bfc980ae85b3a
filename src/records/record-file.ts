import type { Shape } from '../lib/json-shape.ts'
import { parseJson } from '../lib/json-shape.ts'
import { ISSUE_TRACKER_KINDS } from './facts.ts'
import { anyRecord, SHAPES } from './record-shapes.ts'

const RECORD_FILE = /^([a-z][a-z_]*)_(\d{6})\.json$/

/** Returns the kind of records in a file, such as `issues` for `issues_000001.json`, or undefined for other files. */
export function kindOfFile(name: string): string | undefined {
  return RECORD_FILE.exec(name)?.[1]
}

/** The kinds of records that this server knows. Archives of other exporters or of future versions may have more. */
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

/** Formats a number of records, such as `1 pull request` or `2 pull requests` for the kind `pull_requests`. */
export function formatRecordCount(kind: string, count: number): string {
  const plural = kind.replaceAll('_', ' ')
  if (count !== 1) return `${count} ${plural}`
  return `1 ${plural
    .replace(/branches$/, 'branch')
    .replace(/ies$/, 'y')
    .replace(/s$/, '')}`
}

export interface RecordFileContent<T> {
  /** The valid records, each with its index in the file. */
  records: { index: number; value: T }[]
  /** The number of records in the file, valid or not. */
  count: number
}

/** Called for each invalid record, which is left out. The message contains its index, the field and the reason. */
export type OnInvalid = (message: string) => void

/**
 * Reads and validates the records of one file. Records of a kind in `SHAPES` are reduced to the fields of its shape; others keep all
 * fields. Throws if the file is not a JSON list.
 */
export function readRecordFile(
  kind: string,
  json: string,
  onInvalid: OnInvalid,
): RecordFileContent<unknown> {
  const shape = shapeOf(kind)
  const readRecord: Shape<unknown> = (value, at) => {
    const fields = shape?.(value, at)
    return Object.hasOwn(SHAPES, kind) ? fields : value
  }
  return readList(json, readRecord, onInvalid)
}

/** Applies `shape` to each item of a JSON list. Throws if the text is not a JSON list. */
export function readList<T>(
  json: string,
  shape: Shape<T>,
  onInvalid: OnInvalid,
): RecordFileContent<T> {
  const items: unknown = parseJson(json)
  if (!Array.isArray(items)) throw new Error('it is not a list of records')
  const read: RecordFileContent<T> = { records: [], count: items.length }
  for (const [index, value] of items.entries()) {
    try {
      read.records.push({ index, value: shape(value, `[${index}]`) })
    } catch (error) {
      onInvalid((error as Error).message)
    }
  }
  return read
}

/** Returns the shape that validates records of this kind, or undefined for an unknown kind, whose records are not validated. */
function shapeOf(kind: string): Shape<unknown> | undefined {
  if (Object.hasOwn(SHAPES, kind)) return SHAPES[kind as keyof typeof SHAPES]
  return KNOWN_KINDS.has(kind) ? anyRecord : undefined
}
