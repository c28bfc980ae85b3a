import { anyObject, oneOf, type Shape, text } from '../lib/json-shape.ts'
import { BEGINNING_OF_TIME } from './fact.ts'

export const anyText: Shape<string> = text('a text', () => true)
export const address: Shape<string> = text('an address', (value) => URL.canParse(value))
export const flag: Shape<boolean> = oneOf(true, false)

/** Some write null for what they do not know. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, at) => (value === undefined || value === null ? undefined : shape(value, at))
}

/** Null, and what is not there, are `otherwise`. */
export function orElse<T, E>(shape: Shape<T>, otherwise: E): Shape<T | E> {
  return (value, at) => (value === undefined || value === null ? otherwise : shape(value, at))
}

/** What is not there is undefined, but null is null. */
export function ifSaid<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, at) => (value === undefined ? undefined : shape(value, at))
}

export const textOrNull = orElse(anyText, null)
export const timeOrNone = orElse(anyText, BEGINNING_OF_TIME)

export type FieldsOf = <T>(key: string, shape: Shape<T>) => T

/** Takes the fields of a record one by one; the others may be there or not. */
export function fieldsOf(value: unknown, at: string): FieldsOf {
  const record = anyObject(value, at)
  return (key, shape) => shape(record[key], at ? `${at}.${key}` : key)
}

/** A part of a record that has a form of its own. */
export function part<T>(read: (field: FieldsOf) => T): Shape<T> {
  return (value, at) => read(fieldsOf(value, at))
}
