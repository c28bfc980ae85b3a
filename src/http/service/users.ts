import type { FastifyInstance } from 'fastify'
import { isName } from '../../ground/names.ts'
import { NotFound } from '../../migrations/refusals.ts'
import { countPublic } from '../../repositories/repository-store.ts'
import { seenAccount } from '../../repositories/seen-repository.ts'
import { answerIfChanged } from '../door/json-answer.ts'
import type { ServerParts } from '../server-parts.ts'
import { currentUserJson } from './current-user-json.ts'
import { getUser } from './user-operations.ts'

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
      const account = isName(username) ? await seenAccount(db, request.viewer, username) : undefined
      if (!account) throw new NotFound()
      const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
      return answerIfChanged(request, reply, body)
    },
  )
}
