import { setTimeout as sleep } from 'node:timers/promises'
import { ServerUnreachable } from './errors.ts'
import type { RequestOptions, Server } from './server.ts'

const MAX_WAITS = 4
const LONGEST_WAIT_S = 120

/** As fetch is; `onWait` is told of the pauses of this request, beside whoever is told of all. */
export type Send = (
  input: string | URL | Request,
  init?: RequestInit & Partial<Pick<RequestOptions, 'onWait'>>,
) => Promise<Response>

/**
 * Sends requests with the token, which never leaves for another origin than the server's, wherever a link or a redirect
 * may lead; and does as it is told when asked to come back later.
 */
export function requestSender({ url, token }: Server, { signal, onWait }: RequestOptions): Send {
  const home = new URL(url).origin

  return async (input, { onWait: onOwnWait, ...init } = {}) => {
    const headers = new Headers(init.headers)
    headers.delete('authorization')
    const { origin } = new URL(String(input))
    if (origin === home) headers.set('authorization', `bearer ${token}`)
    const signals = init.signal ? [signal, init.signal] : [signal]
    const options = { ...init, headers, signal: AbortSignal.any(signals) }
    for (let waited = 0; ; waited++) {
      const answer = await fetch(input, options).catch((error: unknown) => {
        // Of another place only the origin is named: what leads there may be a credential.
        const place = origin === home ? url : origin
        throw options.signal.aborted ? error : new ServerUnreachable(place, error)
      })
      const seconds = secondsToWait(answer, 2 ** waited)
      if (seconds === undefined || seconds > LONGEST_WAIT_S || waited === MAX_WAITS) return answer
      await answer.body?.cancel()
      onWait(seconds)
      onOwnWait?.(seconds)
      await sleep(seconds * 1000, undefined, { signal: options.signal })
    }
  }
}

/** Undefined where the answer is one; `otherwise` where it says later, and not when. */
export function secondsToWait(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  otherwise: number | undefined,
): number | undefined {
  const asked = retryAfter(headers)
  if (status === 429 || status === 503) return asked ?? otherwise
  return status === 403 ? asked : undefined
}

/** In seconds, as `retry-after` or, when nothing is left of it, the rate limit says. */
export function retryAfter(headers: Headers, now = Date.now()): number | undefined {
  const said = headers.get('retry-after')
  const at = said === null || /^\d+$/.test(said) ? Number.NaN : Date.parse(said)
  if (!Number.isNaN(at)) return secondsFrom(now, at)
  if (said !== null && /^\d+$/.test(said)) return Number(said)
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN)
  if (headers.get('x-ratelimit-remaining') !== '0' || Number.isNaN(reset)) return undefined
  return secondsFrom(now, reset * 1000)
}

const secondsFrom = (now: number, then: number) => Math.max(0, Math.ceil((then - now) / 1000))
