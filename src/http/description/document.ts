import { ref, type Schema } from '../../wire/schema.ts'
import { API_VERSIONS, DEFAULT_VERSION } from '../middleware/api-headers.ts'
import { type MediaTypeOptions, previewTypeOf } from '../middleware/media-type.ts'
import type { Rendering } from '../rendering.ts'
import { migrationEvent } from '../routes/webhooks/webhooks.ts'
import { headers, schemas } from './components.ts'
import { curlOf } from './curl-example.ts'
import { examplesOf } from './examples.ts'
import { aboutPreview, introduction, TAGS } from './introduction.ts'
import {
  type DescribedAnswer,
  type DescribedRoute,
  header,
  type Operation,
  withHeaders,
} from './operation.ts'
import { parameters } from './parameters.ts'
import { linkRefusals, refusal, refusals } from './refusals.ts'

interface About {
  rendering: Rendering
  mediaType: MediaTypeOptions
}

type OperationObject = ReturnType<typeof operationObject>

/** The whole description, as OpenAPI 3.1 has it. */
export function openApiDocument(routes: readonly DescribedRoute[], about: About) {
  const { rendering, mediaType } = about
  const { api } = rendering.addresses
  const paths: Record<string, Record<string, OperationObject>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    paths[route.path]![route.method.toLowerCase()] = operationObject(route, about)
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
    tags: TAGS,
    paths,
    webhooks: { migration: { post: migrationEvent } },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'Created with `godwit token add LOGIN`.',
        },
      },
      schemas,
      parameters: { ...parameters, 'api-version': versionParameter(mediaType.vendor) },
      headers,
      responses: { ...withShared(refusals, sharedHeaders(mediaType.vendor)), ...linkRefusals },
      examples: examplesOf(rendering),
    },
  }
}

function operationObject(route: DescribedRoute, { rendering, mediaType }: About) {
  const { body, ...operation } = route.operation
  const { api } = rendering.addresses
  const { vendor, preview } = mediaType
  const described =
    operation.security?.length === 0
      ? { ...operation, servers: [{ url: api }] }
      : onTheWire(operation, route, vendor)
  return {
    ...described,
    ...(route.previewed && {
      description: [operation.description, `Part of the preview. ${aboutPreview(mediaType)}`]
        .filter((text) => text !== undefined)
        .join('\n\n'),
      'x-preview': { mediaType: previewTypeOf(vendor), required: preview === 'required' },
    }),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: faultByName(body) } },
      },
    }),
    'x-codeSamples': [{ lang: 'Shell', label: 'curl', source: curlOf(route, api, vendor) }],
  }
}

/** A body that several operations take is told once. */
function faultByName(body: Schema): Schema {
  const known = Object.entries<Schema>(schemas).find(([, schema]) => schema === body)
  return known ? ref(known[0]) : body
}

/** Adds what every operation of the API shares, whatever it does. */
function onTheWire(operation: Operation, route: DescribedRoute, vendor: string): Operation {
  const shared = sharedHeaders(vendor, route)
  const version = { $ref: '#/components/parameters/api-version' }
  return {
    ...operation,
    parameters: [...(operation.parameters ?? []), version],
    responses: {
      400: refusal('bad-request'),
      401: refusal('unauthenticated'),
      403: refusal('forbidden'),
      ...(route.operation.body && { 408: refusal('request-timeout') }),
      415: refusal('not-acceptable'),
      429: refusal('too-many-requests'),
      500: refusal('server-error'),
      503: refusal('unavailable'),
      ...withShared(operation.responses, shared),
    },
  }
}

/** What is only referred to has its headers where it is told. */
function withShared<T extends Record<string, DescribedAnswer | { $ref: string }>>(
  answers: T,
  shared: DescribedAnswer['headers'],
): T {
  const all = Object.entries(answers).map(([name, answer]) => [
    name,
    '$ref' in answer ? answer : { ...answer, headers: { ...answer.headers, ...shared } },
  ])
  return Object.fromEntries(all) as T
}

const sharedHeaders = (vendor: string, { uncounted } = { uncounted: false }) => ({
  [`x-${vendor}-request-id`]: header('request-id'),
  [`x-${vendor}-media-type`]: header('media-type'),
  [`x-${vendor}-api-version-selected`]: header('version-selected'),
  ...(uncounted ? {} : rateHeaders),
})

const { headers: rateHeaders } = withHeaders(
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-used',
  'x-ratelimit-reset',
  'x-ratelimit-resource',
)

const versionParameter = (vendor: string) => ({
  name: `x-${vendor}-api-version`,
  in: 'header',
  description: 'The version of the API to use.',
  schema: { type: 'string', enum: API_VERSIONS, default: DEFAULT_VERSION },
})
