import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { userAgentMissing, versionUnknown } from './refusals.ts'

export const API_VERSIONS = ['2026-03-10', '2022-11-28']
export const DEFAULT_VERSION = '2022-11-28'
const METHODS = 'GET, HEAD, POST, PATCH, PUT, DELETE'
const A_DAY = '86400'

const alwaysSaid = (named: string) => ({
  'access-control-allow-origin': '*',
  'access-control-expose-headers': [
    `ETag, Link, Location, X-Total-Count, Retry-After, Content-Disposition, X-${named}-Media-Type, X-${named}-Request-Id`,
    'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Used, X-RateLimit-Reset, X-RateLimit-Resource',
    'X-OAuth-Scopes, X-Accepted-OAuth-Scopes',
  ].join(', '),
  'cache-control': 'private, no-cache',
  vary: 'Accept, Authorization, Cookie, X-GitHub-OTP',
  'x-content-type-options': 'nosniff',
})

/** The headers that this API asks of every caller and says in every answer, whatever the operation. */
export function apiHeaders(vendor: string) {
  const named = vendor === 'github' ? 'GitHub' : vendor
  const always = alwaysSaid(named)
  const versionHeader = `x-${vendor}-api-version`
  const selectedHeader = `${versionHeader}-selected`
  const requestIdHeader = `x-${vendor}-request-id`

  return {
    greet(request: FastifyRequest, reply: FastifyReply): void {
      reply.headers(always).header(requestIdHeader, request.id)
      if (!request.headers['user-agent']) throw userAgentMissing()
      const asked = request.headers[versionHeader] ?? DEFAULT_VERSION
      if (!API_VERSIONS.includes(asked as string)) throw versionUnknown(named, String(asked))
      reply.header(selectedHeader, asked)
    },

    /** Browsers ask first. They may call anything: what lets a caller in is the token, which no browser adds by itself. */
    answerPreflights(app: FastifyInstance): void {
      app.options('/*', async (_request, reply) =>
        reply
          .headers({
            ...always,
            'access-control-allow-methods': METHODS,
            'access-control-allow-headers': `Authorization, Content-Type, If-None-Match, Range, If-Range, Accept-Encoding, X-${named}-Api-Version, X-Requested-With, User-Agent`,
            'access-control-max-age': A_DAY,
          })
          .code(204)
          .send(),
      )
    },
  }
}
