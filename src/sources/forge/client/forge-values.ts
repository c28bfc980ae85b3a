import { type Author, UNKNOWN_TIME } from '../../../records/fact.ts'

/**
 * Reads single fields of a forge's JSON. A field that is missing or has another type counts as empty. Versions of Gitea and Forgejo
 * differ in the fields they send, and one unexpected field must not stop an export. For this reason the responses are not checked
 * against a schema (`src/wire/schema.ts`), which could only accept or reject each one as a whole.
 */
export type JsonObject = Record<string, unknown>

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the body of a response if it is an object, otherwise an empty object. */
export const objectOf = (body: unknown): JsonObject => (isObject(body) ? body : {})

export const stringIn = (object: JsonObject, name: string): string => {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}

export const stringOrNull = (object: JsonObject, name: string): string | null =>
  stringIn(object, name) || null

export const integerIn = (object: JsonObject, name: string): number => {
  const value = object[name]
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0
}

export const booleanIn = (object: JsonObject, name: string): boolean => object[name] === true

export const objectIn = (object: JsonObject, name: string): JsonObject | undefined => {
  const value = object[name]
  return isObject(value) ? value : undefined
}

export const objectsIn = (object: JsonObject, name: string): JsonObject[] => {
  const value = object[name]
  return Array.isArray(value) ? value.filter(isObject) : []
}

export const stringsIn = (object: JsonObject, name: string): string[] => {
  const value = object[name]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/**
 * Returns a time in UTC, as archives have it; forges use the time zone of their server. Go writes the year 1 for a time that is not
 * set, and Gitea writes 1970 for one that it never knew. Both are null.
 */
export function timeOrNull(object: JsonObject, name: string): string | null {
  const time = Date.parse(stringIn(object, name))
  return Number.isNaN(time) || time <= 0 ? null : new Date(time).toISOString().replace('.000Z', 'Z')
}

/** Returns a required time, or UNKNOWN_TIME if the forge does not know it. */
export const timeIn = (object: JsonObject, name: string): string =>
  timeOrNull(object, name) ?? UNKNOWN_TIME

/** The login of a deleted account. Gitea sends null for it, or `Ghost` with the id -1. */
export const GHOST = 'ghost'

export function loginOf(user: JsonObject | undefined): string {
  if (!user) return GHOST
  const login = stringIn(user, 'login') || stringIn(user, 'username')
  return !login || integerIn(user, 'id') === -1 ? GHOST : login
}

/** Versions differ in which of the two fields they send. */
export const organizationLogin = (organization: JsonObject): string =>
  stringIn(organization, 'username') || stringIn(organization, 'name')

export const authorIn = (object: JsonObject, name: string): Author =>
  loginOf(objectIn(object, name))

/** Returns the SHA of a commit, or null if the field is not a full SHA. */
export const commitIn = (object: JsonObject, name: string): string | null => {
  const sha = stringIn(object, name)
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(sha) ? sha : null
}
