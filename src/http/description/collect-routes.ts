import type { FastifyInstance, RouteOptions } from 'fastify'
import type { Operation } from './operation.ts'

/**
 * Keeps every route that is added from now on and says what it does. What stands under a prefix is a twin of what stands
 * without; HEAD comes with every GET.
 */
export function collectRoutes(app: FastifyInstance): DescribedRoute[] {
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

/** A route of the server, with what its schema and its config say of it. */
export interface DescribedRoute {
  method: string
  /** With parameters in braces. */
  path: string
  operation: Operation
  previewed: boolean
  uncounted: boolean
}
