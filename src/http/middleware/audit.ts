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
