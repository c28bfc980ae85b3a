import { existsSync, readFileSync } from 'node:fs'
import { isInstalled, needs } from './needs.ts'
import packageJson from './package.json' with { type: 'json' }

const FILE = new URL(
  `../../node_modules/.cache/openapi/${packageJson.config.openapi}/api.github.com.json`,
  import.meta.url,
)

export const needsDescription = () =>
  needs(
    'GitHub’s description of its API, or ajv',
    existsSync(FILE) && isInstalled('ajv') && isInstalled('ajv-formats'),
  )

interface Reference {
  $ref: string
}
interface Response {
  content?: { 'application/json'?: { schema: object } }
}
interface Description {
  openapi: string
  paths: Record<string, Record<string, { responses: Record<string, Response | Reference> }>>
  components: { schemas: Record<string, object>; responses: Record<string, Response> }
}

/** The used part of ajv, which is loaded by name: without it the test is skipped. */
interface Ajv {
  addSchema(schema: object): void
  compile(schema: object): Validate
  errorsText(errors: Validate['errors']): string
}
interface Validate {
  (value: unknown): boolean
  errors?: object[] | null
}

export interface OpenApi {
  /** The described statuses of the operation. */
  statusesOf(method: string, path: string): number[]
  /** Returns what is wrong with a response of the operation; undefined if nothing is. */
  validationError(
    method: string,
    path: string,
    response: { status: number; body: string },
  ): string | undefined
}

const ID = 'github'
/** The schema of every error that the description does not mention; stricter than its own. */
const ANY_ERROR = {
  allOf: [{ $ref: `${ID}#/components/schemas/basic-error` }],
  required: ['message', 'documentation_url', 'status'],
}

let loaded: Promise<OpenApi> | undefined

/** Loads the description once per process: it has several megabytes. */
export function readDescription(): Promise<OpenApi> {
  loaded ??= read()
  return loaded
}

async function read(): Promise<OpenApi> {
  const { openapi, paths, components } = JSON.parse(readFileSync(FILE, 'utf8')) as Description
  if (!openapi.startsWith('3.0.'))
    throw new Error(`OpenAPI ${openapi} has another notation for null`)
  const ajv = await createAjv()
  ajv.addSchema({ $id: ID, components: { schemas: withNulls(components.schemas) } })

  function responses(method: string, path: string): Record<string, Response | Reference> {
    const operation = paths[path]?.[method.toLowerCase()]
    if (!operation) throw new Error(`there is no ${method} ${path}`)
    return operation.responses
  }

  function schemaOf(method: string, path: string, status: number): object | undefined {
    const described = responses(method, path)[status]
    if (!described) return ANY_ERROR
    const response =
      '$ref' in described ? components.responses[described.$ref.split('/').at(-1)!] : described
    const schema = response?.content?.['application/json']?.schema
    return schema && (withNulls(absolute(schema)) as object)
  }

  const compiled = new Map<string, Validate | undefined>()
  function validatorOf(method: string, path: string, status: number): Validate | undefined {
    const name = `${method} ${path} ${status}`
    if (!compiled.has(name)) {
      const schema = schemaOf(method, path, status)
      compiled.set(name, schema && ajv.compile(schema))
    }
    return compiled.get(name)
  }

  return {
    statusesOf: (method, path) => Object.keys(responses(method, path)).map(Number),
    validationError(method, path, { status, body }) {
      if (status === 204 || status === 304) return body === '' ? undefined : 'has a body'
      const validate = validatorOf(method, path, status)
      if (!validate) return undefined
      return validate(JSON.parse(body)) ? undefined : ajv.errorsText(validate.errors)
    },
  }
}

async function createAjv(): Promise<Ajv> {
  const [ajv, formats] = ['ajv', 'ajv-formats']
  const { Ajv } = await import(ajv!)
  const { default: addFormats } = await import(formats!)
  // Not strict: the description has keywords that JSON Schema does not know.
  const instance = new Ajv({ strict: false, allErrors: true })
  addFormats.default(instance)
  return instance
}

/** Converts `nullable` of OpenAPI 3.0 to a null type of JSON Schema. */
function withNulls(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNulls)
  if (typeof schema !== 'object' || schema === null) return schema
  const { nullable, ...rest } = schema as { nullable?: unknown }
  if (nullable !== true && nullable !== undefined) Object.assign(rest, { nullable })
  const plain = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, withNulls(value)]),
  )
  return nullable === true ? { anyOf: [{ type: 'null' }, plain] } : plain
}

/** Makes references of a schema absolute. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', `"${ID}#/components/`))
}
