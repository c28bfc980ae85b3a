import { setTimeout as sleep } from 'node:timers/promises'
import { RequestRejected, ServerUnreachable, secondsToWait } from './errors.ts'

/** A server of this API and the credentials to call it. */
export interface Server {
  /** Base URL of the API, without a trailing slash. */
  url: string
  token: string
  /** The organization whose resources are requested; undefined for the caller's own. */
  org?: string | undefined
  /** Vendor name in the server's media types. */
  vendor: string
  userAgent: string
}

export interface RequestOptions {
  signal: AbortSignal
  /** Called before a pause that the server asked for. */
  onWait(seconds: number): void
}

const MAX_WAITS = 4
const MAX_WAIT_S = 120

/** Like `fetch`. An `onWait` of the request is called in addition to that of the client. */
export type Send = (
  input: string | URL | Request,
  init?: RequestInit & Partial<Pick<RequestOptions, 'onWait'>>,
) => Promise<Response>

/**
 * Returns a `fetch` that sends the token to the server's own origin only, wherever a link leads, and that waits and retries
 * when a response asks for it. It rejects if a redirect that it follows leads from the server's origin to another one.
 */
export function requestSender(
  { url, token }: Pick<Server, 'url' | 'token'>,
  { signal, onWait }: RequestOptions,
): Send {
  const home = new URL(url).origin

  return async (input, { onWait: onRequestWait, ...init } = {}) => {
    const headers = new Headers(init.headers)
    headers.delete('authorization')
    const { origin } = new URL(String(input))
    if (origin === home) headers.set('authorization', `bearer ${token}`)
    const signals = init.signal ? [signal, init.signal] : [signal]
    const options = { ...init, headers, signal: AbortSignal.any(signals) }
    for (let waits = 0; ; waits++) {
      const response = await fetch(input, options).catch((error: unknown) => {
        // The path and query of another origin may be a credential, such as a signed link.
        const shown = origin === home ? url : origin
        const sentBy = origin === home ? undefined : url
        throw options.signal.aborted ? error : new ServerUnreachable(shown, error, sentBy)
      })
      if (origin === home && response.redirected && new URL(response.url).origin !== home) {
        await response.body?.cancel()
        throw redirectedElsewhere(url, String(input), response)
      }
      const seconds = secondsToWait(response, 2 ** waits)
      if (seconds === undefined || seconds > MAX_WAIT_S || waits === MAX_WAITS) return response
      await response.body?.cancel()
      onWait(seconds)
      onRequestWait?.(seconds)
      await sleep(seconds * 1000, undefined, { signal: options.signal })
    }
  }
}

/** Returns the error for a request whose redirect leads to another origin, which did not get the token. */
function redirectedElsewhere(url: string, sent: string, response: Response): RequestRejected {
  const { href, origin, protocol, hostname } = new URL(response.url)
  const rest = sent.slice(url.length)
  const isSameHost = protocol === 'https:' && hostname === new URL(url).hostname
  const isSameApi = isSameHost && sent.startsWith(url) && href.endsWith(rest)
  const target = isSameApi ? href.slice(0, href.length - rest.length) : origin
  const advice = isSameApi ? `use --url ${target}` : 'the token was not sent there; check --url'
  return new RequestRejected(response.status, `${url} redirects to ${target}: ${advice}`)
}
