import type { FastifyReply, FastifyRequest } from 'fastify'

/** A session cookie is ignored without this header. No other site can make a browser send it, because no preflight allows it. */
export const SESSION_HEADER = 'x-godwit-session'

/** Browsers accept a `__Host-` cookie only over TLS, for exactly this host and all of its paths. */
const cookieName = (isSecure: boolean): string =>
  isSecure ? '__Host-godwit_session' : 'godwit_session'

export type SessionCookies = ReturnType<typeof sessionCookies>

export function sessionCookies(baseUrl: string) {
  const isPublicSecure = new URL(baseUrl).protocol === 'https:'
  const isSecure = ({ protocol }: FastifyRequest) => isPublicSecure || protocol === 'https'
  const write = (reply: FastifyReply, request: FastifyRequest, value: string, rest = '') => {
    const name = cookieName(isSecure(request))
    const secure = isSecure(request) ? '; Secure' : ''
    reply.header(
      'set-cookie',
      `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${rest}`,
    )
  }
  return {
    /** Returns the secret of the session, if the request was sent by a page of this server. */
    read(request: FastifyRequest): string | undefined {
      if (!isOfOurPages(request)) return undefined
      const name = cookieName(isSecure(request))
      for (const pair of (request.headers.cookie ?? '').split(';')) {
        const [key, value] = pair.trim().split('=')
        if (key === name && value) return value
      }
      return undefined
    },
    set: (reply: FastifyReply, request: FastifyRequest, secret: string) =>
      write(reply, request, secret),
    clear: (reply: FastifyReply, request: FastifyRequest) =>
      write(reply, request, '', '; Max-Age=0'),
  }
}

/** Whether a page of this server sent the request: browsers say so in `sec-fetch-site`. */
export function isOfOurPages({ headers }: FastifyRequest): boolean {
  const from = headers['sec-fetch-site']
  return headers[SESSION_HEADER] !== undefined && (from === undefined || from === 'same-origin')
}
