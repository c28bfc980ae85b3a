import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isName } from '../../lib/names.ts'
import { NotFound } from '../../migrations/errors.ts'
import * as openapi from '../description/operation.ts'
import { prefersOver } from '../middleware/api-headers.ts'

interface PageParts {
  setApiHeaders(request: FastifyRequest, reply: FastifyReply): void
  /** The first path segments of the API's routes, which cannot be the names of owners. */
  firstSegments: ReadonlySet<string>
}

const getRepositoryPage = {
  operationId: 'service/repository-page',
  tags: ['Service'],
  summary: 'See a repository in a browser',
  description:
    'The `html_url` of a repository, unless the operator has set another (`--web-url`). Redirects to the dashboard, which shows the repository to callers who may read it. Clients that prefer JSON get 404.',
  security: [],
  parameters: [openapi.parameter('owner'), openapi.parameter('repo')],
  responses: {
    302: { description: 'The URL of the page.', ...openapi.withHeaders('location') },
    404: openapi.notFound,
  },
} satisfies openapi.Operation

/**
 * Redirects the `html_url` of a repository, unless the operator has set another `--web-url`, to its page in the dashboard, which
 * checks what the viewer may read.
 */
export function addRepositoryPageRoute(
  app: FastifyInstance,
  { setApiHeaders, firstSegments }: PageParts,
): void {
  app.get<{ Params: { owner: string; repo: string } }>(
    '/:owner/:repo',
    { schema: getRepositoryPage },
    async (request, reply) => {
      const { owner, repo } = request.params
      const isBrowser = prefersOver(request.headers.accept, ['text/html', '*/*'])
      const isNamed = isName(owner) && isName(repo) && !firstSegments.has(owner)
      if (!(isBrowser && isNamed)) {
        setApiHeaders(request, reply)
        throw new NotFound()
      }
      // Relative, so that the client stays at the host at which it reached this server.
      return reply
        .headers({ 'cache-control': 'no-cache', vary: 'accept' })
        .redirect(`../#/repositories/${owner}/${repo}`, 302)
    },
  )
}

/** Collects the first segment of every route that is added from now on. */
export function collectFirstSegments(app: FastifyInstance): ReadonlySet<string> {
  const segments = new Set<string>()
  app.addHook('onRoute', ({ url }) => {
    const [, first = ''] = url.split('/')
    if (/^\w/.test(first)) segments.add(first)
  })
  return segments
}
