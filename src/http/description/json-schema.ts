/** A JSON Schema of the 2020-12 dialect, which is the one OpenAPI 3.1 speaks. */
export type JsonSchema = Readonly<Record<string, unknown>>

export type RecordSchema<Field extends string = string> = {
  type: 'object'
  description?: string
  required: Field[]
  properties: Record<Field, JsonSchema>
}

export const text = { type: 'string' }
export const textOrNull = { type: ['string', 'null'] }
export const integer = { type: 'integer' }
export const count = { type: 'integer', minimum: 0 }
export const flag = { type: 'boolean' }
export const address = { type: 'string', format: 'uri' }
export const addressOrNull = { type: ['string', 'null'], format: 'uri' }
/** With placeholders in braces, sent unexpanded. */
export const addressTemplate = { type: 'string', format: 'uri-template' }
export const moment = { type: 'string', format: 'date-time' }
export const momentOrNull = { type: ['string', 'null'], format: 'date-time' }

/** Said of what GitHub does not have. */
export const EXTENSION = 'An extension of this server.'

/** Elements of any list in a request's body. */
export const MAX_LISTED = 10_000

/** One of these, and which it is unless told. */
export const choice = (values: readonly string[], usual?: string) => ({
  ...text,
  enum: [...values],
  ...(usual !== undefined && { default: usual }),
})
export const listOf = (items: JsonSchema) => ({ type: 'array', items })
export const orNull = (schema: JsonSchema) => ({ anyOf: [schema, { type: 'null' }] })

/** A schema of the description's components, by its name there. */
export const schemaNamed = (name: string) => ({ $ref: `#/components/schemas/${name}` })

export function all<Field extends string>(
  fields: readonly Field[],
  schema: JsonSchema,
): Record<Field, JsonSchema> {
  return Object.fromEntries(fields.map((field) => [field, schema])) as Record<Field, JsonSchema>
}

/**
 * A record, each of whose fields is always there but those told. The type of what is sent follows from it
 * (`src/wire/types.ts`). Open to more fields, so that a client made from it outlives the next version; our own tests close it.
 */
export function recordOf<Field extends string>(
  properties: Record<Field, JsonSchema>,
  { description, sometimes = [] }: { description?: string; sometimes?: NoInfer<Field>[] } = {},
): RecordSchema<Field> {
  const fields = Object.keys(properties) as Field[]
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    required: fields.filter((field) => !sometimes.includes(field)),
    properties,
  }
}
