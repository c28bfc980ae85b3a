/**
 * Functions that build JSON Schemas (dialect 2020-12, as in OpenAPI 3.1). A schema carries the TypeScript type of its values, so
 * that each shape is written once. TypeBox does the same, but importing it takes 21 MB of memory and 115 ms at every start.
 */
declare const TYPE: unique symbol

export type Schema<T = unknown> = Readonly<Record<string, unknown>> & {
  readonly [TYPE]?: () => T
}

/** The type of the values that a schema describes. */
export type Static<S> = S extends { readonly [TYPE]?: () => infer T } ? T : never

type Simplify<T> = { [K in keyof T]: T[K] }
type Properties = Readonly<Record<string, Schema>>
type Fields<P extends Properties> = { -readonly [K in keyof P]: Static<P[K]> }
type WithOptional<T, O extends keyof T> = Simplify<Omit<T, O> & Partial<Pick<T, O>>>

interface ObjectSchema<P extends Properties, T> {
  readonly [TYPE]?: () => T
  readonly [keyword: string]: unknown
  readonly type: 'object'
  readonly properties: P
}

/** A schema to which a description can be added. The method is not a keyword: it is in neither the JSON nor a copy by spread. */
class Describable<T> {
  declare readonly [TYPE]?: () => T
  readonly [keyword: string]: unknown

  constructor(keywords: Readonly<Record<string, unknown>>) {
    Object.assign(this, keywords)
  }

  /** `limits` are further keywords, such as `maxLength` or `default`. */
  describe(description: string, limits: Readonly<Record<string, unknown>> = {}): Describable<T> {
    return new Describable({ ...this, ...limits, description })
  }

  /** Adds keywords for values that the handler of a request refuses. They are described, but not validated: its messages say more. */
  refusing(keywords: Readonly<Record<string, unknown>>): Describable<T> {
    return new Describable({ ...this, [REFUSED]: keywords })
  }
}

const REFUSED = Symbol('refused')

/** A replacer for JSON.stringify, which writes the keywords of `refusing`. */
export const withRefused = (_key: string, value: unknown): unknown =>
  isObject(value) && REFUSED in value ? { ...value, ...(value[REFUSED] as object) } : value

const schema = <T>(keywords: Readonly<Record<string, unknown>>) => new Describable<T>(keywords)

export const string = schema<string>({ type: 'string' })
export const integer = schema<number>({ type: 'integer' })
export const number = schema<number>({ type: 'number' })
export const count = schema<number>({ type: 'integer', minimum: 0 })
export const alwaysZero = count.describe('Always 0: Godwit does not count these.')
export const boolean = schema<boolean>({ type: 'boolean' })
export const nullSchema = schema<null>({ type: 'null' })
export const uri = schema<string>({ type: 'string', format: 'uri' })
export const uriReference = schema<string>({ type: 'string', format: 'uri-reference' })
/** A URI with placeholders in braces; the server never expands it. */
export const uriTemplate = schema<string>({ type: 'string', format: 'uri-template' })
export const uuid = schema<string>({ type: 'string', format: 'uuid' })
export const dateTime = schema<string>({ type: 'string', format: 'date-time' })

export const literal = <const T extends string | number | boolean>(value: T) =>
  schema<T>({ const: value })

export const enumOf = <const T extends string>(values: readonly T[], defaultValue?: T) =>
  schema<T>({
    type: 'string',
    enum: values,
    ...(defaultValue !== undefined && { default: defaultValue }),
  })

export const arrayOf = <S extends Schema>(items: S) => schema<Static<S>[]>({ type: 'array', items })

export const anyOf = <const S extends Schema>(schemas: readonly S[]) =>
  schema<Static<S>>({ anyOf: schemas })

export const mapOf = <S extends Schema>(values: S) =>
  schema<Record<string, Static<S>>>({ type: 'object', additionalProperties: values })

/** Adds `null` to the values. */
export function nullable<S extends Schema>(base: S): Describable<Static<S> | null> {
  const { type } = base
  if (typeof type !== 'string' || type === 'object') return schema({ anyOf: [base, nullSchema] })
  const values = base.enum as readonly unknown[] | undefined
  return schema({ ...base, type: [type, 'null'], ...(values && { enum: [...values, null] }) })
}

export const stringOrNull = nullable(string)
export const dateTimeOrNull = nullable(dateTime)
export const countOrNull = nullable(count)

/** Refers to a schema among the components of the API description. `T` is the type of that schema. */
export const ref = <T>(name: string) => schema<T>({ $ref: `#/components/schemas/${name}` })

/** Returns several properties with the same schema. */
export const each = <const Name extends string, S extends Schema>(
  names: readonly Name[],
  schemaOfEach: S,
): Record<Name, S> =>
  Object.fromEntries(names.map((name) => [name, schemaOfEach])) as Record<Name, S>

/**
 * An object in a response. All properties are present, except the `optional` ones. Other properties are allowed, so that
 * clients generated from the description accept later versions of the server.
 */
export function object<P extends Properties, const O extends keyof P & string = never>(
  properties: P,
  { description, optional = [] }: { description?: string; optional?: readonly O[] } = {},
): ObjectSchema<P, WithOptional<Fields<P>, O>> {
  const isRequired = (name: string) => !(optional as readonly string[]).includes(name)
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    required: Object.keys(properties).filter(isRequired),
    properties,
  }
}

/** An object without optional properties, with a description. */
export const described = <P extends Properties>(description: string, properties: P) =>
  object(properties, { description })

/** The body of a request. All properties are optional, except the `required` ones. */
export const request = <P extends Properties, const R extends keyof P & string = never>(
  properties: P,
  { required = [], examples }: { required?: readonly R[]; examples?: readonly unknown[] } = {},
): ObjectSchema<P, WithOptional<Fields<P>, Exclude<keyof P, R>>> => ({
  type: 'object',
  ...(required.length > 0 && { required }),
  properties,
  ...(examples && { examples }),
})

/** Selects the properties that a client reads. Only these are checked and typed, because servers may send less or more. */
export function pick<
  P extends Properties,
  T,
  const R extends keyof T & keyof P & string,
  const O extends keyof T & keyof P & string = never,
>(
  { properties }: ObjectSchema<P, T>,
  required: readonly R[],
  optional: readonly O[] = [],
): Schema<
  Simplify<{ [K in R]: NonNullable<T[K]> | Extract<T[K], null> } & { [K in O]?: T[K] | null }>
> {
  const names = [...required, ...optional]
  return {
    type: 'object',
    required,
    properties: Object.fromEntries(names.map((name) => [name, properties[name]])),
  }
}

/**
 * Returns whether a value has the shape of a schema. This is for responses of other servers, so it is lenient: it ignores
 * formats, limits and enumerations, accepts null for an optional property, and any object for a reference.
 */
export function matches<S extends Schema>(shape: S, value: unknown): value is Static<S> {
  const { $ref, type, anyOf, properties = {}, required = [], items } = shape as JsonSchema
  if ($ref !== undefined) return isObject(value)
  if (anyOf) return anyOf.some((each) => matches(each, value))
  if (type !== undefined && ![type].flat().some((name) => hasType(name, value))) return false
  if (Array.isArray(value)) return !items || value.every((each) => matches(items, each))
  if (!isObject(value)) return true
  return Object.entries(properties).every(([name, property]) =>
    required.includes(name)
      ? matches(property, value[name])
      : matchesOptional(property, value[name]),
  )
}

const matchesOptional = (property: Schema, value: unknown): boolean =>
  value === undefined || value === null || matches(property, value)

interface JsonSchema {
  $ref?: string
  type?: string | readonly string[]
  anyOf?: readonly Schema[]
  properties?: Properties
  required?: readonly string[]
  items?: Schema
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function hasType(name: string, value: unknown): boolean {
  if (name === 'null') return value === null
  if (name === 'array') return Array.isArray(value)
  if (name === 'object') return isObject(value)
  return typeof value === (name === 'integer' ? 'number' : name)
}

/** Added to the descriptions of operations and fields that GitHub's API does not have. */
export const EXTENSION = 'An extension of this server.'

/** The maximum number of elements of any list in a request. */
export const MAX_LIST_LENGTH = 10_000
