import { isObject as isJson, type JsonObject as Json } from '../../lib/json-shape.ts'
import { toIsoTime } from '../../lib/parse-time.ts'

export { isJson, type Json }

// These return an empty value if a field is missing or has another type.
export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])
export const child = (value: unknown): Json => (isJson(value) ? value : {})

export const timeOrNull = (value: unknown): string | null => toIsoTime(text(value)) ?? null

/** Returns null unless the value is a day such as `2024-06-01`. */
export const dayOrNull = (value: unknown): string | null =>
  // A day that does not exist, such as February 30, is parsed as a later one.
  timeOrNull(value)?.slice(0, 10) === text(value) ? text(value) : null

export const integerOrNull = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null

/** Returns a field of a record. Throws an error that names the field if it is not a time. */
export const time = (record: Json, key: string): string =>
  timeOrNull(record[key]) ?? throwInvalid(record, key, 'a valid time')

/** Returns a field of a record. Throws an error that names the field if it is not a positive integer. */
export const integer = (record: Json, key: string): number =>
  integerOrNull(record[key]) ?? throwInvalid(record, key, 'a positive integer')

function throwInvalid(record: Json, key: string, expected: string): never {
  throw new Error(`${key} is not ${expected}: ${JSON.stringify(record[key])?.slice(0, 100)}`)
}

/** Returns the action of a system note, such as `closed`, or ''. */
export const actionOf = (note: Json): string =>
  note.system === true ? text(child(note.system_note_metadata).action) : ''

/** Joins the texts that are not empty. */
export const paragraphs = (...texts: (string | null)[]): string =>
  texts.filter(Boolean).join('\n\n')
