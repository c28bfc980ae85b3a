import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type * as wire from '@godwit/contract/schemas/types'
import { GitFailed } from '@godwit/git/git-process'
import { Unreadable } from '@godwit/git/unreadable'
import { isDiskFull } from '@godwit/lib/disk-errors'
import { codeOf } from '@godwit/lib/errno'
import { type FieldError, InvalidRequest, NotFound } from '@godwit/lib/request-errors'
import type { ConnectionError, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { ForgeTokenRefused, SignInUnavailable } from '../../accounts/forge-sign-in.ts'
import { BlobsUnavailable } from '../../blobs/blob-store.ts'
import { isPostgresUnavailable } from '../../db/postgres-unavailable.ts'
import { DataNotWritable } from '../../migrations/start-migration.ts'
import { PermissionsUnavailable } from '../../repositories/permissions-unavailable.ts'
import { AccountRemoved } from '../../repositories/refresh-permissions.ts'
import { HttpError, unavailable } from './http-errors.ts'
import { sendJson } from './json-response.ts'
import { ClientDisconnected } from './response-stream.ts'

type Resource = NonNullable<FieldError['resource']>

interface ErrorResponse {
  status: number
  message: string
  retryAfter?: number | undefined
  errors?: wire.ValidationError['errors']
}

const RETRY_AFTER_SECONDS = 10
/** A longer list would not help the caller, and a small request could cause a large response. */
const MAX_FIELD_ERRORS = 20

/** Returns the error handler of the API, which converts every error to JSON in GitHub's format. */
export function errorHandler(documentation: string, log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, message, errors } = prepareErrorResponse(error, log, request, reply)
    sendJson(reply, {
      message,
      ...(errors && { errors }),
      documentation_url: documentation,
      status: String(status),
    } satisfies wire.ApiError | wire.ValidationError)
  }
}

/** Logs the error if it is unexpected, sets the status and `retry-after`, and returns the response. */
export function prepareErrorResponse(
  error: FastifyError,
  log: Logger,
  request: FastifyRequest,
  reply: FastifyReply,
): ErrorResponse {
  const { resource = 'Migration' } = request.routeOptions.config ?? {}
  const response = errorResponse(error, resource)
  const { status } = response
  const retryAfter = status === 503 || status === 429 ? RETRY_AFTER_SECONDS : response.retryAfter
  // An HttpError is thrown on purpose. Failures of the forge are logged by the code that calls it.
  const isExpected =
    error instanceof HttpError ||
    error instanceof SignInUnavailable ||
    error instanceof PermissionsUnavailable
  if (status >= 500 && !isExpected) log.error({ err: error, id: request.id }, 'request failed')
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  reply.code(status)
  return response
}

function errorResponse(error: FastifyError, resource: Resource): ErrorResponse {
  if (error instanceof HttpError) return error
  if (error instanceof SignInUnavailable)
    return tryLater('The forge does not respond, and only it knows whose token this is.')
  if (error instanceof PermissionsUnavailable)
    return tryLater('The forge does not respond, and only it knows what you may do.')
  if (error instanceof ForgeTokenRefused) return { status: 403, message: error.message }
  if (error instanceof AccountRemoved) return { status: 403, message: `${error.message}.` }
  // Nobody receives this response. The status is for the log and the metrics.
  if (error instanceof ClientDisconnected) return { status: 499, message: error.message }
  if (error instanceof NotFound) return { status: 404, message: 'Not Found' }
  if (error instanceof InvalidRequest) return validationFailed(error.errors, resource)
  if (error instanceof Unreadable)
    return validationFailed([{ code: 'unprocessable', message: error.message }], resource)
  if (error.validation)
    return validationFailed(error.validation.slice(0, MAX_FIELD_ERRORS).map(toFieldError), resource)
  if (isDiskFull(error)) return tryLater('The server has no disk space left, so nothing was done.')
  if (error instanceof DataNotWritable)
    return tryLater('The server cannot write its data, so nothing was started.')
  if (isTemporary(error)) return unavailable()
  const { statusCode = 500, message } = error
  return statusCode < 500
    ? { status: statusCode, message }
    : { status: 500, message: 'Server Error' }
}

const tryLater = (reason: string): ErrorResponse => ({
  status: 503,
  message: `${reason} Please try again later.`,
})

function validationFailed(fieldErrors: FieldError[], resource: Resource): ErrorResponse {
  const errors = fieldErrors.slice(0, MAX_FIELD_ERRORS).map((error) => ({ resource, ...error }))
  return { status: 422, message: 'Validation Failed', errors }
}

/** Converts a schema error. For `/repositories/3` the invalid field is `repositories`, index 3; for `/config/url` it is `url`. */
function toFieldError({
  params,
  instancePath,
}: NonNullable<FastifyError['validation']>[number]): FieldError {
  const { missingProperty } = params
  if (typeof missingProperty === 'string') return { field: missingProperty, code: 'missing_field' }
  const [, field = '', child] = instancePath.split('/')
  if (child === undefined) return { field, code: 'invalid' }
  return /^\d+$/.test(child)
    ? { field, code: 'invalid', index: Number(child) }
    : { field: child, code: 'invalid' }
}

/** Errors that the machine or the network causes, not the request: a full or broken disk, no file handles, an unreachable host. */
const TEMPORARY_CODES = new Set([
  ...['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'],
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND'],
  ...['EAI_AGAIN', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
])

/** Primary result codes of SQLite: busy, locked, out of memory, read-only, I/O error, full, cannot open. */
const TEMPORARY_SQLITE_CODES = new Set([5, 6, 7, 8, 10, 13, 14])

/** Returns whether the error is not the fault of the request, so that the same request may succeed later. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // One permanent error among several makes all of them permanent.
  if (error instanceof AggregateError)
    return error.errors.length > 0 && error.errors.every(isTemporary)
  // `suppressed` is the original error; the other one was thrown while cleaning up after it.
  if (error instanceof SuppressedError) return isTemporary(error.suppressed)
  const { errcode, syscall } = error as { errcode?: unknown; syscall?: unknown }
  if (typeof errcode === 'number') return TEMPORARY_SQLITE_CODES.has(errcode & 0xff)
  // A failed connect is temporary whatever its code. For example, the file of a Unix socket may be missing (ENOENT).
  if (syscall === 'connect' || TEMPORARY_CODES.has(codeOf(error) ?? '')) return true
  if (isPostgresUnavailable(error)) return true
  return error instanceof GitFailed || error instanceof BlobsUnavailable || isTemporary(error.cause)
}

/**
 * Responds to requests that Node cannot parse. These do not reach Fastify, so the response is written to the socket. If an earlier
 * request on the same connection has no response yet, no error is sent, because the client would take it for that response. The
 * connection is then closed after the response.
 */
export function malformedRequestHandler(documentation: string) {
  const latest = new WeakMap<Socket, ServerResponse>()

  return {
    /** Records the response to the latest request of each connection. */
    watch(server: Server): void {
      server.on('request', (request, response) => latest.set(request.socket, response))
    },

    clientErrorHandler(error: ConnectionError, socket: Socket): void {
      if (error.code === 'ECONNRESET' || socket.destroyed) return
      const response = latest.get(socket)
      if (response?.req.complete && !response.writableFinished) {
        response.once('close', () => socket.destroy())
        return
      }
      if (socket.writable) socket.write(formatMalformedResponse(error.code, documentation))
      socket.destroy()
    },
  }
}

const PARSER_ERRORS: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Content Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
}

function formatMalformedResponse(code: string, documentation: string): string {
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
