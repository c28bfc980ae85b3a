/** Types of the parts of Swagger UI that the page uses: the package has none. */
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  interface SwaggerUi {
    layoutActions: { updateFilter(words: string): void }
  }
  export default function start(options: Record<string, unknown>): SwaggerUi
}
