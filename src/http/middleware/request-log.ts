import type { Logger } from 'pino'

/** A completed request, as reported to the log and the metrics. */
export interface CompletedRequest {
  id: string
  method: string
  url: string
  /** The route pattern, such as `/user/migrations/:migration_id`; undefined if no route matched. */
  route: string | undefined
  status: number
  ms: number
  login: string | undefined
  ip: string
}

export type OnRequestCompleted = (request: CompletedRequest) => void

/** Matches Godwit's access tokens and clone tokens, and the tokens of Gitea and Forgejo, which look like commit hashes. */
const TOKEN = /gw[tc]_[\w-]+|[0-9a-f]{40,}/gi
const MIN_FORGE_TOKEN_LENGTH = 40

/** Logs one line for each request. Omits the query, because that of a signed link is a credential, and hides tokens in the path. */
export function requestLog(log: Logger): OnRequestCompleted {
  return ({ id, method, url, status, ms, login, ip }) => {
    const path = pathWithoutSecrets(url)
    log.info({ id, method, path, status, ms: Math.round(ms), login, from: ip }, 'request')
  }
}

function pathWithoutSecrets(url: string): string {
  const [path = ''] = url.split('?', 1)
  const mayHaveToken = path.length > MIN_FORGE_TOKEN_LENGTH || /gw[tc]_/i.test(path)
  return mayHaveToken ? path.replaceAll(TOKEN, '[hidden]') : path
}
