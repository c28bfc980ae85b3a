import { useSyncExternalStore } from 'react'

/** The current page. It is in the fragment of the URL, because the server has only one HTML page. */
export type Route = Page & {
  /** The organization whose migrations are shown; undefined for the user's own. */
  org?: string
}

type Page =
  | { page: 'migrations'; number: number }
  | { page: 'new'; owner?: string }
  | { page: 'migration'; id: number }
  | { page: 'schedules'; number: number }
  | { page: 'new-schedule' }
  | { page: 'schedule'; id: number }
  | { page: 'webhooks' }
  | { page: 'new-webhook' }
  | { page: 'webhook'; id: number }
  | { page: 'service' }
  | { page: 'audit' }
  | { page: 'tokens' }
  | { page: 'repository'; owner: string; name: string }
  | { page: 'owner'; login: string }
  | { page: 'not-found' }

export type Links = ReturnType<typeof linksOf>

/** Returns links to the pages of an organization, or to the user's own. The pages that are the same for all keep the selection. */
export function linksOf(org: string | undefined) {
  const top = org === undefined ? '#' : `#/orgs/${org}`
  return {
    migrations: (number = 1) => (number === 1 ? `${top}/` : `${top}/page/${number}`),
    /** With an owner, the repositories of that owner are selected. */
    new: (owner?: string) => (owner === undefined ? `${top}/new` : `${top}/new/${owner}`),
    migration: (id: number) => `${top}/migrations/${id}`,
    schedules: (number = 1) =>
      number === 1 ? `${top}/schedules` : `${top}/schedules/page/${number}`,
    newSchedule: () => `${top}/schedules/new`,
    schedule: (id: number) => `${top}/schedules/${id}`,
    webhooks: () => `${top}/webhooks`,
    newWebhook: () => `${top}/webhooks/new`,
    webhook: (id: number) => `${top}/webhooks/${id}`,
    service: () => `${top}/service`,
    audit: () => `${top}/audit`,
    tokens: () => `${top}/tokens`,
    repository: (fullName: string) => `${top}/repositories/${fullName}`,
    owner: (login: string) => `${top}/owners/${login}`,
  }
}

export function parseHash(hash: string): Route {
  const parts = hash.replace(/^#?\/?/, '').split('/')
  const [first, org = ''] = parts
  if (first !== 'orgs' || !NAME.test(org)) return pageOf(parts)
  return { ...pageOf(parts.slice(2)), org }
}

const NAME = /^[\w.-]+$/

function repositoryRoute([owner = '', name = '', ...rest]: string[]): Route {
  const isValid = NAME.test(owner) && NAME.test(name) && rest.length === 0
  return isValid ? { page: 'repository', owner, name } : { page: 'not-found' }
}

function pageOf([first = '', second = '', third = '', ...rest]: string[]): Page {
  const number = parseNumber(second)
  if (first === 'repositories') return repositoryRoute([second, third, ...rest])
  if (rest.length > 0) return { page: 'not-found' }
  if (first === 'schedules' && second === 'page') {
    const page = parseNumber(third)
    return page ? { page: first, number: page } : { page: 'not-found' }
  }
  if (third !== '') return { page: 'not-found' }
  if (first === 'migrations' && number) return { page: 'migration', id: number }
  if (first === 'schedules' && number) return { page: 'schedule', id: number }
  if (first === 'schedules' && second === 'new') return { page: 'new-schedule' }
  if (first === 'webhooks' && number) return { page: 'webhook', id: number }
  if (first === 'webhooks' && second === 'new') return { page: 'new-webhook' }
  if (first === 'owners' && NAME.test(second)) return { page: 'owner', login: second }
  if (first === 'new' && NAME.test(second)) return { page: 'new', owner: second }
  if (first === 'page' && number) return { page: 'migrations', number }
  if (second !== '') return { page: 'not-found' }
  if (first === '') return { page: 'migrations', number: 1 }
  if (first === 'schedules') return { page: first, number: 1 }
  return isSimplePage(first) ? { page: first } : { page: 'not-found' }
}

/** The number of a page in a filter; 1 if it is not valid. */
export const pageNumber = (text: string): number => parseNumber(text) ?? 1

const parseNumber = (text: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined

const SIMPLE_PAGES = ['audit', 'new', 'service', 'tokens', 'webhooks'] as const
type SimplePage = (typeof SIMPLE_PAGES)[number]

const isSimplePage = (text: string): text is SimplePage =>
  (SIMPLE_PAGES as readonly string[]).includes(text)

function subscribe(onChange: () => void): () => void {
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

const pageInHash = (): string => location.hash.split('?')[0] ?? ''
const filtersInHash = (): string => location.hash.split('?')[1] ?? ''

/** Returns the fragment of the URL without the filters of its page. */
export const useHash = (): string => useSyncExternalStore(subscribe, pageInHash)

/**
 * The filters of a page, which are in its URL so that a reload and a link keep them. A filter that has its default value is left out. The
 * returned function changes some of them without an entry in the history.
 */
export function useFilters<T extends Record<string, string>>(
  defaults: T,
): [T, (some: Partial<T>) => void] {
  const given = new URLSearchParams(useSyncExternalStore(subscribe, filtersInHash))
  const entries = Object.entries(defaults).map(([name, value]) => [name, given.get(name) ?? value])
  function change(some: Partial<T>): void {
    const next = new URLSearchParams(filtersInHash())
    for (const [name, value] of Object.entries(some))
      if (value === defaults[name]) next.delete(name)
      else next.set(name, value)
    const page = pageInHash() || '#/'
    history.replaceState(history.state, '', next.size === 0 ? page : `${page}?${next}`)
    dispatchEvent(new HashChangeEvent('hashchange'))
  }
  return [Object.fromEntries(entries) as T, change]
}

export function goTo(hash: string): void {
  location.hash = hash
}
