import compilers from '@fastify/ajv-compiler'

type BuildCompiler = compilers.BuildCompilerFromPool
type Validate = ReturnType<ReturnType<BuildCompiler>>

/**
 * Returns the compilers of a Fastify server that compiles the schema of a route when the first request needs it. Each schema exists
 * for two prefixes, most are never needed, and compiling all of them took a third of the time in which a server starts.
 */
export function compileAtFirstRequest(): { buildValidator: BuildCompiler } {
  const buildCompiler = compilers()
  return {
    buildValidator(...options) {
      const compile = buildCompiler(...options)
      return (schema) => {
        let compiled: Validate | undefined
        function validate(data: unknown) {
          compiled ??= compile(schema)
          const isValid = compiled(data)
          // Fastify reads the errors of the function that it was given.
          validate.errors = compiled.errors
          return isValid
        }
        validate.errors = null as Validate['errors']
        return validate as Validate
      }
    },
  }
}
