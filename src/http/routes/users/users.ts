import type { FastifyInstance } from 'fastify'
import { isName } from '../../../lib/names.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import { findVisibleAccount } from '../../../repositories/visible-repository.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { answerIfChanged } from '../../middleware/json-answer.ts'
import { found } from '../../middleware/named-in-path.ts'
import type { ServerParts } from '../../server-parts.ts'
import { currentUserJson } from './user-json.ts'
import { getCurrentUser, getUser } from './user-operations.ts'

/** Where the `url` of every owner leads, be it a person or an organization. */
export function users(
  app: FastifyInstance,
  { db, rendering }: Pick<ServerParts, 'db' | 'rendering'>,
): void {
  app.get<{ Params: { username: string } }>(
    '/users/:username',
    { config: { anonymous: true }, schema: getUser },
    async (request, reply) => {
      const { username } = request.params
      const seen = isName(username)
        ? await findVisibleAccount(db, request.viewer, username)
        : undefined
      const account = found(seen)
      const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
      return answerIfChanged(request, reply, body)
    },
  )
}

/** Clients ask who they are before anything else. */
export function currentUser(app: FastifyInstance, { db, rendering }: ServerParts): void {
  app.get('/user', { schema: getCurrentUser }, async (request, reply) => {
    const { account } = viewerOf(request)
    const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
    return answerIfChanged(request, reply, body)
  })
}
