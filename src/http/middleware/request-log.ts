import type { Logger } from 'pino'

/** A request that has been answered, as it is logged and counted. */
export interface Answered {
  id: string
  method: string
  url: string
  /** Its pattern, never its path; undefined where no route is. */
  route: string | undefined
  status: number
  ms: number
  login: string | undefined
  ip: string
}

export type NoteAnswered = (answered: Answered) => void

/** Ours, those to clone with, and those of a Gitea or Forgejo. */
const STRAY_TOKEN = /gw[tc]_[\w-]+|[0-9a-f]{40,}/gi
const SHORTEST_FORGE_TOKEN = 40

/**
 * One line a request. The query is left out, a signed link's credential is in it; so is a token that strayed into a path.
 */
export function requestLog(log: Logger): NoteAnswered {
  return ({ id, method, url, status, ms, login, ip }) => {
    const path = withoutSecrets(url)
    log.info({ id, method, path, status, ms: Math.round(ms), login, from: ip }, 'request')
  }
}

function withoutSecrets(url: string): string {
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  const isSuspect = path.length > SHORTEST_FORGE_TOKEN || /gw[tc]_/i.test(path)
  return isSuspect ? path.replaceAll(STRAY_TOKEN, '[hidden]') : path
}
