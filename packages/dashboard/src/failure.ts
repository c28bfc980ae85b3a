import type { ValidationError } from './api-types.ts'
import { FIELD_LABELS } from './field-labels.ts'

/** Why a request failed, with a message for people. */
export interface Failure {
  kind: 'offline' | 'unauthorized' | 'not-found' | 'limited' | 'busy' | 'refused' | 'broken'
  message: string
  /** Whether the same request succeeds after signing in again. */
  mustSignIn?: boolean
  /** The requested repositories that do not exist, or that the user may not see. */
  missing?: string[]
  /** The error message of each field that the server refused; the keys are the field names of the API. */
  fields?: Readonly<Record<string, string>>
}

type FieldError = Partial<ValidationError['errors'][number]>

/** The error that Octokit throws. */
interface ResponseError {
  status?: number
  request?: { body?: { repositories?: string[] } }
  response?: {
    headers?: Record<string, unknown>
    data?: { message?: string; errors?: FieldError[] }
  }
}

const KINDS: Record<number, Failure['kind']> = {
  401: 'unauthorized',
  403: 'limited',
  404: 'not-found',
  503: 'busy',
}

export function failureOf(error: unknown): Failure {
  const { status, request, response } = error as ResponseError
  if (!(error instanceof Error) || status === undefined) {
    return { kind: 'broken', message: error instanceof Error ? error.message : String(error) }
  }
  // Octokit sets a status, but no response, if the request did not reach the server.
  if (response === undefined) return { kind: 'offline', message: 'The server cannot be reached.' }
  if (status >= 500 && status !== 503) {
    return { kind: 'broken', message: `The server answered with an error (${status}).` }
  }
  const fieldErrors = response.data?.errors ?? []
  const nameIn = ({ field, index = -1, value }: FieldError) =>
    field === 'repositories' ? (value ?? request?.body?.repositories?.[index]) : undefined
  const messages = fieldErrors.map((each) => describe(each, nameIn(each)))
  const message = messages.length > 0 ? messages.join(' ') : response.data?.message
  // A 403 with one of these headers is a rate limit, which ends. Any other 403 stays until something is changed.
  const { 'retry-after': retryAfter, 'x-ratelimit-remaining': left } = response.headers ?? {}
  const isForbidden = status === 403 && retryAfter === undefined && left !== '0'
  const fields = fieldErrors.flatMap((each) => (each.field ? [[each.field, reasonOf(each)]] : []))
  return {
    kind: isForbidden ? 'refused' : (KINDS[status] ?? 'refused'),
    message: message ?? error.message,
    mustSignIn: response.headers?.['x-godwit-session'] !== undefined,
    missing: fieldErrors.flatMap((each) => (each.code === 'missing' ? (nameIn(each) ?? []) : [])),
    fields: Object.fromEntries(fields),
  }
}

function describe(error: FieldError, repository: string | undefined): string {
  const { message, field = '', code } = error
  if (message !== undefined) return withName(message, repository)
  if (repository === undefined)
    return `${FIELD_LABELS[field]?.label ?? (field || 'The request')}: ${reasonOf(error)}`
  if (code === 'missing') return `${repository}: it does not exist, or you may not migrate it.`
  return `${repository} is ${code === 'already_exists' ? 'named twice' : 'not valid'}.`
}

function reasonOf({ message, field = '', code }: FieldError): string {
  if (message !== undefined) return message
  return (
    FIELD_LABELS[field]?.hint ??
    (code === 'missing_field' ? 'A value is missing.' : 'The value is not valid.')
  )
}

const withName = (message: string, name = ''): string =>
  message.startsWith(name) ? message : `${name}: ${message}`

export const isAbort = (error: unknown): boolean =>
  error instanceof Error && error.name === 'AbortError'
