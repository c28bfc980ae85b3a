import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isName } from '../../lib/names.ts'
import { NotFound } from '../../migrations/errors.ts'
import { prefersOver } from '../middleware/media-type.ts'
import { getRepositoryPage } from '../service/service-operations.ts'

interface PageParts {
  greet(request: FastifyRequest, reply: FastifyReply): void
  /** What the paths of the API begin with. */
  firstSegments: ReadonlySet<string>
}

/**
 * Where a repository's `html_url` leads unless the operator has pages elsewhere. The page itself stands behind the `#` of the
 * dashboard, beside all others, and asks for what may be seen there.
 */
export function repositoryPage(app: FastifyInstance, { greet, firstSegments }: PageParts): void {
  app.get<{ Params: { owner: string; repo: string } }>(
    '/:owner/:repo',
    { schema: getRepositoryPage },
    async (request, reply) => {
      const { owner, repo } = request.params
      const isForPeople = prefersOver(request.headers.accept, ['text/html', '*/*'])
      const isNamed = isName(owner) && isName(repo) && !firstSegments.has(owner)
      if (!(isForPeople && isNamed)) {
        greet(request, reply)
        throw new NotFound()
      }
      // Relative, so that it leads to this server by whichever address it was asked.
      return reply
        .headers({ 'cache-control': 'no-cache', vary: 'accept' })
        .redirect(`../#/repositories/${owner}/${repo}`, 302)
    },
  )
}

/** Called before any route is added, to see them all. */
export function collectFirstSegments(app: FastifyInstance): ReadonlySet<string> {
  const segments = new Set<string>()
  app.addHook('onRoute', ({ url }) => {
    const [, first = ''] = url.split('/')
    if (/^\w/.test(first)) segments.add(first)
  })
  return segments
}
