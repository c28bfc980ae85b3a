import type { FastifyInstance } from 'fastify'
import type { Db } from '../../../db/database.ts'
import { locksOnOwn } from '../../../migrations/lock-store.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { answerIfChanged } from '../../middleware/json-answer.ts'
import { listOwnLocks } from './migration-summaries-operations.ts'
import { heldLockJson } from './summary-json.ts'

/** Why pushes to one's repositories are refused, whoever's migration it is. */
export function ownLocks(app: FastifyInstance, { db }: { db: Db }): void {
  app.get('/user/locks', { schema: listOwnLocks }, async (request, reply) => {
    const body = (await locksOnOwn(db, viewerOf(request))).map(heldLockJson)
    return answerIfChanged(request, reply, body)
  })
}
