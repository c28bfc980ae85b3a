import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { SignInUnavailable } from '../../accounts/forge-sign-in.ts'
import { BlobsUnavailable } from '../../blobs/blob-store.ts'
import { isPostgresUnavailable } from '../../db/postgres-unavailable.ts'
import { GitFailed } from '../../git/git-end.ts'
import { codeOf } from '../../lib/errno.ts'
import { type Fault, InvalidRequest, NotFound } from '../../migrations/errors.ts'
import { AccountRemoved } from '../../repositories/refresh-rights.ts'
import { RightsUnavailable } from '../../repositories/rights-unavailable.ts'
import { Unreadable } from '../../sources/unreadable.ts'
import { WebhookLimitReached } from '../../webhooks/webhook.ts'
import type * as wire from '../../wire/types.ts'
import {
  diskFull,
  HttpError,
  rightsUnavailable,
  signInUnavailable,
  unavailable,
} from './http-errors.ts'
import { sendJson } from './json-response.ts'
import { ClientGone } from './response-stream.ts'

type Resource = NonNullable<Fault['resource']>

interface ErrorResponse {
  status: number
  body: Pick<wire.ApiError, 'message'> & Partial<Pick<wire.ValidationError, 'errors'>>
}

const RETRY_AFTER_SECONDS = 10
/** A longer list helps nobody, and would make a large response of a small request. */
const MAX_FAULTS = 20

/** Turns every error into the JSON that GitHub's API has for errors. No other code writes error responses of the API. */
export function errorHandler(documentation: string, log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, body } = prepareErrorResponse(error, log, request, reply)
    sendJson(reply, { ...body, documentation_url: documentation, status: String(status) } satisfies
      | wire.ApiError
      | wire.ValidationError)
  }
}

/** Turns errors into plain text for git, which shows each line after `remote: `, and asks for credentials at 401. */
export function gitErrorHandler(log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, body } = prepareErrorResponse(error, log, request, reply)
    if (status === 401) reply.header('www-authenticate', 'Basic realm="Godwit", charset="UTF-8"')
    // The client may still be sending a body that nobody reads.
    if (!request.raw.complete) reply.header('connection', 'close')
    reply.type('text/plain; charset=utf-8').send(`${body.message}\n`)
  }
}

/** Logs an unexpected error, and sets the status and `retry-after` of its response. */
function prepareErrorResponse(
  error: FastifyError,
  log: Logger,
  request: FastifyRequest,
  reply: FastifyReply,
): ErrorResponse {
  const { resource = 'Migration' } = request.routeOptions.config ?? {}
  const response = errorResponse(error, resource)
  const { status } = response
  // The code that calls the forge has logged why it failed.
  const isLogged =
    error instanceof HttpError ||
    error instanceof SignInUnavailable ||
    error instanceof RightsUnavailable
  if (status >= 500 && !isLogged) log.error({ err: error, id: request.id }, 'request failed')
  if (status === 503 || status === 429) reply.header('retry-after', RETRY_AFTER_SECONDS)
  reply.code(status)
  return response
}

function errorResponse(error: FastifyError, resource: Resource): ErrorResponse {
  if (error instanceof HttpError) return httpError(error)
  if (error instanceof SignInUnavailable) return httpError(signInUnavailable())
  if (error instanceof RightsUnavailable) return httpError(rightsUnavailable())
  if (error instanceof AccountRemoved)
    return { status: 403, body: { message: `${error.message}.` } }
  // Nobody reads this response: the log and the metrics show the status.
  if (error instanceof ClientGone) return { status: 499, body: { message: error.message } }
  if (error instanceof NotFound) return { status: 404, body: { message: 'Not Found' } }
  if (error instanceof InvalidRequest) return validationFailed(error.faults, resource)
  if (error instanceof Unreadable)
    return validationFailed([{ code: 'unprocessable', message: error.message }], resource)
  if (error instanceof WebhookLimitReached)
    return validationFailed([{ code: 'custom', message: error.message }], resource)
  if (error.validation)
    return validationFailed(error.validation.slice(0, MAX_FAULTS).map(faultOf), resource)
  if (isDiskFull(error)) return httpError(diskFull())
  if (isTemporary(error)) return httpError(unavailable())
  const { statusCode = 500, message } = error
  return statusCode < 500
    ? { status: statusCode, body: { message } }
    : { status: 500, body: { message: 'Server Error' } }
}

const httpError = ({ status, message }: HttpError): ErrorResponse => ({ status, body: { message } })

function validationFailed(faults: Fault[], resource: Resource): ErrorResponse {
  const errors = faults.slice(0, MAX_FAULTS).map((fault) => ({ resource, ...fault }))
  return { status: 422, body: { message: 'Validation Failed', errors } }
}

/** For `/repositories/3` the invalid field is `repositories`, index 3; for `/config/url` it is `url`. */
function faultOf({ params, instancePath }: NonNullable<FastifyError['validation']>[number]): Fault {
  const { missingProperty } = params
  if (typeof missingProperty === 'string') return { field: missingProperty, code: 'missing_field' }
  const [, field = '', child] = instancePath.split('/')
  if (child === undefined) return { field, code: 'invalid' }
  return /^\d+$/.test(child)
    ? { field, code: 'invalid', index: Number(child) }
    : { field: child, code: 'invalid' }
}

/** Errors of the host rather than of the request: no disk space, no file handles, a broken disk, an unreachable host. */
const TEMPORARY_CODES = new Set([
  ...['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'],
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND'],
  ...['EAI_AGAIN', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
])

/** Primary result codes of SQLite: busy, locked, out of memory, read-only, input/output, full, cannot open. */
const TEMPORARY_SQLITE_CODES = new Set([5, 6, 7, 8, 10, 13, 14])

const SQLITE_FULL = 13
/** 53100 is PostgreSQL's disk_full. */
const DISK_FULL_CODES = new Set(['ENOSPC', 'EDQUOT', '53100'])

/** Whether a disk of this host or of the database is full. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { errcode } = error as { errcode?: unknown }
  const isSqliteFull = typeof errcode === 'number' && (errcode & 0xff) === SQLITE_FULL
  return isSqliteFull || DISK_FULL_CODES.has(codeOf(error) ?? '') || isDiskFull(error.cause)
}

/** Whether a failure of the host may pass, so that a later request may succeed. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // One permanent error among several makes all of them permanent.
  if (error instanceof AggregateError)
    return error.errors.length > 0 && error.errors.every(isTemporary)
  // The error that started the cleanup matters more than the error of the cleanup.
  if (error instanceof SuppressedError) return isTemporary(error.suppressed)
  const { errcode, syscall } = error as { errcode?: unknown; syscall?: unknown }
  if (typeof errcode === 'number') return TEMPORARY_SQLITE_CODES.has(errcode & 0xff)
  // A failed connect is temporary whatever its code: the file of a socket may be missing (ENOENT).
  if (syscall === 'connect' || TEMPORARY_CODES.has(codeOf(error) ?? '')) return true
  if (isPostgresUnavailable(error)) return true
  return error instanceof GitFailed || error instanceof BlobsUnavailable || isTemporary(error.cause)
}

/**
 * Answers requests that Node cannot parse. They reach neither a route nor Fastify, so the response is written by hand. If a complete
 * request came before on the same connection, the connection ends after its response: the client would take an error for it.
 */
export function malformedRequests(documentation: string) {
  const latest = new WeakMap<Socket, { request: IncomingMessage; response: ServerResponse }>()

  return {
    /** Remembers the latest request of each connection. */
    watch(server: Server): void {
      server.on('request', (request, response) => latest.set(request.socket, { request, response }))
    },

    clientErrorHandler(error: ConnectionError, socket: Socket): void {
      if (error.code === 'ECONNRESET' || socket.destroyed) return
      const { request, response } = latest.get(socket) ?? {}
      if (request?.complete && !response!.writableFinished) {
        response!.once('close', () => socket.destroy())
        return
      }
      if (socket.writable) socket.write(malformedResponse(error.code, documentation))
      socket.destroy()
    },
  }
}

const PARSER_ERRORS: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Content Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
}

function malformedResponse(code: string, documentation: string): string {
  const [status, message] = PARSER_ERRORS[code] ?? [400, 'Bad Request']
  const body = JSON.stringify({ message, documentation_url: documentation, status: String(status) })
  return [
    `HTTP/1.1 ${status} ${message}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
