import { parseJson, type Shape } from '../lib/json-shape.ts'
import { type FactKind, type FactsByKind, RECORDS } from './fact-kinds.ts'

/** Returns whether facts can be read from records of this kind. */
export function isFactKind(kind: string): kind is FactKind {
  return Object.hasOwn(RECORDS, kind)
}

/**
 * Reads the fact of one record, from any exporter and any host. Throws an error that names the invalid field. `at` is the
 * position of the record, such as `[3]`.
 */
export function readFact<K extends FactKind>(kind: K, record: unknown, at = ''): FactsByKind[K] {
  return (RECORDS[kind] as Shape<unknown>)(record, at) as FactsByKind[K]
}

/** Called for each invalid record, which is left out. The message contains its index, the field and the reason. */
export type OnInvalid = (message: string) => void

/** Reads the facts of one file. Throws if the file is not a JSON array, and calls `onInvalid` for each invalid record. */
export function readFacts<K extends FactKind>(kind: K, json: string, onInvalid: OnInvalid) {
  return readList(json, (record, at) => readFact(kind, record, at), onInvalid)
}

/** Applies `shape` to each element of a JSON array. Returns the valid ones, and how many there are in all. Throws if it is no array. */
export function readList<T>(json: string, shape: Shape<T>, onInvalid: OnInvalid) {
  const items: unknown = parseJson(json)
  if (!Array.isArray(items)) throw new Error('not a JSON array')
  const records: { index: number; value: T }[] = []
  withoutStackTraces(() => {
    for (const [index, value] of items.entries()) {
      try {
        records.push({ index, value: shape(value, `[${index}]`) })
      } catch (error) {
        onInvalid((error as Error).message)
      }
    }
  })
  return { records, count: items.length }
}

/**
 * Runs synchronous code whose errors need no stack trace. Measured: reading an invalid record takes 2 µs instead of 6 µs, and an archive
 * may have millions of them.
 */
function withoutStackTraces(run: () => void): void {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    run()
  } finally {
    Error.stackTraceLimit = limit
  }
}
