import type { Shape } from '../lib/json-shape.ts'
import { isFactKind, type OnInvalid, readList } from './read-records.ts'
import { anyRecord, SHAPES } from './record-shapes.ts'

const RECORD_FILE = /^([a-z][a-z_]*)_(\d{6})\.json$/

/** Returns the kind of records in a file, such as `issues` for `issues_000001.json`, or undefined for other files. */
export function kindOfFile(name: string): string | undefined {
  return RECORD_FILE.exec(name)?.[1]
}

/**
 * Reads and validates the records of one file. Records of a kind in `SHAPES` are reduced to the fields of its shape; others keep all
 * fields. Throws if the file is not a JSON array.
 */
export function readRecordFile(kind: string, json: string, onInvalid: OnInvalid) {
  return readList(json, shapeOf(kind), onInvalid)
}

/** Archives of other exporters or of future versions may have unknown kinds, whose records are not validated. */
function shapeOf(kind: string): Shape<unknown> {
  if (Object.hasOwn(SHAPES, kind)) return SHAPES[kind as keyof typeof SHAPES]
  return (value, at) => {
    if (isFactKind(kind)) anyRecord(value, at)
    return value
  }
}
