import { type Author, BEGINNING_OF_TIME } from '../../../records/fact.ts'
import type { Entry } from './forge-pages.ts'

/** Fields of a forge's answers: what is missing or of another type counts as not said. */
export const textIn = (entry: Entry, name: string): string => {
  const value = entry[name]
  return typeof value === 'string' ? value : ''
}

export const textOrNull = (entry: Entry, name: string): string | null => textIn(entry, name) || null

export const numberIn = (entry: Entry, name: string): number => {
  const value = entry[name]
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0
}

export const flagIn = (entry: Entry, name: string): boolean => entry[name] === true

export const entryIn = (entry: Entry, name: string): Entry | undefined => {
  const value = entry[name]
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Entry)
    : undefined
}

export const entryListIn = (entry: Entry, name: string): Entry[] => {
  const value = entry[name]
  return Array.isArray(value)
    ? value.filter((each): each is Entry => typeof each === 'object' && each !== null)
    : []
}

export const textsIn = (entry: Entry, name: string): string[] => {
  const value = entry[name]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/**
 * In UTC, as archives have it: a forge tells times in the zone of its server. Go writes the year 1 for a time that is not set, Gitea
 * 1970 for one that it never knew.
 */
export function timeOrNull(entry: Entry, name: string): string | null {
  const said = textIn(entry, name)
  const at = Date.parse(said)
  return Number.isNaN(at) || at <= 0 ? null : new Date(at).toISOString().replace('.000Z', 'Z')
}

/** Of what must have a time; the beginning of time where the forge knows none. */
export const timeIn = (entry: Entry, name: string): string =>
  timeOrNull(entry, name) ?? BEGINNING_OF_TIME

/** Who an account is that is gone: Gitea says nobody, or `Ghost` with a number below zero. */
export const GHOST = 'ghost'

export function loginOf(user: Entry | undefined): string {
  if (!user) return GHOST
  const login = textIn(user, 'login') || textIn(user, 'username')
  return !login || numberIn(user, 'id') === -1 ? GHOST : login
}

/** Of an organization, under whichever name a version has it. */
export const organizationLogin = (organization: Entry): string =>
  textIn(organization, 'username') || textIn(organization, 'name')

export const authorIn = (entry: Entry, name: string): Author => loginOf(entryIn(entry, name))

const SHA = /^([0-9a-f]{40}|[0-9a-f]{64})$/

/** A commit's full name, or null. */
export const commitIn = (entry: Entry, name: string): string | null => {
  const said = textIn(entry, name)
  return SHA.test(said) ? said : null
}
