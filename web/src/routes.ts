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

/** Returns links to the pages of an organization, or to the user's own. */
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
    service: () => '#/service',
    audit: () => '#/audit',
    tokens: () => '#/tokens',
    repository: (fullName: string) => `#/repositories/${fullName}`,
    owner: (login: string) => `#/owners/${login}`,
  }
}

export function parseHash(hash: string): Route {
  const parts = hash.replace(/^#?\/?/, '').split('/')
  const [first, org = ''] = parts
  if (first === 'repositories') return repositoryRoute(parts.slice(1))
  if (first === 'owners' && NAME.test(org) && parts.length === 2)
    return { page: 'owner', login: org }
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
  if (first === 'new' && NAME.test(second)) return { page: 'new', owner: second }
  if (first === 'page' && number) return { page: 'migrations', number }
  if (second !== '') return { page: 'not-found' }
  if (first === '') return { page: 'migrations', number: 1 }
  if (first === 'schedules') return { page: first, number: 1 }
  return isSimplePage(first) ? { page: first } : { page: 'not-found' }
}

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

export function useHash(): string {
  return useSyncExternalStore(subscribe, () => location.hash)
}

export function goTo(hash: string): void {
  location.hash = hash
}
