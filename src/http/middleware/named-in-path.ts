import { NotFound } from '../../migrations/errors.ts'

/** Undefined where it is no number that could be an id. */
export const numberIn = (text: unknown): number | undefined =>
  typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** The id that a path names. One that is no number names nothing. */
export const idIn = (text: string | undefined): number => found(numberIn(text))

/** What was looked for, if it is there and the caller may know of it. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new NotFound()
  return value
}
