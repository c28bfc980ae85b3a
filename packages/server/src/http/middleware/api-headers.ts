import { memoize } from '@godwit/lib/memoize'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { HttpError, previewMissing } from './http-errors.ts'
import { addressKey } from './request.ts'

export const API_VERSIONS = ['2026-03-10', '2022-11-28']
export const DEFAULT_VERSION = '2022-11-28'
const ALLOWED_METHODS = 'GET, HEAD, POST, PATCH, PUT, DELETE'
const PREFLIGHT_MAX_AGE_SECONDS = '86400'
const MAX_CACHED_HEADERS = 1000

/** The headers of JSON that needs no token: pages of any origin may read it. */
export const PUBLIC_JSON_HEADERS = {
  'access-control-allow-origin': '*',
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
}

/**
 * Returns functions that check and set the headers that all operations of the API share. `vendor` is part of the header names:
 * `github` gives `X-GitHub-Request-Id`.
 */
export function apiHeaders(vendor: string) {
  const vendorName = vendor === 'github' ? 'GitHub' : vendor
  const cors = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': [
      `ETag, Link, Location, X-Total-Count, Retry-After, Content-Disposition, X-${vendorName}-Media-Type, X-${vendorName}-Request-Id`,
      'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Used, X-RateLimit-Reset, X-RateLimit-Resource',
      'X-OAuth-Scopes, X-Accepted-OAuth-Scopes',
    ].join(', '),
  }
  const common = {
    ...cors,
    'cache-control': 'private, no-cache',
    vary: 'Accept, Authorization, Cookie, X-GitHub-OTP',
    'x-content-type-options': 'nosniff',
  }
  const versionHeader = `x-${vendor}-api-version`
  const selectedHeader = `${versionHeader}-selected`
  const requestIdHeader = `x-${vendor}-request-id`

  return {
    /** The headers with which a page of any origin can read a response. */
    cors,

    /** Sets the common response headers. Throws if the request has no `User-Agent` or names an unknown version of the API. */
    setApiHeaders(request: FastifyRequest, reply: FastifyReply): void {
      reply.headers(common).header(requestIdHeader, request.id)
      if (!request.headers['user-agent'])
        throw new HttpError(
          403,
          'Request forbidden by administrative rules. Please make sure your request has a User-Agent header.',
        )
      const version = request.headers[versionHeader] ?? DEFAULT_VERSION
      if (!API_VERSIONS.includes(version as string))
        throw new HttpError(
          400,
          `The 'X-${vendorName}-Api-Version' header '${version}' is not a version of this API.`,
        )
      reply.header(selectedHeader, version)
    },

    /** Adds the response to CORS preflight requests. Any origin may call the API: browsers do not send the token automatically. */
    addPreflightRoute(app: FastifyInstance): void {
      app.options('/*', async (_request, reply) =>
        reply
          .headers({
            ...common,
            'access-control-allow-methods': ALLOWED_METHODS,
            'access-control-allow-headers': `Authorization, Content-Type, If-None-Match, Range, If-Range, Last-Event-ID, Accept-Encoding, X-${vendorName}-Api-Version, X-Requested-With, User-Agent`,
            'access-control-max-age': PREFLIGHT_MAX_AGE_SECONDS,
          })
          .code(204)
          .send(),
      )
    },
  }
}

export type MediaTypeOptions = { vendor: string; preview: 'required' | 'optional' }

export const previewTypeOf = (vendor: string) =>
  `application/vnd.${vendor.toLowerCase()}.wyandotte-preview+json`

/**
 * Returns a function that chooses the media type of a response, as in `x-<vendor>-media-type`. It throws 415 if `accept` excludes
 * JSON, or lacks the preview type that the operation requires.
 */
export function mediaTypeChooser({ vendor, preview }: MediaTypeOptions) {
  const vendorType = `application/vnd.${vendor.toLowerCase()}`
  const previewType = previewTypeOf(vendor)
  /** `+json` may be omitted from these types. */
  const withJson = new Map(
    [vendorType, `${vendorType}.v3`, previewType.replace('+json', '')].map((type) => [
      type,
      `${type}+json`,
    ]),
  )
  const jsonTypes = new Set(['*/*', 'application/*', 'application/json', `${vendorType}+json`])
  const isJson = (type: string) =>
    jsonTypes.has(type) || (type.startsWith(`${vendorType}.`) && type.endsWith('+json'))
  // Cached, because clients send the same header with every request.
  const completeTypes = memoize(MAX_CACHED_HEADERS, (accept: string | undefined) =>
    acceptedTypes(accept).map((type) => withJson.get(type) ?? type),
  )

  return (
    accept: string | undefined,
    { previewed = false, alsoAccepts = [] }: FastifyContextConfig,
  ) => {
    const needsPreview = previewed && preview === 'required'
    const accepted = completeTypes(accept)
    if (needsPreview && !accepted.includes(previewType)) throw previewMissing()
    const best = accepted.find((type) => isJson(type) || alsoAccepts.includes(type))
    if (best === undefined)
      throw new HttpError(
        415,
        `Unsupported 'Accept' header: '${accept ?? ''}'. Must accept 'application/json'.`,
      )
    const version = best === previewType || needsPreview ? 'wyandotte-preview' : 'v3'
    return `${vendor}.${version}; format=json`
  }
}

/** Whether the client prefers one of these types to JSON. Browsers put HTML first; programs put JSON first, or accept anything. */
export function prefersOver(accept: string | undefined, types: readonly string[]): boolean {
  const first = acceptedTypes(accept).find((type) => types.includes(type) || type.endsWith('json'))
  return first !== undefined && types.includes(first)
}

/** Returns the types of an `accept` header by descending weight, without those of q=0. A missing header accepts any type. */
export const acceptedTypes = (accept: string | undefined): readonly string[] =>
  (accept?.trim() || '*/*')
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
      const q = parameters.find((parameter) => parameter.startsWith('q='))
      const weight = q === undefined ? 1 : Number(q.slice(2))
      return { type, weight: Number.isFinite(weight) ? weight : 1 }
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ type }) => type)

const WARN_INTERVAL_MS = 3_600_000
const MAX_ADDRESSES = 1000

/** The metric of requests with `x-forwarded-for` from an untrusted address. `godwit doctor` reads it. */
export const UNTRUSTED_FORWARDING_METRIC = 'godwit_http_untrusted_forwarding_total'

export type Forwarding = ReturnType<typeof watchForwarding>

/**
 * Detects proxies that are not trusted. Behind one, every caller seems to have the address of the proxy: in the log, and where
 * failed logins are counted. The warning is logged once an hour for each address, because any client can send the header.
 */
export function watchForwarding(log: Logger, now: () => number) {
  const warned = new Set<string>()
  let warnedSince = now()
  let untrustedCount = 0

  function warnOnce(address: string): void {
    if (Math.abs(now() - warnedSince) >= WARN_INTERVAL_MS) {
      warned.clear()
      warnedSince = now()
    }
    const key = addressKey(address)
    if (warned.has(key) || warned.size >= MAX_ADDRESSES) return
    warned.add(key)
    log.warn(
      { address },
      'x-forwarded-for from an untrusted address: if this is your proxy, add it to --trusted-proxies',
    )
  }

  return {
    /** Warns if a request has `x-forwarded-for` but its sender is not a trusted proxy. */
    check({ headers, ips, socket }: FastifyRequest): void {
      if (!headers['x-forwarded-for']) return
      const isTrusted = ips !== undefined && ips.length > 1
      if (isTrusted) return
      untrustedCount++
      warnOnce(socket.remoteAddress ?? '')
    },
    untrustedCount: () => untrustedCount,
  }
}
