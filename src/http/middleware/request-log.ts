import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Migration } from '../../migrations/migration.ts'
import { viewerOf } from './authenticate.ts'

/** Logs a change to a migration: who made it, with which token. */
export function audit(
  log: Logger,
  request: FastifyRequest,
  action: string,
  { id, guid, owner }: Migration,
): void {
  auditAction(log, request, action, { migration: id, guid, owner: owner.login })
}

/** Logs a change to anything else. */
export function auditAction(
  log: Logger,
  request: FastifyRequest,
  action: string,
  details: Record<string, unknown>,
): void {
  const { account, tokenId } = viewerOf(request)
  const by = { login: account.login, tokenId, from: request.ip }
  log.info({ audit: action, id: request.id, ...by, ...details }, action)
}

/** An answered request, as the log and the metrics see it. */
export interface Answered {
  id: string
  method: string
  url: string
  /** The pattern of the route, such as `/user/migrations/:migration_id`; undefined if no route matched. */
  route: string | undefined
  status: number
  ms: number
  login: string | undefined
  ip: string
}

export type OnAnswered = (answered: Answered) => void

/** Access tokens, clone tokens, and tokens of Gitea and Forgejo. */
const TOKEN = /gw[tc]_[\w-]+|[0-9a-f]{40,}/gi
const MIN_FORGE_TOKEN_LENGTH = 40

/** Logs one line for each request, without its query (it has the credential of a signed link) and without tokens in its path. */
export function requestLog(log: Logger): OnAnswered {
  return ({ id, method, url, status, ms, login, ip }) => {
    const path = pathWithoutSecrets(url)
    log.info({ id, method, path, status, ms: Math.round(ms), login, from: ip }, 'request')
  }
}

function pathWithoutSecrets(url: string): string {
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  const mayHaveToken = path.length > MIN_FORGE_TOKEN_LENGTH || /gw[tc]_/i.test(path)
  return mayHaveToken ? path.replaceAll(TOKEN, '[hidden]') : path
}
