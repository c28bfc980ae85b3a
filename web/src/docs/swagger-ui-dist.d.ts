/** The little of Swagger UI that the page uses; the package brings no types. */
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  interface SwaggerUi {
    layoutActions: { updateFilter(words: string): void }
  }
  export default function start(options: Record<string, unknown>): SwaggerUi
}
