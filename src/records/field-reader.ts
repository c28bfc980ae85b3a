import { anyObject, list, oneOf, type Shape, text } from '../lib/json-shape.ts'
import { UNKNOWN_TIME } from './fact.ts'

export const anyString: Shape<string> = text('a string', () => true)
export const anyUrl: Shape<string> = text('a URL', (value) => URL.canParse(value))
export const anyBoolean: Shape<boolean> = oneOf(true, false)

/** Accepts an absent or null field and returns `otherwise` for it. */
export function withDefault<T, D>(shape: Shape<T>, otherwise: D): Shape<T | D> {
  return (value, at) => (value == null ? otherwise : shape(value, at))
}

/** Accepts an absent or null field and returns undefined for it. */
export const optional = <T>(shape: Shape<T>) => withDefault(shape, undefined)

/** Accepts an absent or null list and returns an empty one for it. */
export const listOrEmpty = <T>(item: Shape<T>) => withDefault<T[], T[]>(list(item), [])

/** Accepts an absent field and returns undefined for it. Null is passed to the shape. */
export function ifPresent<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, at) => (value === undefined ? undefined : shape(value, at))
}

export const stringOrNull = withDefault(anyString, null)
export const booleanOrFalse = withDefault(anyBoolean, false)
export const timeOrUnknown = withDefault(anyString, UNKNOWN_TIME)

/** Validates a field of a record and returns its value. */
export type FieldReader = <T>(key: string, shape: Shape<T>) => T

/** Returns a function that validates single fields of a record. Fields that are not requested are ignored. */
export function fieldReader(value: unknown, at: string): FieldReader {
  const record = anyObject(value, at)
  return (key, shape) => shape(record[key], at ? `${at}.${key}` : key)
}

/** Returns the shape of an object, given a function that reads its fields. */
export function objectOf<T>(read: (field: FieldReader) => T): Shape<T> {
  return (value, at) => read(fieldReader(value, at))
}
