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

/** With a token, or without. */
export const OPTIONAL_TOKEN: [{ token: [] }, object] = [{ token: [] }, {}]

/**
 * An operation in OpenAPI's own words, but for the body of its request: that is the very schema which fastify checks
 * requests against. Parameters and answers are described and never checked: paging refuses nothing, and answers are
 * sent as strings that are ready.
 */
export interface Operation {
  operationId: string
  tags: [Tag]
  summary: string
  description?: string
  deprecated?: boolean
  /** Empty where no token is looked at. */
  security?: [] | typeof OPTIONAL_TOKEN
  parameters?: (Reference | Schema)[]
  body?: Schema | undefined
  responses: Record<number, DescribedAnswer | Reference>
}

/** A route of the server, with what its schema and its config say of it. */
export interface DescribedRoute {
  method: string
  /** With parameters in braces. */
  path: string
  operation: Operation
  previewed: boolean
  uncounted: boolean
}

declare module 'fastify' {
  // Fastify reads `body`, `querystring`, `params`, `headers` and `response` of a route's schema; the rest is ours.
  interface FastifySchema extends Partial<Omit<Operation, 'body'>> {}
}

export const header = (name: HeaderName): Reference => ({ $ref: `#/components/headers/${name}` })
const example = (name: ExampleName) => ({ [name]: { $ref: `#/components/examples/${name}` } })

export const withHeaders = (...names: HeaderName[]) => ({
  headers: Object.fromEntries(names.map((name) => [name, header(name)])),
})

interface JsonAnswer {
  schema: Schema
  example: ExampleName
  headers?: HeaderName[]
}

export function json(
  description: string,
  { schema, example: shown, headers = [] }: JsonAnswer,
): DescribedAnswer {
  return {
    description,
    ...(headers.length > 0 && withHeaders(...headers)),
    content: { 'application/json': { schema, examples: example(shown) } },
  }
}

export const one = (name: SchemaName): Schema => ref(name)
export const several = (name: SchemaName): Schema => arrayOf(ref(name))
