import { arrayOf, ref, type Schema } from '../../wire/schema.ts'
import type { headers, schemas } from './components.ts'
import type { ExampleName } from './examples.ts'

export type HeaderName = keyof typeof headers
export type SchemaName = keyof typeof schemas
type Reference = { $ref: string }

export interface DescribedAnswer {
  description: string
  headers?: Record<string, Reference>
  content?: Record<string, { schema: Schema; examples?: Record<string, Reference> }>
}

export type Tag =
  | 'Migrations'
  | 'Archives'
  | 'Schedules'
  | 'Organizations'
  | 'Repositories'
  | 'Webhooks'
  | 'Caller'
  | 'Operator'
  | 'Service'

/** The operation works with and without a token. */
export const OPTIONAL_TOKEN: [{ token: [] }, object] = [{ token: [] }, {}]

/**
 * An OpenAPI operation object, except that `body` is the schema that Fastify validates request bodies with. Parameters and responses
 * are described, but never validated: invalid parameters of lists are ignored, and responses are sent as finished JSON.
 */
export interface Operation {
  operationId: string
  tags: [Tag]
  summary: string
  description?: string
  deprecated?: boolean
  /** Empty if the operation ignores tokens. */
  security?: [] | typeof OPTIONAL_TOKEN
  parameters?: (Reference | Schema)[]
  body?: Schema | undefined
  responses: Record<number, DescribedAnswer | Reference>
}

/** A route of the server with its operation and the relevant parts of its config. */
export interface DescribedRoute {
  method: string
  /** The path with parameters in braces. */
  path: string
  operation: Operation
  previewed: boolean
  uncounted: boolean
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

export const ETAG_HEADER = withHeaders('etag')
/** The 304 of routes that have no rate limit. */
export const NOT_MODIFIED = { description: 'Not modified.', ...ETAG_HEADER }

interface JsonAnswer {
  schema: Schema
  example: ExampleName
  headers?: HeaderName[]
}

export function json(
  description: string,
  { schema, example: exampleName, headers = [] }: JsonAnswer,
): DescribedAnswer {
  return {
    description,
    ...(headers.length > 0 && withHeaders(...headers)),
    content: { 'application/json': { schema, examples: example(exampleName) } },
  }
}

export const one = (name: SchemaName): Schema => ref(name)
export const several = (name: SchemaName): Schema => arrayOf(ref(name))
