import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Without it a cookie counts for nothing. No other site can make a browser send it: that takes a preflight, and none is
 * answered that would allow it.
 */
export const SESSION_HEADER = 'x-godwit-session'

/** A name with that prefix is taken by browsers only over TLS, for this host and the whole of it. */
const nameFor = (isSecure: boolean): string =>
  isSecure ? '__Host-godwit_session' : 'godwit_session'

export interface SessionCookies {
  /** The secret that the browser has sent with a request of our own pages. */
  read(request: FastifyRequest): string | undefined
  set(reply: FastifyReply, request: FastifyRequest, secret: string): void
  clear(reply: FastifyReply, request: FastifyRequest): void
}

export function sessionCookies(baseUrl: string): SessionCookies {
  const isPublicSecure = new URL(baseUrl).protocol === 'https:'
  const isSecure = ({ protocol }: FastifyRequest) => isPublicSecure || protocol === 'https'
  const write = (reply: FastifyReply, request: FastifyRequest, value: string, rest = '') => {
    const name = nameFor(isSecure(request))
    const secure = isSecure(request) ? '; Secure' : ''
    reply.header(
      'set-cookie',
      `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${rest}`,
    )
  }
  return {
    read(request) {
      if (!isOfOurPages(request)) return undefined
      const name = nameFor(isSecure(request))
      for (const pair of (request.headers.cookie ?? '').split(';')) {
        const [key, value] = pair.trim().split('=')
        if (key === name && value) return value
      }
      return undefined
    },
    set: (reply, request, secret) => write(reply, request, secret),
    clear: (reply, request) => write(reply, request, '', '; Max-Age=0'),
  }
}

/** Browsers say where a request comes from; what says otherwise is not ours. */
export function isOfOurPages({ headers }: FastifyRequest): boolean {
  const from = headers['sec-fetch-site']
  return headers[SESSION_HEADER] !== undefined && (from === undefined || from === 'same-origin')
}
