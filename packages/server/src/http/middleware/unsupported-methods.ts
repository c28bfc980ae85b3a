import type { FastifyInstance } from 'fastify'

/** Methods that no address supports. Any other method that an address does not support gets 404, as from GitHub. */
const UNSUPPORTED = new Set(['QUERY', 'TRACE'])

/**
 * Returns a function that returns the methods of the address of a request with one of these methods; none if the address does not exist.
 * It knows the routes that are added after this call.
 */
export function watchMethods(app: FastifyInstance) {
  // Otherwise Fastify rejects such a request without a content type before it looks for a route.
  app.addHttpMethod('QUERY', { overrideExisting: true })
  const routes = new Map<string, { segments: string[]; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { segments: url.split('/'), methods: new Set(['OPTIONS']) }
    for (const each of [method].flat()) route.methods.add(each)
    if (!url.includes('*')) routes.set(url, route)
  })

  return ({ method, url }: { method: string; url: string }): readonly string[] => {
    if (!UNSUPPORTED.has(method)) return []
    const sent = url.split(/[?#]/, 1)[0]!.split('/')
    const matching = [...routes.values()].filter(
      ({ segments }) =>
        segments.length === sent.length &&
        segments.every(
          (each, at) => each === sent[at] || (each.startsWith(':') && sent[at] !== ''),
        ),
    )
    // As in the router, a route with fewer parameters has precedence.
    const parameters = (segments: string[]) =>
      segments.filter((each) => each.startsWith(':')).length
    const [first] = matching.sort((a, b) => parameters(a.segments) - parameters(b.segments))
    return [...(first?.methods ?? [])].sort()
  }
}
