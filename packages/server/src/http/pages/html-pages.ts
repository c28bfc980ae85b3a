import { isName } from '@godwit/lib/names'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as openapi from '../description/operation.ts'
import { prefersOver } from '../middleware/api-headers.ts'

interface PageDependencies {
  setApiHeaders(request: FastifyRequest, reply: FastifyReply): void
  /** The first path segments of the API's routes, which cannot be the names of owners. */
  firstSegments: ReadonlySet<string>
}

const REDIRECTS =
  'unless the operator has set another (`--web-url`). Redirects to the dashboard, which shows only what the viewer may read. Clients that do not prefer HTML get 404.'
const RESPONSES = {
  302: { description: 'The URL of the page.', ...openapi.withHeaders('location') },
  400: openapi.errorResponse('bad-request'),
  403: openapi.errorResponse('forbidden'),
  404: openapi.notFound,
}

const routes = openapi.routes('Service', { security: [] })({
  'service/owner-page': {
    summary: 'See the repositories of an owner in a browser',
    description: `The \`html_url\` of a person or an organization, ${REDIRECTS}`,
    responses: RESPONSES,
  },
  'service/repository-page': {
    summary: 'See a repository in a browser',
    description: `The \`html_url\` of a repository, ${REDIRECTS}`,
    responses: RESPONSES,
  },
})

/**
 * Redirects the `html_url` of an owner or a repository, unless the operator has set another `--web-url`, to its page in the
 * dashboard, which checks what the viewer may read.
 */
export function addHtmlPageRoutes(
  app: FastifyInstance,
  { setApiHeaders, firstSegments }: PageDependencies,
): void {
  interface InPath {
    Params: { owner: string; repo?: string }
  }

  /** Clients of the API get 404, because any address of theirs that this server lacks may have one or two segments. */
  function redirect(reply: FastifyReply<InPath>, page: string) {
    const { request } = reply
    const { owner, repo } = request.params
    const areNamesValid = isName(owner) && (repo === undefined || isName(repo))
    if (
      !areNamesValid ||
      firstSegments.has(owner) ||
      !prefersOver(request.headers.accept, ['text/html'])
    ) {
      setApiHeaders(request, reply)
      throw new NotFound()
    }
    // Relative, so that the client stays at the host at which it reached this server.
    return reply.headers({ 'cache-control': 'no-cache', vary: 'accept' }).redirect(page, 302)
  }

  app.get<InPath>('/:owner', routes['service/owner-page'], async ({ params }, reply) =>
    redirect(reply, `./#/owners/${params.owner}`),
  )
  app.get<InPath>('/:owner/:repo', routes['service/repository-page'], async ({ params }, reply) =>
    redirect(reply, `../#/repositories/${params.owner}/${params.repo}`),
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
