import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

export interface MediaType {
  schema: object
  examples?: Record<string, { $ref: string }>
}
export interface DescribedAnswer {
  headers?: Record<string, unknown>
  content?: Record<string, MediaType>
}
export interface DescribedOperation {
  operationId: string
  security?: unknown[]
  requestBody?: { content: Record<string, { schema: { examples: unknown[] } }> }
  responses: Record<string, DescribedAnswer | { $ref: string }>
}
export interface Description {
  servers: { url: string }[]
  paths: Record<string, Record<string, DescribedOperation>>
  components: { schemas: Record<string, unknown> }
}

export interface Operation extends DescribedOperation {
  method: string
  path: string
}

interface Ajv {
  addSchema(schema: object, key: string, ...rest: unknown[]): void
  compile(schema: object): { (value: unknown): boolean; errors?: unknown }
}

/** The one that fastify checks requests with, in the dialect of OpenAPI 3.1. */
function createAjv(): Ajv {
  const fromFastify = createRequire(createRequire(import.meta.url).resolve('fastify'))
  const fromItsCompiler = createRequire(fromFastify.resolve('@fastify/ajv-compiler'))
  const { Ajv2020 } = fromItsCompiler('ajv/dist/2020.js')
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
  fromItsCompiler('ajv-formats')(ajv)
  return ajv
}

/** Looks things up in a description, and holds values against it. Fields that it does not name are faults here. */
export function openApiValidator(document: Description) {
  const ajv = createAjv()
  ajv.addSchema(closed(document), 'api', undefined, false)

  return {
    operations: Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, described]): Operation => ({ ...described, method: method.toUpperCase(), path }),
      ),
    ),

    /** What a reference leads to, or the thing itself. */
    lookup<T>(node: T | { $ref: string }): T {
      if (!('$ref' in (node as object))) return node as T
      const steps = (node as { $ref: string }).$ref.slice(2).split('/')
      return steps.reduce((at, step) => at[step] as never, document as never)
    },

    assertValid(schema: object, value: unknown, what: string): void {
      const isValid = ajv.compile(closed(rooted(schema)))
      assert.ok(isValid(value), `${what}: ${JSON.stringify(isValid.errors, null, 2)}`)
    },
  }
}

/** No object may have other fields than those that are named. */
function closed<T>(node: T): T {
  return mapObjects(node, (object) =>
    object.type === 'object' && 'properties' in object
      ? { ...object, additionalProperties: false }
      : object,
  )
}

/** A schema from inside of the description, usable outside of it. */
function rooted(schema: object): object {
  return mapObjects(schema, (object) =>
    typeof object.$ref === 'string' ? { ...object, $ref: `api${object.$ref}` } : object,
  )
}

type Change = (object: Record<string, unknown>) => Record<string, unknown>

function mapObjects<T>(node: T, change: Change): T {
  if (Array.isArray(node)) return node.map((each) => mapObjects(each, change)) as T
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).map(([key, value]) => [key, mapObjects(value, change)])
  return change(Object.fromEntries(entries)) as T
}
