import { useSyncExternalStore } from 'react'

/** Where one is, kept behind the `#`: the server knows one page only. */
export type Place = Page & {
  /** The organization whose migrations are shown; undefined for one's own. */
  org?: string
}

type Page =
  | { page: 'migrations'; number: number }
  | { page: 'new' }
  | { page: 'migration'; id: number }
  | { page: 'schedules'; number: number }
  | { page: 'new-schedule' }
  | { page: 'schedule'; id: number }
  | { page: 'webhooks' }
  | { page: 'new-webhook' }
  | { page: 'webhook'; id: number }
  | { page: 'service' }
  | { page: 'repository'; owner: string; name: string }
  | { page: 'nowhere' }

export type Links = ReturnType<typeof linksOf>

/** The pages of one's own migrations, or of an organization's. */
export function linksOf(org: string | undefined) {
  const top = org === undefined ? '#' : `#/orgs/${org}`
  return {
    migrations: (number = 1) => (number === 1 ? `${top}/` : `${top}/page/${number}`),
    new: () => `${top}/new`,
    migration: (id: number) => `${top}/migrations/${id}`,
    schedules: (number = 1) =>
      number === 1 ? `${top}/schedules` : `${top}/schedules/page/${number}`,
    newSchedule: () => `${top}/schedules/new`,
    schedule: (id: number) => `${top}/schedules/${id}`,
    webhooks: () => `${top}/webhooks`,
    newWebhook: () => `${top}/webhooks/new`,
    webhook: (id: number) => `${top}/webhooks/${id}`,
    service: () => '#/service',
    repository: (fullName: string) => `#/repositories/${fullName}`,
  }
}

export function directoryOf(hash: string): Place {
  const parts = hash.replace(/^#?\/?/, '').split('/')
  const [first, org = ''] = parts
  if (first === 'repositories') return repositoryAt(parts.slice(1))
  if (first !== 'orgs' || !NAME.test(org)) return pageOf(parts)
  return { ...pageOf(parts.slice(2)), org }
}

const NAME = /^[\w.-]+$/

function repositoryAt([owner = '', name = '', ...rest]: string[]): Place {
  const isOne = NAME.test(owner) && NAME.test(name) && rest.length === 0
  return isOne ? { page: 'repository', owner, name } : { page: 'nowhere' }
}

function pageOf([first = '', second = '', third = '', ...rest]: string[]): Page {
  const number = numberIn(second)
  if (rest.length > 0) return { page: 'nowhere' }
  if (first === 'schedules' && second === 'page') {
    const page = numberIn(third)
    return page ? { page: first, number: page } : { page: 'nowhere' }
  }
  if (third !== '') return { page: 'nowhere' }
  if (first === 'migrations' && number) return { page: 'migration', id: number }
  if (first === 'schedules' && number) return { page: 'schedule', id: number }
  if (first === 'schedules' && second === 'new') return { page: 'new-schedule' }
  if (first === 'webhooks' && number) return { page: 'webhook', id: number }
  if (first === 'webhooks' && second === 'new') return { page: 'new-webhook' }
  if (first === 'page' && number) return { page: 'migrations', number }
  if (second !== '') return { page: 'nowhere' }
  if (first === '') return { page: 'migrations', number: 1 }
  if (first === 'schedules') return { page: first, number: 1 }
  return isPlain(first) ? { page: first } : { page: 'nowhere' }
}

const numberIn = (text: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined

const PLAIN = ['new', 'service', 'webhooks'] as const
type Plain = (typeof PLAIN)[number]

const isPlain = (text: string): text is Plain => (PLAIN as readonly string[]).includes(text)

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
