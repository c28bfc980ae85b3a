import type { FastifyReply, FastifyRequest } from 'fastify'

/** A session cookie without this header is ignored. Other sites cannot send the header, because CORS preflights do not allow it. */
export const SESSION_HEADER = 'x-godwit-session'

/** Browsers accept a `__Host-` cookie only over TLS, without a domain and with the path `/`. */
const cookieName = (isSecure: boolean): string =>
  isSecure ? '__Host-godwit_session' : 'godwit_session'

export type SessionCookies = ReturnType<typeof sessionCookies>

/** Returns functions that read, set and clear the session cookie. It is `Secure` if the base URL or the request uses TLS. */
export function sessionCookies(baseUrl: string) {
  const isBaseUrlSecure = new URL(baseUrl).protocol === 'https:'
  const isSecure = ({ protocol }: FastifyRequest) => isBaseUrlSecure || protocol === 'https'
  const write = (reply: FastifyReply, request: FastifyRequest, value: string, attributes = '') => {
    const name = cookieName(isSecure(request))
    const secure = isSecure(request) ? '; Secure' : ''
    reply.header(
      'set-cookie',
      `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${attributes}`,
    )
  }
  return {
    /** Returns the secret of the session; undefined without a cookie, or if no page of this server sent the request. */
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

/** Returns whether a page of this server sent the request. Old browsers do not send `sec-fetch-site`. */
export function isOfOurPages({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return headers[SESSION_HEADER] !== undefined && (site === undefined || site === 'same-origin')
}
