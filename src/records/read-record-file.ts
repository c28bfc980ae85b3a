import type { Shape } from '../ground/json-shape.ts'
import { parseJson } from '../ground/parse-json.ts'
import { KNOWN_KINDS } from './record-file.ts'
import { anyRecord, SHAPES } from './record-shapes.ts'

export interface RecordsRead<T> {
  /** What there is, with its index in the file. */
  records: { index: number; value: T }[]
  /** How many the file holds, good or bad. */
  count: number
  /** One for each record that is not as it should be: where in the file, and why. Such a record is left out. */
  warnings: string[]
}

/** The records of one file: of the kinds in `SHAPES` only what is read of them, of others all. Throws where it is no list of JSON. */
export function readRecordFile(kind: string, json: string): RecordsRead<unknown> {
  const shape = shapeOf(kind)
  return readList(json, (value, at) => {
    const understood = shape?.(value, at)
    return Object.hasOwn(SHAPES, kind) ? understood : value
  })
}

/** What `shape` finds in each of a list of JSON. Throws where it is none. */
export function readList<T>(json: string, shape: Shape<T>): RecordsRead<T> {
  const all: unknown = parseJson(json)
  if (!Array.isArray(all)) throw new Error('it is not a list of records')
  const read: RecordsRead<T> = { records: [], count: all.length, warnings: [] }
  for (const [index, value] of all.entries()) {
    try {
      read.records.push({ index, value: shape(value, `[${index}]`) })
    } catch (error) {
      read.warnings.push((error as Error).message)
    }
  }
  return read
}

/** Nobody knows what a record of another kind should be. */
function shapeOf(kind: string): Shape<unknown> | undefined {
  if (Object.hasOwn(SHAPES, kind)) return SHAPES[kind as keyof typeof SHAPES]
  return KNOWN_KINDS.has(kind) ? anyRecord : undefined
}
