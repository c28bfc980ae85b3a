import type { ValidationError } from '../wire/types.ts'
import { RequestRejected, ServerBusy, ServerError, ServerUnreachable } from './errors.ts'
import { secondsToWait } from './send-request.ts'

/** The request that failed, for the error message. */
export interface FailedRequest {
  url: string
  /** The message for status 404: what is missing, and what to do about it. */
  missing: string
  /** The `repositories` that were sent: validation errors refer to them by index. */
  repositories?: readonly string[]
}

/** The error that Octokit throws for a response with an error status. */
interface ResponseError {
  status: number
  response: { data: unknown; headers: Record<string, string> }
}

/** The pause after a 429 that does not say how long to wait. */
const DEFAULT_RETRY_AFTER_S = 60

/** Converts an error of Octokit to an error of this client with a message for people. Returns any other error unchanged. */
export function explainError(error: unknown, request: FailedRequest): unknown {
  const cause = error instanceof Error && error.cause
  if (cause instanceof ServerUnreachable || cause instanceof RequestRejected) return cause
  if (!isResponseError(error)) return error
  const { status, response } = error
  const options = { cause: error }
  const isServerError = status >= 500
  const headers = new Headers(response.headers)
  const defaultSeconds = isServerError ? undefined : DEFAULT_RETRY_AFTER_S
  const seconds = secondsToWait({ status, headers }, defaultSeconds)
  if (seconds !== undefined) {
    const message = isServerError
      ? describeServerError(request, error)
      : `${request.url} limits the rate of requests: ${messageIn(response.data)}. Try again in ${formatSeconds(seconds)}`
    return new ServerBusy(status, seconds, message, options)
  }
  if (isServerError) return new ServerError(status, describeServerError(request, error), options)
  return new RequestRejected(status, describeRejection(request, status, response.data), options)
}

/** Returns undefined if the response does not ask to retry later. For responses that Octokit does not read. */
export function busyErrorOf(response: Response, server: string): ServerBusy | undefined {
  const { status } = response
  const seconds = secondsToWait(response, undefined)
  if (seconds === undefined) return undefined
  const message = `${server} responded ${status} and asks the client to wait ${formatSeconds(seconds)}`
  return new ServerBusy(status, seconds, message)
}

const isResponseError = (error: unknown): error is ResponseError =>
  error instanceof Error && 'status' in error && 'response' in error && Boolean(error.response)

function describeServerError(
  { url }: FailedRequest,
  { status, response: { data, headers } }: ResponseError,
): string {
  const id = Object.entries(headers).find(([name]) => /^x-.*request-id$/.test(name))?.[1]
  const requestId = id ? `; request ID ${id}` : ''
  return `the server at ${url} failed: ${status} ${messageIn(data)}${requestId}. Try again later`
}

function describeRejection(request: FailedRequest, status: number, data: unknown): string {
  const { url, missing } = request
  const message = messageIn(data)
  if (status === 401)
    return `${url} does not accept the token (${message}): log in again with \`godwit auth login\`, or give a valid one with --token-file or GODWIT_TOKEN`
  if (status === 404) return missing
  if (status === 415) return `${url} does not accept the media type (${message}): check --vendor`
  if (status === 422)
    return `${url} rejected the request: ${message}${validationErrors(data, request.repositories ?? [])}`
  return `${url} rejected the request (${status}): ${message}`
}

/** The body may be an HTML page of a proxy instead of the API's JSON. */
function messageIn(data: unknown): string {
  const message = (data as { message?: unknown } | null)?.message
  if (typeof message !== 'string') return 'no error message'
  return message.replace(/\s+/g, ' ').replace(/\.$/, '')
}

/** Servers other than Godwit have further codes. */
type FieldError = Partial<Omit<ValidationError['errors'][number], 'code'>> & { code?: string }

function validationErrors(data: unknown, repositories: readonly string[]): string {
  const errors = (data as { errors?: unknown } | null)?.errors
  if (!Array.isArray(errors)) return ''
  return errors
    .map((error: unknown) => {
      if (typeof error === 'string') return `\n  ${error.replace(/\s+/g, ' ')}`
      const { field, code, index, message } = asFieldError(error)
      const repository = field === 'repositories' && index !== undefined && repositories[index]
      const subject = repository || [field, index].filter((each) => each !== undefined).join(' ')
      const problem = message ?? describeCode(code, Boolean(repository))
      return `\n  ${[subject, problem].filter(Boolean).join(': ')}`
    })
    .join('')
}

/** Omits fields of unexpected types. */
function asFieldError(error: unknown): FieldError {
  const fields = Object.entries(typeof error === 'object' && error !== null ? error : {})
  const valid = fields.filter(
    ([name, value]) => typeof value === (name === 'index' ? 'number' : 'string'),
  )
  return Object.fromEntries(valid)
}

function describeCode(code: string | undefined, isRepository: boolean): string {
  if (isRepository && (code === 'invalid' || code === 'missing'))
    return 'this account may not migrate this repository, or it does not exist'
  return (code ?? '').replaceAll('_', ' ')
}

const formatSeconds = (seconds: number) =>
  seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
