import type { Shape } from '../archive/json-shape.ts'
import { parseJson } from '../archive/parse-json.ts'
import { KNOWN_KINDS } from './record-file.ts'
import { anyRecord, SHAPES } from './record-shapes.ts'

export interface RecordFile {
  /** What there is, with its index in the file; of the kinds in `SHAPES` only what was read of it, of others all. */
  records: { index: number; value: unknown }[]
  /** How many the file holds, good or bad. */
  count: number
  /** One for each record that is not as it should be: where in the file, and why. Such a record is left out. */
  warnings: string[]
}

/** The records of one file. Throws where it is no list of JSON. */
export function readRecordFile(kind: string, json: string): RecordFile {
  const all: unknown = parseJson(json)
  if (!Array.isArray(all)) throw new Error('it is not a list of records')
  const read: RecordFile = { records: [], count: all.length, warnings: [] }
  const shape = shapeOf(kind)
  for (const [index, value] of all.entries()) {
    try {
      const understood = shape?.(value, `[${index}]`)
      read.records.push({ index, value: Object.hasOwn(SHAPES, kind) ? understood : value })
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
