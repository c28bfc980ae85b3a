/** Why something that was asked did not come about, in words for people. */
export interface Failure {
  kind: 'offline' | 'unauthorized' | 'not-found' | 'limited' | 'busy' | 'refused' | 'broken'
  message: string
}

interface Complaint {
  field?: string
  code?: string
  message?: string
}

interface Refusal {
  status?: number
  response?: { data?: { message?: string; errors?: Complaint[] } }
}

const KINDS: Record<number, Failure['kind']> = {
  401: 'unauthorized',
  403: 'limited',
  404: 'not-found',
  503: 'busy',
}

export function failureOf(error: unknown): Failure {
  const { status, response } = error as Refusal
  if (!(error instanceof Error) || status === undefined) {
    return { kind: 'broken', message: error instanceof Error ? error.message : String(error) }
  }
  // Octokit gives a status to what never reached the server too, but no response.
  if (response === undefined) return { kind: 'offline', message: 'The server cannot be reached.' }
  if (status >= 500 && status !== 503) {
    return { kind: 'broken', message: `The server answered with an error (${status}).` }
  }
  const complaints = (response.data?.errors ?? []).map(describe)
  const message = complaints.length > 0 ? complaints.join(' ') : response.data?.message
  return { kind: KINDS[status] ?? 'refused', message: message ?? error.message }
}

function describe({ message, field = 'The request', code }: Complaint): string {
  return message ?? `${field} is ${code === 'missing_field' ? 'missing' : 'not valid'}.`
}

export const isAbort = (error: unknown): boolean =>
  error instanceof Error && error.name === 'AbortError'
