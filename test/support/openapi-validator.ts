import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

interface MediaType {
  schema: object
  examples?: Record<string, { $ref: string }>
}
export interface DescribedResponse {
  headers?: Record<string, unknown>
  content?: Record<string, MediaType>
}
export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: object
}
interface DescribedOperation {
  operationId: string
  security?: unknown[]
  parameters?: (Parameter | { $ref: string })[]
  'x-codeSamples': { source: string }[]
  requestBody?: { content: Record<string, { schema: { examples: unknown[] } }> }
  responses: Record<string, DescribedResponse | { $ref: string }>
}
export interface Description {
  servers: { url: string }[]
  paths: Record<string, Record<string, DescribedOperation>>
  components: { schemas: Record<string, object> }
}

export interface Operation extends DescribedOperation {
  method: string
  path: string
}

interface Validate {
  (value: unknown): boolean
  errors?: unknown
}

interface Ajv {
  addSchema(schema: object, key: string): void
  compile(schema: object): Validate
}

/** The same validator as fastify's, for the dialect of OpenAPI 3.1. */
function createAjv(): Ajv {
  const fromFastify = createRequire(createRequire(import.meta.url).resolve('fastify'))
  const fromItsCompiler = createRequire(fromFastify.resolve('@fastify/ajv-compiler'))
  const { Ajv2020 } = fromItsCompiler('ajv/dist/2020.js')
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
  fromItsCompiler('ajv-formats')(ajv)
  return ajv
}

/** Replaces references by the schemas. */
function resolveSchemas(
  { content }: NonNullable<DescribedOperation['requestBody']>,
  { components }: Description,
): NonNullable<DescribedOperation['requestBody']> {
  const schemaOf = (schema: { $ref?: string }) =>
    schema.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1)!]
  const types = Object.entries(content).map(([type, { schema }]) => [
    type,
    { schema: schemaOf(schema as { $ref?: string }) },
  ])
  return { content: Object.fromEntries(types) }
}

/**
 * Resolves references in an API description and validates values against its schemas. Fields that the schema
 * does not name are errors.
 */
export function openApiValidator(document: Description) {
  const ajv = createAjv()
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    ajv.addSchema(standalone(schema), `schema:${name}`)
  }
  // Compiling a schema takes longer than a hundred validations.
  const compiled = new Map<string, Validate>()
  function validatorOf(schema: object): Validate {
    const name = JSON.stringify(schema)
    const validate = compiled.get(name) ?? ajv.compile(standalone(schema))
    compiled.set(name, validate)
    return validate
  }

  return {
    operations: Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, described]): Operation => ({
          ...described,
          ...(described.requestBody && {
            requestBody: resolveSchemas(described.requestBody, document),
          }),
          method: method.toUpperCase(),
          path,
        }),
      ),
    ),

    /** Resolves a reference; returns other values unchanged. */
    lookup<T>(node: T | { $ref: string }): T {
      if (!('$ref' in (node as object))) return node as T
      const steps = (node as { $ref: string }).$ref.slice(2).split('/')
      const found = steps.reduce<unknown>((at, step) => (at as Json)[step], document)
      return found as T
    },

    assertValid(schema: object, value: unknown, what: string): void {
      const isValid = validatorOf(schema)
      assert.ok(isValid(value), `${what}: ${JSON.stringify(isValid.errors, null, 2)}`)
    },
  }
}

/** Copies a schema so that it is valid outside the description, and disallows additional fields. */
function standalone(schema: object): object {
  return mapObjects(schema, (object) => {
    const { $ref, type, properties } = object
    if (typeof $ref === 'string') return { ...object, $ref: `schema:${$ref.split('/').at(-1)}` }
    return type === 'object' && properties ? { ...object, additionalProperties: false } : object
  })
}

type Json = Record<string, unknown>
type Change = (object: Json) => Json

function mapObjects<T>(node: T, change: Change): T {
  if (Array.isArray(node)) return node.map((each) => mapObjects(each, change)) as T
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).map(([key, value]) => [key, mapObjects(value, change)])
  return change(Object.fromEntries(entries)) as T
}
