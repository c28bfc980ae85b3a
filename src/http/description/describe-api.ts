import type { FastifyInstance, RouteOptions } from 'fastify'
import { answerNotModified } from '../middleware/json-answer.ts'
import type { MediaTypeOptions } from '../middleware/media-type.ts'
import type { Rendering } from '../rendering.ts'
import { getDescription } from '../service/service-operations.ts'
import type { DescribedRoute, Operation } from './operation.ts'

interface DescriptionParts {
  rendering: Rendering
  mediaType: MediaTypeOptions
}

/** The API's own description. Called before any route is added, to see them all. */
export function describeApi(app: FastifyInstance, parts: DescriptionParts): void {
  const routes = collectRoutes(app)
  /** Put together when it is first asked for: most processes are never asked. */
  let described: Promise<string> | undefined
  async function describe(): Promise<string> {
    const { openApiDocument } = await import('./document.ts')
    return JSON.stringify(openApiDocument(routes, parts))
  }

  app.get('/openapi.json', { schema: getDescription }, async (request, reply) => {
    reply.headers({
      'access-control-allow-origin': '*',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    })
    described ??= describe()
    const description = await described
    if (answerNotModified(request, reply, [description])) return reply
    return reply.type('application/json; charset=utf-8').send(description)
  })
}

/**
 * Keeps every route that is added from now on and says what it does. What stands under a prefix is a twin of what stands
 * without; HEAD comes with every GET.
 */
function collectRoutes(app: FastifyInstance): DescribedRoute[] {
  const routes: DescribedRoute[] = []
  app.addHook('onRoute', (route) => {
    if (route.prefix === '' && isDescribed(route)) routes.push(describedRoute(route))
  })
  return routes
}

type Described = RouteOptions & { schema: Operation }

function isDescribed(route: RouteOptions): route is Described {
  return route.schema?.operationId !== undefined && route.method !== 'HEAD'
}

function describedRoute({ method, url, schema, config }: Described): DescribedRoute {
  const { previewed = false, uncounted = false } = config ?? {}
  return {
    method: String(method),
    path: url.replaceAll(/:(\w+)/g, '{$1}'),
    operation: schema,
    previewed,
    uncounted,
  }
}
