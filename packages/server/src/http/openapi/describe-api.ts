import { ref, type Schema, withRefused } from '@godwit/contract/schemas/schema'
import type { FastifyInstance } from 'fastify'
import { headers, schemas } from '../description/components.ts'
import * as openapi from '../description/operation.ts'
import {
  API_VERSIONS,
  DEFAULT_VERSION,
  type MediaTypeOptions,
  PUBLIC_JSON_HEADERS,
  previewTypeOf,
} from '../middleware/api-headers.ts'
import { sendIfNotModified } from '../middleware/json-response.ts'
import type { Rendering } from '../rendering/rendering.ts'
import { migrationEvent } from '../routes/webhooks/webhooks.ts'
import { examplesOf } from './examples.ts'

type DescriptionOptions = { rendering: Rendering; mediaType: MediaTypeOptions }

const getDescription = openapi.routes('Service', { security: [] })({
  'service/openapi': {
    summary: 'Get this description',
    description: 'As OpenAPI 3.1.',
    responses: {
      200: {
        description: 'The description.',
        ...openapi.ETAG_HEADER,
        content: { 'application/json': { schema: { type: 'object' } } },
      },
      304: openapi.NOT_MODIFIED,
    },
  },
})['service/openapi']

/** Adds `GET /openapi.json`. It describes the routes that are added after this call. */
export function describeApi(app: FastifyInstance, options: DescriptionOptions): void {
  const routes = collectRoutes(app)
  let description: string | undefined

  app.get('/openapi.json', getDescription, async (_request, reply) => {
    reply.headers(PUBLIC_JSON_HEADERS)
    description ??= JSON.stringify(openApiDocument(routes, options), withRefused)
    if (sendIfNotModified(reply, [description])) return reply
    return reply.type('application/json; charset=utf-8').send(description)
  })
}

/** A route of the server with its operation and the relevant parts of its config. */
interface DescribedRoute {
  method: string
  /** The path with parameters in braces. */
  path: string
  operation: openapi.Operation
  previewed: boolean
  uncounted: boolean
}

/** Collects every described route that is added after this call, without the copies below `/api/v3` and without HEAD. */
function collectRoutes(app: FastifyInstance): DescribedRoute[] {
  const routes: DescribedRoute[] = []
  app.addHook('onRoute', ({ prefix, method, url, schema, config }) => {
    if (prefix !== '' || method === 'HEAD' || schema?.operationId === undefined) return
    const { previewed = false, uncounted = false } = config ?? {}
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    const operation = completeOperation(path, schema as openapi.Operation, config?.anonymous)
    routes.push({ method: String(method), path, operation, previewed, uncounted })
  })
  return routes
}

/** Adds what follows from the route; see `Operation`. */
function completeOperation(
  path: string,
  operation: openapi.Operation,
  isTokenOptional = false,
): openapi.Operation {
  const { responses, body, tags } = operation
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const described = operation.parameters ?? []
  const isDescribed = (name: string) =>
    described.some((each) => 'name' in each && each.name === name)
  const isList = Object.hasOwn((responses[200] as openapi.DescribedResponse)?.headers ?? {}, 'link')
  const parameters = [
    ...inPath
      .filter((name) => !isDescribed(name))
      .map((name) => openapi.parameter(name.replaceAll('_', '-') as openapi.ParameterName)),
    ...described,
    ...(isList ? [openapi.parameter('per-page')] : []),
    ...(isList && !isDescribed('cursor') ? [openapi.parameter('page')] : []),
    ...(responses[304] ? [openapi.parameter('if-none-match')] : []),
  ]
  return {
    ...operation,
    ...(isTokenOptional && { security: [{ token: [] }, {}] }),
    ...(parameters.length > 0 && { parameters }),
    responses: {
      ...((inPath.length > 0 || tags[0] === 'Operator') && { 404: openapi.notFound }),
      ...(body && { 422: openapi.errorResponse('invalid') }),
      ...responses,
    },
  }
}

function openApiDocument(routes: readonly DescribedRoute[], options: DescriptionOptions) {
  const { rendering, mediaType } = options
  const { api } = rendering.addresses
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    paths[route.path]![route.method.toLowerCase()] = operationObject(route, options)
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Godwit',
      summary:
        "Self-service export and move for git hosts, compatible with GitHub's User Migrations API",
      description: introduction(mediaType),
      version: DEFAULT_VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      { url: api },
      { url: `${api}/api/v3`, description: 'The same API, for clients that add this prefix.' },
    ],
    security: [{ token: [] }],
    tags: Object.entries(openapi.TAGS).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: { migration: { post: migrationEvent } },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'Created in the dashboard, or with `godwit token add LOGIN`. Basic authentication works too, with the token as the password.',
        },
      },
      schemas,
      parameters: { ...openapi.parameters, 'api-version': versionParameter(mediaType.vendor) },
      headers,
      responses: {
        ...addHeaders(openapi.errorResponses, sharedHeaders(mediaType.vendor)),
        ...openapi.linkErrorResponses,
      },
      examples: examplesOf(rendering),
    },
  }
}

function operationObject(route: DescribedRoute, { rendering, mediaType }: DescriptionOptions) {
  const { body, ...operation } = route.operation
  const { api } = rendering.addresses
  const { vendor, preview } = mediaType
  const described =
    operation.security?.length === 0
      ? {
          ...operation,
          responses: { ...bodyResponses(route), ...operation.responses },
          servers: [{ url: api }],
        }
      : withCommonResponses(operation, route, vendor)
  return {
    ...described,
    ...(route.previewed && {
      description: [operation.description, `Part of the preview. ${describePreview(mediaType)}`]
        .filter((text) => text !== undefined)
        .join('\n\n'),
      'x-preview': { mediaType: previewTypeOf(vendor), required: preview === 'required' },
    }),
    ...(body && {
      requestBody: {
        required: body.required !== undefined,
        content: { 'application/json': { schema: bodySchema(body) } },
      },
    }),
    'x-codeSamples': [{ lang: 'Shell', label: 'curl', source: curlExample(route, api, vendor) }],
  }
}

/** Returns a reference to the schema of a body if it is one of the components, otherwise the schema itself. */
function bodySchema(body: Schema): Schema {
  const known = Object.entries(schemas).find(([, schema]) => schema === body)
  return known ? ref(known[0]) : body
}

/** The server reads the body of every request except GET, and may fail to. */
const bodyResponses = ({ method }: DescribedRoute): openapi.Operation['responses'] =>
  method === 'GET'
    ? {}
    : {
        400: openapi.errorResponse('bad-request'),
        408: openapi.errorResponse('request-timeout'),
        413: openapi.errorResponse('too-large'),
        429: openapi.errorResponse('too-many-requests'),
        503: openapi.errorResponse('unavailable'),
      }

/** Adds the parameter, responses and headers that all operations of the API share. */
function withCommonResponses(operation: openapi.Operation, route: DescribedRoute, vendor: string) {
  const shared = sharedHeaders(vendor, route)
  const version = { $ref: '#/components/parameters/api-version' }
  return {
    ...operation,
    parameters: [...(operation.parameters ?? []), version],
    responses: {
      ...bodyResponses(route),
      400: openapi.errorResponse('bad-request'),
      401: openapi.errorResponse('unauthenticated'),
      403: openapi.errorResponse('forbidden'),
      415: openapi.errorResponse('not-acceptable'),
      429: openapi.errorResponse('too-many-requests'),
      500: openapi.errorResponse('server-error'),
      503: openapi.errorResponse('unavailable'),
      ...addHeaders(operation.responses, shared),
    },
  }
}

/** Adds headers to responses; a reference gets them where it is defined. */
function addHeaders<T extends Record<string, openapi.DescribedResponse | { $ref: string }>>(
  responses: T,
  shared: openapi.DescribedResponse['headers'],
): T {
  const entries = Object.entries(responses).map(([name, response]) => [
    name,
    '$ref' in response ? response : { ...response, headers: { ...response.headers, ...shared } },
  ])
  return Object.fromEntries(entries) as T
}

const sharedHeaders = (vendor: string, { uncounted } = { uncounted: false }) => ({
  [`x-${vendor}-request-id`]: openapi.header('request-id'),
  [`x-${vendor}-media-type`]: openapi.header('media-type'),
  [`x-${vendor}-api-version-selected`]: openapi.header('version-selected'),
  ...(uncounted ? {} : rateHeaders),
})

const { headers: rateHeaders } = openapi.withHeaders(...openapi.RATE_LIMIT_HEADERS)

const versionParameter = (vendor: string) => ({
  name: `x-${vendor}-api-version`,
  in: 'header',
  description: 'The version of the API to use.',
  schema: { type: 'string', enum: API_VERSIONS, default: DEFAULT_VERSION },
})

/** Returns a curl command for the operation, with the examples of its parameters. */
function curlExample(route: DescribedRoute, api: string, vendor: string): string {
  const { method, path, operation, previewed } = route
  const { responses, body } = operation
  const [sample] = (body?.examples as unknown[] | undefined) ?? []
  const defaultMethod = sample === undefined ? 'GET' : 'POST'
  const required = (operation.parameters ?? [])
    .map((parameter) => ('$ref' in parameter ? resolve(parameter.$ref as string) : parameter))
    .filter((parameter): parameter is Parameter => (parameter as Parameter).required === true)
  const inHeaders = required.filter((parameter) => parameter.in === 'header')
  const isArchive = path.endsWith('/archive')
  const redirected = isArchive ? '--output migration.tar.gz' : "--header 'accept: text/html'"
  return [
    'curl',
    ...(responses[302] ? [`--location ${redirected}`] : []),
    ...(path.endsWith('.tar.gz') ? ['--remote-name'] : []),
    ...(method === defaultMethod ? [] : [`--request ${method}`]),
    ...credentialsExample(route),
    ...inHeaders.map(({ name, example }) => `--header '${name}: ${example}'`),
    ...(previewed ? [`--header 'accept: ${previewTypeOf(vendor)}'`] : []),
    ...(sample === undefined ? [] : [`--data '${JSON.stringify(sample)}'`]),
    `'${api}${pathWithExamples(path, required)}'`,
  ].join(' \\\n  ')
}

const SESSION_REF = openapi.parameter('session').$ref

/** Signing in writes the cookie of the session to a file, from which the other operations of a session read it. */
function credentialsExample({ method, path, operation }: DescribedRoute): string[] {
  const { parameters = [], security } = operation
  if (parameters.some(({ $ref }) => $ref === SESSION_REF))
    return [
      method === 'POST' && path === '/session'
        ? '--cookie-jar session.txt'
        : '--cookie session.txt',
    ]
  return security?.length === 0 ? [] : ['--header "authorization: bearer $TOKEN"']
}

type Parameter = { name: string; in: string; required?: boolean; example?: unknown }

function pathWithExamples(path: string, required: readonly Parameter[]): string {
  const query = required
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, example }) => `${name}=${example}`)
    .join('&')
  const filled = required.reduce(
    (text, { name, example }) => text.replace(`{${name}}`, String(example)),
    path,
  )
  return query ? `${filled}?${query}` : filled
}

const resolve = (reference: string): Parameter =>
  openapi.parameters[reference.slice(reference.lastIndexOf('/') + 1) as openapi.ParameterName]

/** The introduction for readers, in Markdown. */
function introduction(mediaType: MediaTypeOptions): string {
  const { vendor } = mediaType
  return [
    'Self-service export and move for git hosts: users export their repositories into one archive. The API is compatible ' +
      "with GitHub's User Migrations API, so clients of that API work here.",
    'Operations need a token, except those of the service itself and those on public repositories: `authorization: bearer TOKEN`, `token TOKEN`, or Basic authentication with the token as the password of any user. ' +
      'Create one in the dashboard under *Tokens*, or ask the operator of the host, who creates one with `godwit token add LOGIN`. Operations that accept a token need a `user-agent` header.',
    `Some operations are part of a preview. ${describePreview(mediaType)}`,
    `\`x-${vendor}-api-version\` can select a version of the API: ${API_VERSIONS.map(code).join(' or ')}. ` +
      `The default is ${code(DEFAULT_VERSION)}.`,
    'Lists have pages of 30 entries; `per_page` can be up to 100. The `link` header has the URLs of the other pages. ' +
      'Send the `etag` of a response as `if-none-match`: while nothing has changed, the next response is 304, and does not count if the request has a token. ' +
      'Every GET also works as HEAD, and every path of the API also works below `/api/v3`.',
    `Operations that accept a token respond with the request ID in \`x-${vendor}-request-id\`, media type and version in \`x-${vendor}-media-type\` and ` +
      `\`x-${vendor}-api-version-selected\`, and the rate limit in \`x-ratelimit-limit\`, \`-remaining\`, ` +
      '`-used`, `-reset` and `-resource`.',
    'Every operation responds with 417 to an `expect` header other than `100-continue`, and with 431 to more than 16 KiB of headers.',
  ].join('\n\n')
}

function describePreview({ vendor, preview }: MediaTypeOptions): string {
  const type = code(previewTypeOf(vendor))
  return preview === 'required'
    ? `Send \`accept:\` ${type}; without it the response is 415 (unless the server runs with \`--preview optional\`).`
    : `Clients may send \`accept:\` ${type}; this server does not need it (\`--preview optional\`).`
}

const code = (text: string) => `\`${text}\``
