export type Json = Record<string, unknown>

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])
export const child = (value: unknown): Json => (isJson(value) ? value : {})

/** Throws an error that names the field. */
export function time(record: Json, key: string): string {
  const value = record[key]
  if (typeof value === 'string' && !Number.isNaN(Date.parse(value))) return value
  throw new Error(`${key} is not a valid time: ${JSON.stringify(value)?.slice(0, 100)}`)
}

export const timeOrNull = (value: unknown): string | null =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : null

export function integer(record: Json, key: string): number {
  const value = record[key]
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number
  throw new Error(`${key} is not a number: ${JSON.stringify(value)?.slice(0, 100)}`)
}

/** The commit of a merge request whose commits are not known. */
export const NO_COMMIT = '0'.repeat(40)
