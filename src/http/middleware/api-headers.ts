import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { unknownVersion, userAgentMissing } from './http-errors.ts'

export const API_VERSIONS = ['2026-03-10', '2022-11-28']
export const DEFAULT_VERSION = '2022-11-28'
const ALLOWED_METHODS = 'GET, HEAD, POST, PATCH, PUT, DELETE'
const PREFLIGHT_MAX_AGE_SECONDS = '86400'

const commonHeaders = (vendorName: string) => ({
  'access-control-allow-origin': '*',
  'access-control-expose-headers': [
    `ETag, Link, Location, X-Total-Count, Retry-After, Content-Disposition, X-${vendorName}-Media-Type, X-${vendorName}-Request-Id`,
    'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Used, X-RateLimit-Reset, X-RateLimit-Resource',
    'X-OAuth-Scopes, X-Accepted-OAuth-Scopes',
  ].join(', '),
  'cache-control': 'private, no-cache',
  vary: 'Accept, Authorization, Cookie, X-GitHub-OTP',
  'x-content-type-options': 'nosniff',
})

/**
 * Returns functions that check and set the headers that all operations of the API share. `vendor` is part of the header names:
 * `github` gives `X-GitHub-Request-Id`.
 */
export function apiHeaders(vendor: string) {
  const vendorName = vendor === 'github' ? 'GitHub' : vendor
  const common = commonHeaders(vendorName)
  const versionHeader = `x-${vendor}-api-version`
  const selectedHeader = `${versionHeader}-selected`
  const requestIdHeader = `x-${vendor}-request-id`

  return {
    /** Sets the common response headers. Throws if the request has no `User-Agent` or names an unknown version of the API. */
    setApiHeaders(request: FastifyRequest, reply: FastifyReply): void {
      reply.headers(common).header(requestIdHeader, request.id)
      if (!request.headers['user-agent']) throw userAgentMissing()
      const version = request.headers[versionHeader] ?? DEFAULT_VERSION
      if (!API_VERSIONS.includes(version as string))
        throw unknownVersion(vendorName, String(version))
      reply.header(selectedHeader, version)
    },

    /** Answers CORS preflight requests. Any origin may call the API: browsers do not send the token automatically. */
    addPreflightRoute(app: FastifyInstance): void {
      app.options('/*', async (_request, reply) =>
        reply
          .headers({
            ...common,
            'access-control-allow-methods': ALLOWED_METHODS,
            'access-control-allow-headers': `Authorization, Content-Type, If-None-Match, Range, If-Range, Accept-Encoding, X-${vendorName}-Api-Version, X-Requested-With, User-Agent`,
            'access-control-max-age': PREFLIGHT_MAX_AGE_SECONDS,
          })
          .code(204)
          .send(),
      )
    },
  }
}
