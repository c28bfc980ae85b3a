import { NotFound } from '../../migrations/errors.ts'

/** Returns the id in a text, or undefined if the text is not an id. */
export const parseId = (text: unknown): number | undefined =>
  typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** Returns the id in a path. Throws 404 if it is not a number. */
export const requireId = (text: string | undefined): number => requireFound(parseId(text))

/** Throws 404 if the value is undefined: it does not exist, or the caller may not see it. */
export function requireFound<T>(value: T | undefined): T {
  if (value === undefined) throw new NotFound()
  return value
}
