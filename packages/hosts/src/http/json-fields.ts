import { type Author, UNKNOWN_TIME } from '@godwit/archive/records/record'
import { isObject, type JsonObject } from '@godwit/lib/json-shape'

/**
 * Reads single fields of a host's JSON. A field that is missing or has another type counts as empty. Versions of Gitea and Forgejo
 * differ in the fields they send, and one unexpected field must not stop an export. For this reason the responses are not checked
 * against a schema (`packages/contract/src/schemas/schema.ts`), which could only accept or reject each one as a whole.
 */
export type Json = JsonObject

/** Returns the body of a response if it is an object, otherwise an empty object. */
export const objectOf = (body: unknown): Json => (isObject(body) ? body : {})

export const string = (entry: Json, name: string): string =>
  typeof entry[name] === 'string' ? entry[name] : ''

export const stringOrNull = (entry: Json, name: string): string | null =>
  string(entry, name) || null

export const integer = (entry: Json, name: string): number =>
  Number.isSafeInteger(entry[name]) ? (entry[name] as number) : 0

export const boolean = (entry: Json, name: string): boolean => entry[name] === true

export const object = (entry: Json, name: string): Json | undefined =>
  isObject(entry[name]) ? entry[name] : undefined

const list = (entry: Json, name: string): unknown[] =>
  Array.isArray(entry[name]) ? entry[name] : []

export const objects = (entry: Json, name: string): Json[] => list(entry, name).filter(isObject)

export const strings = (entry: Json, name: string): string[] =>
  list(entry, name).filter((each) => typeof each === 'string')

/**
 * Returns a time in UTC, as archives have it; hosts use the time zone of their server. Go writes the year 1 for a time that is not
 * set, and Gitea writes 1970 for one that it never knew. Both are null.
 */
export function timeOrNull(entry: Json, name: string): string | null {
  const time = Date.parse(string(entry, name))
  return Number.isNaN(time) || time <= 0 ? null : new Date(time).toISOString().replace('.000Z', 'Z')
}

/** Returns a required time, or UNKNOWN_TIME if the host does not know it. */
export const time = (entry: Json, name: string): string => timeOrNull(entry, name) ?? UNKNOWN_TIME

/** The login of a deleted account. Gitea sends null for it, or `Ghost` with the id -1. */
export const GHOST = 'ghost'

export function loginOf(user: Json | undefined): string {
  if (!user) return GHOST
  const login = string(user, 'login') || string(user, 'username')
  return !login || integer(user, 'id') === -1 ? GHOST : login
}

/** Versions differ in which of the two fields they send. */
export const organizationLogin = (organization: Json): string =>
  string(organization, 'username') || string(organization, 'name')

export const author = (entry: Json, name: string): Author => loginOf(object(entry, name))

/** Returns the SHA of a commit, or null if the field is not a full SHA. */
export const commit = (entry: Json, name: string): string | null => {
  const sha = string(entry, name)
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(sha) ? sha : null
}
