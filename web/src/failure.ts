import type { ValidationError } from './wire.ts'

/** Why something that was asked did not come about, in words for people. */
export interface Failure {
  kind: 'offline' | 'unauthorized' | 'not-found' | 'limited' | 'busy' | 'refused' | 'broken'
  message: string
  /** Of the repositories that were asked for, those that do not exist for whoever asks. */
  missing?: string[]
}

type Complaint = Partial<ValidationError['errors'][number]>

/** As Octokit throws it. */
interface Refusal {
  status?: number
  request?: { body?: { repositories?: string[] } }
  response?: { data?: { message?: string; errors?: Complaint[] } }
}

const KINDS: Record<number, Failure['kind']> = {
  401: 'unauthorized',
  403: 'limited',
  404: 'not-found',
  503: 'busy',
}

export function failureOf(error: unknown): Failure {
  const { status, request, response } = error as Refusal
  if (!(error instanceof Error) || status === undefined) {
    return { kind: 'broken', message: error instanceof Error ? error.message : String(error) }
  }
  // Octokit gives a status to what never reached the server too, but no response.
  if (response === undefined) return { kind: 'offline', message: 'The server cannot be reached.' }
  if (status >= 500 && status !== 503) {
    return { kind: 'broken', message: `The server answered with an error (${status}).` }
  }
  const complaints = response.data?.errors ?? []
  const nameIn = ({ field, index = -1, value }: Complaint) =>
    field === 'repositories' ? (value ?? request?.body?.repositories?.[index]) : undefined
  const words = complaints.map((each) => describe(each, nameIn(each)))
  const message = words.length > 0 ? words.join(' ') : response.data?.message
  return {
    kind: KINDS[status] ?? 'refused',
    message: message ?? error.message,
    missing: complaints.flatMap((each) => (each.code === 'missing' ? (nameIn(each) ?? []) : [])),
  }
}

function describe(complaint: Complaint, repository: string | undefined): string {
  const { message, field = 'The request', code } = complaint
  if (message !== undefined) return withName(message, repository)
  if (repository === undefined)
    return `${field} is ${code === 'missing_field' ? 'missing' : 'not valid'}.`
  if (code === 'missing') return `${repository}: it does not exist, or you may not migrate it.`
  return `${repository} is ${code === 'already_exists' ? 'named twice' : 'not valid'}.`
}

const withName = (message: string, name = ''): string =>
  message.startsWith(name) ? message : `${name}: ${message}`

export const isAbort = (error: unknown): boolean =>
  error instanceof Error && error.name === 'AbortError'
