import { inspect } from 'node:util'

/** Takes a value out of parsed JSON or throws a ShapeWrong; `at` says where in the document it stands. */
export type Shape<T> = (value: unknown, at: string) => T

class ShapeWrong extends Error {
  override name = 'ShapeWrong'

  constructor(at: string, expected: string, found: unknown) {
    super(`${at || 'the document'} is not ${expected}: ${excerptOf(found)}`)
  }
}

const MAX_SHOWN = 100
const BRIEF = {
  depth: 0,
  maxStringLength: MAX_SHOWN,
  maxArrayLength: 10,
  breakLength: Number.POSITIVE_INFINITY,
}

/** The beginning of a value. Nothing else of it is formatted: of 200,000 invalid records, each may be large. */
function excerptOf(found: unknown): string {
  const isObject = typeof found === 'object' && found !== null && !Array.isArray(found)
  const some = isObject ? Object.fromEntries(Object.entries(found).slice(0, 10)) : found
  return inspect(some, BRIEF).slice(0, MAX_SHOWN)
}

/** An object with whatever fields. */
export const anyObject: Shape<Record<string, unknown>> = (value, at) => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new ShapeWrong(at, 'an object', value)
}

/** An object with exactly these fields. */
export function object<T extends object>(fields: { [K in keyof T]: Shape<T[K]> }): Shape<T> {
  const known = new Set(Object.keys(fields))
  return (value, at) => {
    const found = anyObject(value, at)
    const field = (key: string) => (at ? `${at}.${key}` : key)
    const read = [...known].map((key) => {
      return [key, fields[key as keyof T](found[key], field(key))]
    })
    const extra = Object.entries(found).find(([key]) => !known.has(key))
    if (extra) throw new ShapeWrong(field(extra[0]), 'a known field', extra[1])
    return Object.fromEntries(read) as T
  }
}

/** An object with these fields, of which some may be absent. */
export function objectWith<T extends object>(
  fields: { [K in keyof Partial<T>]: Shape<T[K]> },
  optional: { [K in keyof T as undefined extends T[K] ? K : never]-?: Shape<NonNullable<T[K]>> },
): Shape<T> {
  return (value, at) => {
    const isThere = ([key]: [string, unknown]) =>
      (value as Record<string, unknown> | null)?.[key] !== undefined
    const present = Object.fromEntries(Object.entries(optional).filter(isThere))
    return object<T>({ ...fields, ...present } as { [K in keyof T]: Shape<T[K]> })(value, at)
  }
}

export function list<T>(item: Shape<T>): Shape<T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) throw new ShapeWrong(at, 'a list', value)
    return value.map((each, index) => item(each, `${at}[${index}]`))
  }
}

export function oneOf<const T>(...allowed: T[]): Shape<T> {
  return (value, at) => {
    const found = allowed.find((each) => each === value)
    if (found === undefined)
      throw new ShapeWrong(at, allowed.map((a) => inspect(a)).join(' or '), value)
    return found
  }
}

export function text(expected: string, fits: (value: string) => boolean): Shape<string> {
  return (value, at) => {
    if (typeof value !== 'string' || !fits(value)) throw new ShapeWrong(at, expected, value)
    return value
  }
}

/** A text that says something else, which `parse` finds out; undefined where it cannot. */
export function parsed<T>(expected: string, parse: (value: string) => T | undefined): Shape<T> {
  return (value, at) => {
    const found = typeof value === 'string' ? parse(value) : undefined
    if (found === undefined) throw new ShapeWrong(at, expected, value)
    return found
  }
}

/** A whole number from 0 up to and including `max`. */
export function count(max = Number.MAX_SAFE_INTEGER): Shape<number> {
  return (value, at) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max) {
      throw new ShapeWrong(at, `a whole number from 0 to ${max}`, value)
    }
    return value
  }
}

/** No two have the same key. */
export function distinct<T>(shape: Shape<T[]>, keyOf: (value: T) => string): Shape<T[]> {
  return (value, at) => {
    const items = shape(value, at)
    const seen = new Set<string>()
    for (const [index, item] of items.entries()) {
      const key = keyOf(item)
      if (seen.has(key)) throw new ShapeWrong(`${at}[${index}]`, 'named once', key)
      seen.add(key)
    }
    return items
  }
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value, at) => (value === null ? null : shape(value, at))
}

const MAX_VALUES = 10_000_000
const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b]

/** JSON of others' making: what is mostly brackets would take minutes and all memory, and is refused unread. */
export function parseJson(text: string): unknown {
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === COMMA || code === BRACKET || code === BRACE) values++
  }
  if (values > MAX_VALUES) throw new Error(`it holds more than ${MAX_VALUES} values`)
  return JSON.parse(text)
}
