import { Readable } from 'node:stream'
import { auditActions } from '@godwit/contract/schemas/audit-actions'
import { dateTime, EXTENSION, enumOf, string } from '@godwit/contract/schemas/schema'
import type * as wire from '@godwit/contract/schemas/types'
import { parseTime } from '@godwit/lib/parse-time'
import { InvalidRequest } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../../accounts/account.ts'
import type { AuditCursor, AuditEntry, AuditFilter } from '../../../accounts/audit-log.ts'
import { allAudit, listAudit } from '../../../accounts/audit-log.ts'
import type { Db } from '../../../db/database.ts'
import * as openapi from '../../description/operation.ts'
import { acceptedTypes } from '../../middleware/api-headers.ts'
import { type FailedLogins, requireSiteAdmin } from '../../middleware/authenticate.ts'
import { sendJsonWithEtag } from '../../middleware/json-response.ts'
import { parseCursor, parsePaging, setNextLink } from '../../middleware/pagination.ts'
import { requireViewer, type WithQuery } from '../../middleware/request.ts'
import { utcTimestamp } from '../../rendering/rendering.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'

const LINES = 'application/x-ndjson'

const FORMATS = `Newest first. With \`accept: ${LINES}\`, the response has all matching entries, one on each line. ${EXTENSION}`

const responses = {
  ...openapi.withContentType(LINES, openapi.pageResponses('audit-entry', 'audit-entries')),
  422: openapi.errorResponse('invalid-query'),
}
const routes = openapi.routes('Operator', {
  config: { alsoAccepts: [LINES], resource: 'Audit' },
  query: {
    actor: string.describe('Only actions of this login, or of `command line`.'),
    action: enumOf(auditActions).describe('Only this action.'),
    subject: string.describe('Only this subject, such as `migration 7`.'),
    since: dateTime.describe('Only entries of this time or later.'),
    until: dateTime.describe('Only entries before this time.'),
    ...openapi.CURSOR_QUERY,
  },
})({
  'admin/list-audit': {
    summary: 'List the audit log',
    description: `Every action that changed something or gave access, and refused attempts. The response is 404 for accounts that are not \`site_admin\`. ${FORMATS}`,
    responses,
  },
  'users/list-audit': {
    tags: ['Caller'],
    summary: 'List what the caller did, and what others did to what belongs to the caller',
    description: `Addresses and tokens of others are null. ${FORMATS}`,
    responses,
  },
})

type ListRequest = FastifyRequest<WithQuery>

/** Adds the audit log: all of it for site admins, and the part of their own account for everybody. */
export function addAuditRoutes(
  app: FastifyInstance,
  { db, rendering }: ServerDependencies,
  logins: FailedLogins,
): void {
  async function send(request: ListRequest, reply: FastifyReply, account?: Account) {
    const filter = { ...filterOf(request.query), account }
    if (acceptedTypes(request.headers.accept)[0] === LINES) {
      const lines = Readable.from(linesOf(db, filter))
      return reply.type(LINES).header('cache-control', 'no-store').send(lines)
    }
    const { limit } = parsePaging(request.query)
    const from = parseCursor(request.query, toAuditCursor)
    const entries = await listAudit(db, filter, { from, limit: limit + 1 })
    const next = entries[limit]
    if (next) setNextLink(reply, rendering.addresses, `${next.at}-${next.id}`)
    const body = entries.slice(0, limit).map((each) => auditEntryJson(each, account))
    return sendJsonWithEtag(reply, body, { extraEtagParts: [next?.id ?? 0] })
  }

  app.get('/admin/audit', routes['admin/list-audit'], async (request: ListRequest, reply) => {
    await requireSiteAdmin(logins, request)
    return send(request, reply)
  })
  app.get('/user/audit', routes['users/list-audit'], (request: ListRequest, reply) =>
    send(request, reply, requireViewer(request).account),
  )
}

/** Renders an entry. `viewer` is an account that sees the token and the address of its own actions only. */
export function auditEntryJson(
  { actorId, id, at, ...entry }: AuditEntry,
  viewer?: Pick<Account, 'id'>,
): wire.AuditEntry {
  const isOther = viewer !== undefined && actorId !== viewer.id
  return { id, at: utcTimestamp(at), ...entry, ...(isOther && { token: null, address: null }) }
}

async function* linesOf(db: Db, filter: AuditFilter): AsyncGenerator<string> {
  for await (const entries of allAudit(db, filter))
    yield entries
      .map((each) => `${JSON.stringify(auditEntryJson(each, filter.account))}\n`)
      .join('')
}

function filterOf(query: Record<string, unknown>): AuditFilter {
  const errors: string[] = []
  // PostgreSQL has no text with NUL.
  const isText = (value: string) => !value.includes('\0')
  const text = (field: string, isValid = isText) => {
    const value = query[field]
    if (value === undefined || value === '') return undefined
    if (typeof value === 'string' && isValid(value)) return value
    errors.push(field)
    return undefined
  }
  const time = (field: string) => {
    const parse = (value: string) => parseTime(value, { isStrict: true })
    const value = text(field, (each) => parse(each) !== undefined)
    return value === undefined ? undefined : parse(value)
  }
  const isAction = (value: string) => auditActions.some((each) => each === value)
  const filter = {
    actor: text('actor'),
    action: text('action', isAction),
    subject: text('subject'),
    since: time('since'),
    until: time('until'),
  }
  if (errors.length === 0) return filter
  throw new InvalidRequest(errors.map((field) => ({ field, code: 'invalid' })))
}

function toAuditCursor(text: unknown): AuditCursor | undefined {
  const [, at, id] = /^(\d{1,15})-(\d{1,15})$/.exec(String(text)) ?? []
  return at === undefined ? undefined : { at: Number(at), id: Number(id) }
}
