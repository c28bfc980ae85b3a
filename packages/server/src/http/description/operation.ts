import { arrayOf, enumOf, integer, ref, type Schema, string } from '@godwit/contract/schemas/schema'
import type { FastifyContextConfig } from 'fastify'
import type { headers, SchemaName } from './components.ts'

type HeaderName = keyof typeof headers
/** The name of an example in `../openapi/examples.ts`. A test finds every name without an example. */
type ExampleName = string
type Reference = { $ref: string }

export interface DescribedResponse {
  description: string
  headers?: Record<string, Reference>
  content?: Record<string, { schema: Schema; examples?: Record<string, Reference> }>
}

/** The groups of operations. */
export const TAGS = {
  Migrations: 'Start and follow migrations, and list their repositories.',
  Archives: 'Download and delete the archives of exported migrations.',
  Schedules: 'Migrations that are started every day or every week.',
  Organizations: 'Organizations of the caller, and the same operations on their migrations.',
  Repositories: 'Repositories in their current state, their owners and their licences.',
  Webhooks: 'URLs that are called when migrations end, and the log of their deliveries.',
  Caller: 'The current account and its rate limit.',
  Operator: 'The state of the whole service, for `site_admin` accounts.',
  Service: 'Health, metrics and documentation. No token is needed.',
}
type Tag = keyof typeof TAGS

/**
 * An OpenAPI operation object, except that `body` is the schema that Fastify validates request bodies with. Parameters and responses
 * are described, but never validated: invalid parameters of lists are ignored, and responses are sent as finished JSON.
 *
 * `describeApi` adds what follows from the route: the parameters in its path and those of the pages of a list, the 404 of routes with
 * parameters in the path and of those for site admins, `if-none-match` if there is a 304, the 422 of an invalid body, the errors
 * of reading a body unless the method is GET, and `security` if the token is optional.
 */
export interface Operation {
  operationId: string
  tags: [Tag]
  summary: string
  description?: string
  deprecated?: boolean
  /** Empty if the operation ignores tokens. */
  security?: object[]
  parameters?: (Reference | Schema)[]
  body?: Schema | undefined
  responses: Record<number, DescribedResponse | Reference>
}

/** The Fastify options of a route: its operation, and what the middleware needs to know about it. */
export type RouteOptions = { schema: Operation; config: FastifyContextConfig }

interface Described extends Omit<Operation, 'operationId' | 'tags'> {
  tags?: [Tag]
  /** The schemas of the query parameters, by name. The description of a schema becomes that of its parameter. */
  query?: Record<string, Schema>
  config?: FastifyContextConfig
}

/** Returns a function that returns the options of routes by the ids of their operations. They share the tag and `common`. */
export function routes(tag: Tag, common: Partial<Described> = {}) {
  return <Id extends string>(described: Record<Id, Described>): Record<Id, RouteOptions> => {
    const entries = Object.entries<Described>(described).map(([operationId, each]) => {
      const { config = {}, query, ...operation } = { tags: [tag], ...common, ...each }
      const inQueries = Object.entries(query ?? {}).map(([name, schema]) => inQuery(name, schema))
      const parameters = [...inQueries, ...(operation.parameters ?? [])]
      const schema = { operationId, ...operation, ...(parameters.length > 0 && { parameters }) }
      return [operationId, { config, schema }]
    })
    return Object.fromEntries(entries)
  }
}

declare module 'fastify' {
  // Fastify reads `body`, `querystring`, `params`, `headers` and `response` of a route's schema and ignores the rest.
  interface FastifySchema extends Partial<Omit<Operation, 'body'>> {}
}

export const header = (name: HeaderName): Reference => ({ $ref: `#/components/headers/${name}` })
const example = (name: ExampleName) => ({ [name]: { $ref: `#/components/examples/${name}` } })

export const withHeaders = (...names: HeaderName[]) => ({
  headers: Object.fromEntries(names.map((name) => [name, header(name)])),
})

export const RATE_LIMIT_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-used',
  'x-ratelimit-reset',
  'x-ratelimit-resource',
] as const
export const ETAG_HEADER = withHeaders('etag')
/** The 304 of routes that have no rate limit. */
export const NOT_MODIFIED = { description: 'Not modified.', ...ETAG_HEADER }

type JsonContent = { schema: Schema; example: ExampleName; headers?: HeaderName[] }

export const jsonResponse = (
  description: string,
  { schema, example: exampleName, headers = [] }: JsonContent,
): DescribedResponse => ({
  description,
  ...(headers.length > 0 && withHeaders(...headers)),
  content: { 'application/json': { schema, examples: example(exampleName) } },
})

export const schemaRef = (name: SchemaName): Schema => ref(name)
export const schemaList = (name: SchemaName): Schema => arrayOf(ref(name))

export const inPath = (name: string, schema: Schema, example: unknown, description?: string) => ({
  name,
  in: 'path',
  required: true,
  ...(description !== undefined && { description }),
  schema,
  example,
})

const inQuery = (name: string, { description, ...schema }: Schema) => ({
  name,
  in: 'query',
  ...(description !== undefined && { description }),
  schema,
})

export const inHeader = (name: string, description: string) => ({
  name,
  in: 'header',
  description,
  schema: string,
})

export const INVALID_IGNORED = 'Invalid values are ignored.'

/** The parameters that operations refer to by name. */
export const parameters = {
  'migration-id': inPath('migration_id', integer, 79, 'ID of a migration.'),
  'schedule-id': inPath('schedule_id', integer, 3, 'ID of a schedule.'),
  org: inPath('org', string, 'octo', 'Login of an organization; case is ignored.'),
  'organization-id': inPath('organization_id', integer, 12, 'ID of an organization.'),
  owner: inPath('owner', string, 'alice', 'Login of the owner; case is ignored.'),
  repo: inPath('repo', string, 'atlas', 'Name of the repository, without `.git`; case is ignored.'),
  username: inPath(
    'username',
    string,
    'alice',
    'Login of a person or an organization; case is ignored.',
  ),
  'account-id': inPath('account_id', integer, 1, 'ID of a person or an organization.'),
  'repository-id': inPath('repository_id', integer, 7, 'ID of a repository.'),
  license: inPath(
    'license',
    string,
    'mit',
    'Key of a licence: its SPDX identifier; case is ignored.',
  ),
  'repo-name': inPath('repo_name', string, 'atlas', 'Name of a repository, or `owner%2Fname`.'),
  'hook-id': inPath('hook_id', integer, 3, 'ID of a webhook.'),
  'delivery-id': inPath('delivery_id', integer, 41, 'ID of a delivery.'),
  page: inQuery(
    'page',
    integer.describe(`Number of the page; default 1. ${INVALID_IGNORED}`, {
      minimum: 1,
      default: 1,
    }),
  ),
  'per-page': inQuery(
    'per_page',
    integer.describe(`Entries per page, at most 100; default 30. ${INVALID_IGNORED}`, {
      minimum: 1,
      maximum: 100,
      default: 30,
    }),
  ),
  exclude: {
    ...inQuery(
      'exclude',
      arrayOf(enumOf(['repositories'])).describe(
        'Parts to exclude from the response. Can be separated by commas, repeated, or written as `exclude[]`. Other values are ignored.',
      ),
    ),
    style: 'form',
    explode: false,
  },
  'if-none-match': inHeader(
    'if-none-match',
    'The `etag` of an earlier response. If nothing has changed, the response is 304, and does not count if the request has a token.',
  ),
  session: {
    ...inHeader(
      'x-godwit-session',
      'Any value. Sent by the pages of this server; without it the cookie is ignored.',
    ),
    required: true,
    example: '1',
  },
}

export type ParameterName = keyof typeof parameters

export const parameter = (name: ParameterName): Reference => ({
  $ref: `#/components/parameters/${name}`,
})

/** The query of lists whose pages begin at a cursor, instead of being numbered. */
export const CURSOR_QUERY = {
  cursor: string.describe('Where the page begins: a cursor from the `link` header.'),
}

const error = (description: string, example: ExampleName, ...headers: HeaderName[]) =>
  jsonResponse(description, { schema: schemaRef('error'), example, headers })

const ERRORS = {
  'bad-request': 'The body is not a JSON object, or the version of the API is unknown.',
  unauthenticated: 'The token is missing or not valid.',
  'request-timeout': 'The rest of the request did not arrive.',
  'archive-damaged': 'Stored data of the archive is damaged. Start a new migration.',
  'not-found':
    'The resource does not exist, or the caller may not see it. The response does not reveal which.',
  'too-large': 'The body is larger than 1 MiB.',
  'not-acceptable': 'The `accept` header does not accept JSON, or lacks the required preview.',
  'server-error': 'Server error. The log of the server has the details, by request ID.',
}
const ERRORS_WITH_RETRY_AFTER = {
  forbidden:
    'The rate limit is exceeded (`x-ratelimit-reset` says when it ends), too many invalid tokens came from this address (with `retry-after`), or the `user-agent` header is missing.',
  'too-many-requests':
    'This account has too many concurrent requests of one kind: downloads and event streams, responses with more than 1,000 repositories, starts and forecasts, reads of branches, tags and files, or requests whose body is still being sent.',
  unavailable:
    'The server is overloaded, or one of its dependencies is unavailable. Try again later.',
}

/** Describes the errors, each with the example of the same name. */
function describeErrors<Name extends ExampleName>(
  texts: Record<Name, string>,
  ...headers: HeaderName[]
) {
  const entries = Object.entries(texts) as [Name, string][]
  const described = entries.map(([name, text]) => [name, error(text, name, ...headers)])
  return Object.fromEntries(described) as Record<Name, DescribedResponse>
}

/** Error responses of the operations of the API. */
export const errorResponses = {
  'not-modified': {
    description: 'Not modified. Does not count against the rate limit.',
    ...withHeaders('etag', 'link'),
  },
  ...describeErrors(ERRORS),
  ...describeErrors(ERRORS_WITH_RETRY_AFTER, 'retry-after'),
  invalid: jsonResponse(
    'The request is valid JSON, but cannot be fulfilled. Nothing was changed.',
    { schema: schemaRef('validation-error'), example: 'invalid' },
  ),
  'invalid-query': jsonResponse(
    'A parameter has an invalid value, or two parameters cannot be combined.',
    {
      schema: { anyOf: [schemaRef('validation-error'), schemaRef('error')] },
      example: 'invalid-query',
    },
  ),
}

/** Error responses of a signed link, which needs no token. */
export const linkErrorResponses = {
  'link-invalid': error('The link is not valid, or has expired.', 'link-invalid'),
  'link-gone': error('The archive was deleted or has expired.', 'not-found'),
  'archive-unreadable': error(
    'The archive cannot be read at the moment. Try again later.',
    'unavailable',
    'retry-after',
  ),
  'range-outside': {
    description: 'The range is outside the archive.',
    ...withHeaders('etag', 'accept-ranges', 'content-disposition', 'content-range'),
  },
} satisfies Record<string, DescribedResponse>

type ErrorResponseName = keyof typeof errorResponses | keyof typeof linkErrorResponses

export const errorResponse = (name: ErrorResponseName): Reference => ({
  $ref: `#/components/responses/${name}`,
})

export const notFound = errorResponse('not-found')
export const notModified = errorResponse('not-modified')
export const DONE = { description: 'Done.' }
export const YES = { description: 'Yes. The response is 404 if not.' }

/** The response with one record, whose example has the same name. */
export const recordResponse = (
  description: string,
  name: SchemaName,
  ...headers: HeaderName[]
): DescribedResponse =>
  jsonResponse(description, { schema: schemaRef(name), example: name, headers })

/** The responses of reading something with an ETag: its content, or 304. */
export const readResponses = (description: string, schema: Schema, example: ExampleName) => ({
  200: jsonResponse(description, { schema, example, headers: ['etag'] }),
  304: notModified,
})

/** The responses of reading one record, whose example has the same name. */
export const recordResponses = (description: string, name: SchemaName) =>
  readResponses(description, schemaRef(name), name)

/** The responses of reading a list: one page of it, or 304. */
export const pageResponses = (name: SchemaName, example: ExampleName, ...more: HeaderName[]) => ({
  200: jsonResponse('One page of the list.', {
    schema: schemaList(name),
    example,
    headers: ['etag', 'link', ...more],
  }),
  304: notModified,
})

/** Adds another content type to the 200 response, for clients that accept it. */
export function withContentType<Responses extends { 200: DescribedResponse }>(
  type: string,
  responses: Responses,
  schema: Schema = string,
): Responses {
  const { content } = responses[200]
  return { ...responses, 200: { ...responses[200], content: { ...content, [type]: { schema } } } }
}
