import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { ForgeUnavailable } from '../../accounts/forge-sign-in.ts'
import { type Fault, InvalidRequest, NotFound } from '../../migrations/errors.ts'
import { ForgeUnreachable } from '../../repositories/forge-unreachable.ts'
import { AccountRemoved } from '../../repositories/refresh-rights.ts'
import { Unreadable } from '../../sources/unreadable.ts'
import { WebhookLimitReached } from '../../webhooks/webhook.ts'
import type * as wire from '../../wire/types.ts'
import { answer } from './json-answer.ts'
import {
  diskFull,
  HttpError,
  rightsUnavailable,
  signInUnavailable,
  unavailable,
} from './refusals.ts'
import { ClientGone } from './taking-client.ts'
import { isDiskFull, isTemporary } from './temporary-errors.ts'

type Resource = NonNullable<Fault['resource']>

type ErrorBody = Pick<wire.ApiError, 'message'> & Partial<Pick<wire.ValidationError, 'errors'>>

const RETRY_AFTER_SECONDS = 10
/** More would help nobody, and make a large answer of a small request. */
const MAX_FAULTS = 20

/** Every refusal, whoever made it, becomes the wire's own shape here and nowhere else. */
export function errorHandler(documentation: string, log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, body } = answerAndLog(error, log, request, reply)
    const about = { documentation_url: documentation, status: String(status) }
    const sent: wire.ApiError | wire.ValidationError = { ...body, ...about }
    answer(reply, sent)
  }
}

/** The same for git, which shows its user what is plain text, each line behind `remote: `, and asks for credentials at 401. */
export function gitErrorHandler(log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, body } = answerAndLog(error, log, request, reply)
    if (status === 401) reply.header('www-authenticate', 'Basic realm="Godwit", charset="UTF-8"')
    // Whoever is refused may still be sending, and nobody reads that.
    if (!request.raw.complete) reply.header('connection', 'close')
    reply.type('text/plain; charset=utf-8').send(`${body.message}\n`)
  }
}

function answerAndLog(
  error: FastifyError,
  log: Logger,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { resource = 'Migration' } = request.routeOptions.config ?? {}
  const { status, body } = answerTo(error, resource)
  const isOurs = status >= 500 && !isOfForge(error) && !(error instanceof HttpError)
  if (isOurs) log.error({ err: error, id: request.id }, 'request failed')
  if (status === 503 || status === 429) reply.header('retry-after', RETRY_AFTER_SECONDS)
  reply.code(status)
  return { status, body }
}

/** Whoever asked it has told the log why. */
const isOfForge = (error: Error): boolean =>
  error instanceof ForgeUnavailable || error instanceof ForgeUnreachable

function answerTo(error: FastifyError, resource: Resource): { status: number; body: ErrorBody } {
  if (error instanceof HttpError) return { status: error.status, body: { message: error.message } }
  if (error instanceof ForgeUnavailable) return answerTo(signInUnavailable() as never, resource)
  if (error instanceof ForgeUnreachable) return answerTo(rightsUnavailable() as never, resource)
  if (error instanceof AccountRemoved)
    return { status: 403, body: { message: `${error.message}.` } }
  // Nobody reads this answer: the log and the metrics show the status.
  if (error instanceof ClientGone) return { status: 499, body: { message: error.message } }
  if (error instanceof NotFound) return { status: 404, body: { message: 'Not Found' } }
  if (error instanceof InvalidRequest) return invalid(error.faults, resource)
  // What was asked is written down and done later, if the repository allows it then.
  if (error instanceof Unreadable) {
    return invalid([{ code: 'unprocessable', message: error.message }], resource)
  }
  if (error instanceof WebhookLimitReached)
    return invalid([{ code: 'custom', message: error.message }], resource)
  if (error.validation) {
    return invalid(error.validation.slice(0, MAX_FAULTS).map(faultOf), resource)
  }
  if (isDiskFull(error)) return { status: 503, body: { message: diskFull().message } }
  if (isTemporary(error)) return { status: 503, body: { message: unavailable().message } }
  const status = error.statusCode ?? 500
  return status < 500
    ? { status, body: { message: error.message } }
    : { status: 500, body: { message: 'Server Error' } }
}

function invalid(faults: Fault[], resource: Resource): { status: number; body: ErrorBody } {
  const errors = faults.slice(0, MAX_FAULTS).map((fault) => ({ resource, ...fault }))
  return { status: 422, body: { message: 'Validation Failed', errors } }
}

/** `/repositories/3` must be string → the fourth of `repositories` is invalid; `/config/url` → `url` is. */
function faultOf(complaint: NonNullable<FastifyError['validation']>[number]): Fault {
  const { missingProperty } = complaint.params
  if (typeof missingProperty === 'string') return { field: missingProperty, code: 'missing_field' }
  const [, field = '', below] = complaint.instancePath.split('/')
  if (below === undefined) return { field, code: 'invalid' }
  return /^\d+$/.test(below)
    ? { field, code: 'invalid', index: Number(below) }
    : { field: below, code: 'invalid' }
}
