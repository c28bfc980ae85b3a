import type { FastifyInstance } from 'fastify'
import { countPublic } from '../../repositories/repository-store.ts'
import { viewerOf } from '../door/authenticate.ts'
import { answerIfChanged } from '../door/json-answer.ts'
import type { ServerParts } from '../server-parts.ts'
import { currentUserJson } from './current-user-json.ts'
import { getCurrentUser } from './service-operations.ts'

/** Clients ask who they are before anything else. */
export function currentUser(app: FastifyInstance, { db, rendering }: ServerParts): void {
  app.get('/user', { schema: getCurrentUser }, async (request, reply) => {
    const { account } = viewerOf(request)
    const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
    return answerIfChanged(request, reply, body)
  })
}
