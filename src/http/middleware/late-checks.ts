import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type Compilers = NonNullable<
  NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']
>

interface Check {
  (body: unknown): unknown
  errors: unknown
}

type Compile = (route: { schema: unknown }) => Check

/** The compiler that Fastify would take by itself. */
function loadCompiler(externalSchemas: unknown, options: unknown): Compile {
  const compilers = createRequire(import.meta.resolve('fastify'))('@fastify/ajv-compiler')
  return compilers()(externalSchemas, options)
}

/** Those of all servers of this process: their schemas and options are the same, and to compile them takes longer than to make one. */
const checks = new WeakMap<object, Check>()
let compile: Compile | undefined

/** A check for all routes that share a schema, compiled when the first body comes. */
function buildValidator(externalSchemas: unknown, options: unknown): Compile {
  return (route) => {
    const schema = route.schema as object
    const known = checks.get(schema)
    if (known) return known
    let compiled: Check | undefined
    const check = Object.assign(
      (body: unknown) => {
        compile ??= loadCompiler(externalSchemas, options)
        compiled ??= compile(route)
        const outcome = compiled(body)
        check.errors = compiled.errors
        return outcome
      },
      { errors: null as unknown },
    )
    checks.set(schema, check)
    return check
  }
}

/**
 * Bodies are checked as Fastify checks them, later: to load and compile the checks is a tenth of a start. What is sent is
 * never put together by a schema.
 */
export const lateChecks: Compilers = {
  buildValidator: buildValidator as unknown as NonNullable<Compilers['buildValidator']>,
  buildSerializer: () => () => JSON.stringify,
}
