import type { ValidationError } from '../wire/types.ts'
import { RequestRejected, ServerBusy, ServerError, ServerUnreachable } from './errors.ts'
import { secondsToWait } from './send-request.ts'

/** What a refusal is to be told in terms of. */
export interface Request {
  url: string
  /** What 404 means here, and what to do about it. */
  missing: string
  /** What was sent as `repositories`: complaints come with a place in that list. */
  repositories?: readonly string[]
}

/** What Octokit throws for an answer that is none of 2xx. */
interface Answered {
  status: number
  response: { data: unknown; headers: Record<string, string> }
}

const A_MINUTE_S = 60

/** What went wrong with a request, in words that a person can act on. Anything else is returned as it is. */
export function explainError(error: unknown, request: Request): unknown {
  if (error instanceof Error && error.cause instanceof ServerUnreachable) return error.cause
  if (!isAnswered(error)) return error
  const { status, response } = error
  const options = { cause: error }
  const isFailure = status >= 500
  const headers = new Headers(response.headers)
  const seconds = secondsToWait({ status, headers }, isFailure ? undefined : A_MINUTE_S)
  if (seconds !== undefined) {
    const words = isFailure ? failed(request, error) : busy(request, response.data, seconds)
    return new ServerBusy(status, seconds, words, options)
  }
  if (isFailure) return new ServerError(status, failed(request, error), options)
  return new RequestRejected(status, refusal(request, status, response.data), options)
}

/** The same of an answer that did not come by Octokit, where it asks to come back later. */
export function readRetryAfter(
  { status, headers }: Response,
  place: string,
): ServerBusy | undefined {
  const seconds = secondsToWait({ status, headers }, undefined)
  if (seconds === undefined) return undefined
  const words = `${place} answers ${status} and asks to wait ${inWords(seconds)}`
  return new ServerBusy(status, seconds, words)
}

const isAnswered = (error: unknown): error is Answered =>
  error instanceof Error && 'status' in error && 'response' in error && Boolean(error.response)

function failed({ url }: Request, { status, response: { data, headers } }: Answered): string {
  const id = Object.entries(headers).find(([name]) => /^x-.*request-id$/.test(name))?.[1]
  const known = id ? `; request ID ${id}` : ''
  return `the server at ${url} failed: ${status} ${said(data)}${known}. Try again later`
}

const busy = ({ url }: Request, data: unknown, seconds: number): string =>
  `${url} refuses more requests for now: ${said(data)}. Try again in ${inWords(seconds)}`

function refusal(request: Request, status: number, data: unknown): string {
  const { url, missing } = request
  switch (status) {
    case 401:
      return `${url} does not accept the token (${said(data)}): give a valid one with --token-file or GODWIT_TOKEN; on a Godwit server create one with \`godwit token add LOGIN\``
    case 404:
      return missing
    case 415:
      return `${url} does not accept the media type (${said(data)}): check --vendor`
    case 422:
      return `${url} refuses: ${said(data)}${complaints(data, request.repositories ?? [])}`
    default:
      return `${url} refuses with ${status}: ${said(data)}`
  }
}

/** Whatever is no JSON of this API is a page of something else. */
function said(data: unknown): string {
  const message = (data as { message?: unknown } | null)?.message
  if (typeof message !== 'string') return 'no error message'
  return message.replace(/\s+/g, ' ').replace(/\.$/, '')
}

/** Other servers have other codes. */
type Complaint = Partial<Omit<ValidationError['errors'][number], 'code'>> & { code?: string }

function complaints(data: unknown, repositories: readonly string[]): string {
  const { errors } = data as { errors?: unknown }
  if (!Array.isArray(errors)) return ''
  return errors
    .map((error: unknown) => {
      if (typeof error === 'string') return `\n  ${error.replace(/\s+/g, ' ')}`
      const { field, code, index, message } = complaintOf(error)
      const named = field === 'repositories' && index !== undefined && repositories[index]
      const what = named || [field, index].filter((each) => each !== undefined).join(' ')
      return `\n  ${[what, message ?? meaning(code, Boolean(named))].filter(Boolean).join(': ')}`
    })
    .join('')
}

/** What is no text or number there says nothing. */
function complaintOf(error: unknown): Complaint {
  const said = Object.entries(typeof error === 'object' && error !== null ? error : {})
  const plain = said.filter(
    ([name, value]) => typeof value === (name === 'index' ? 'number' : 'string'),
  )
  return Object.fromEntries(plain)
}

function meaning(code: string | undefined, isRepository: boolean): string {
  if (isRepository && (code === 'invalid' || code === 'missing'))
    return 'this account may not migrate this repository, or it does not exist'
  return (code ?? '').replaceAll('_', ' ')
}

const inWords = (seconds: number) =>
  seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
