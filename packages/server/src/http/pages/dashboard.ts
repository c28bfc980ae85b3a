import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { string } from '@godwit/contract/schemas/schema'
import type * as wire from '@godwit/contract/schemas/types'
import type { FastifyInstance, FastifyReply } from 'fastify'
import * as openapi from '../description/operation.ts'
import { acceptedTypes, PUBLIC_JSON_HEADERS, prefersOver } from '../middleware/api-headers.ts'
import { sendIfNotModified, sendJsonWithEtag } from '../middleware/json-response.ts'
import type { ServerDependencies } from '../server-dependencies.ts'
import type { Dashboard, DashboardFile, Encoding } from './dashboard-files.ts'
import { rootJson } from './root-json.ts'

const routes = openapi.routes('Service', { security: [] })({
  'meta/root': {
    summary: 'Get the URLs of the API',
    description:
      'Browsers, which prefer `text/html`, get the dashboard. Other clients get the URLs.',
    responses: {
      ...openapi.withContentType(
        'text/html',
        openapi.recordResponses('The URLs of the API.', 'root'),
      ),
      304: openapi.NOT_MODIFIED,
    },
  },
  'service/docs': {
    summary: 'Read this description as a web page',
    responses: {
      200: {
        description: 'A web page.',
        ...openapi.ETAG_HEADER,
        content: { 'text/html': { schema: string } },
      },
      304: openapi.NOT_MODIFIED,
    },
  },
})

export interface DashboardDependencies extends ServerDependencies {
  /** Absent without an OpenID provider. */
  oidc: object | undefined
  /** The files of the dashboard. Undefined if they were not built. */
  dashboard: Dashboard | undefined
}

/** Adds the pages of the dashboard and the URLs of the API. None needs a token. */
export function dashboard(app: FastifyInstance, dependencies: DashboardDependencies): void {
  const { rendering, dashboard: built } = dependencies
  const { page, docs } = built ?? notBuiltPages(rendering.addresses.api)
  const headers = { ...securityHeaders(rendering.addresses.api), vary: 'accept-encoding' }

  app.get('/', routes['meta/root'], async (request, reply) => {
    if (!prefersOver(request.headers.accept, ['text/html'])) return sendRoot(reply, dependencies)
    return sendFile(reply.headers({ ...headers, vary: 'accept, accept-encoding' }), page)
  })
  app.get('/docs', routes['service/docs'], async (_request, reply) =>
    sendFile(reply.headers(headers), docs),
  )
  const addresses = rendering.addresses.under('/api/v3')
  for (const path of ['/api/v3', '/api/v3/']) {
    app.get(path, async (_request, reply) =>
      sendRoot(reply, { ...dependencies, rendering: { ...rendering, addresses } }),
    )
  }
  for (const [path, file] of built?.files ?? []) {
    app.get(`/${path}`, async (_request, reply) => sendFile(reply.headers(headers), file))
  }
}

function sendRoot(reply: FastifyReply, dependencies: DashboardDependencies): FastifyReply {
  const body = rootJson(
    dependencies.rendering.addresses,
    dependencies.mediaType.vendor,
    signInJson(dependencies),
  )
  return sendJsonWithEtag(reply.headers({ ...PUBLIC_JSON_HEADERS, vary: 'accept' }), body)
}

/** Describes how a browser signs in without a token. Behind a proxy that authenticates, loading the page is enough. */
function signInJson(dependencies: DashboardDependencies): wire.Root['sign_in'] {
  const { oidc, userHeader, signInName: name } = dependencies
  const { api } = dependencies.rendering.addresses
  if (oidc)
    return { name, url: `${api}/session/oidc/start`, sign_out_url: `${api}/session/oidc/end` }
  return userHeader === undefined ? null : { name, url: `${api}/`, sign_out_url: null }
}

const decompress = promisify(gunzip)

async function sendFile(
  reply: FastifyReply,
  { type, bytes, encoded, digest, isImmutable }: DashboardFile,
): Promise<FastifyReply> {
  const accepted = acceptedTypes(reply.request.headers['accept-encoding'])
  const encoding = (Object.keys(encoded) as Encoding[]).find((each) => accepted.includes(each))
  const immutable = 'public, max-age=31536000, immutable'
  reply.header('cache-control', isImmutable ? immutable : 'no-cache')
  if (encoding) reply.header('content-encoding', encoding)
  if (sendIfNotModified(reply, [digest, encoding ?? ''])) return reply
  const body = encoding ? encoded[encoding] : (bytes ?? (await decompress(encoded.gzip!)))
  return reply.type(type).send(body)
}

/**
 * Pages may load only files of this server and connect only to it: at the URL from which they were loaded, and at the public URL,
 * which the links of the API have.
 */
function securityHeaders(api: string) {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `connect-src 'self' ${new URL(api).origin}`,
      "img-src 'self' data:",
      "font-src 'self'",
      "manifest-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy':
      'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
}

function notBuiltPages(api: string): Pick<Dashboard, 'page' | 'docs'> {
  const text = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Godwit</title>
<h1>Godwit</h1>
<p>The service is running, but its pages are not built. Run <code>npm run build</code> in the source directory,
then start the service again.</p>
<p>The description of the API is at <a href="${api}/openapi.json">${api}/openapi.json</a>.</p>
</html>
`
  const page = {
    type: 'text/html; charset=utf-8',
    bytes: Buffer.from(text),
    encoded: {},
    digest: text,
    isImmutable: false,
  }
  return { page, docs: page }
}
