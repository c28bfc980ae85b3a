import { useSyncExternalStore } from 'react'

/** Where one is, kept behind the `#`: the server knows one page only. */
export type Place =
  | { page: 'migrations'; number: number }
  | { page: 'new' }
  | { page: 'migration'; id: number }
  | { page: 'service' }
  | { page: 'nowhere' }

export const to = {
  migrations: (number = 1) => (number === 1 ? '#/' : `#/page/${number}`),
  new: () => '#/new',
  migration: (id: number) => `#/migrations/${id}`,
  service: () => '#/service',
}

export function placeOf(hash: string): Place {
  const [, first = '', second = '', ...rest] = hash.replace(/^#?\/?/, '/').split('/')
  const number = /^[1-9]\d{0,14}$/.test(second) ? Number(second) : undefined
  if (rest.length > 0) return { page: 'nowhere' }
  if (first === 'migrations' && number) return { page: 'migration', id: number }
  if (first === 'page' && number) return { page: 'migrations', number }
  if (second !== '') return { page: 'nowhere' }
  if (first === '') return { page: 'migrations', number: 1 }
  return first === 'new' || first === 'service' ? { page: first } : { page: 'nowhere' }
}

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
