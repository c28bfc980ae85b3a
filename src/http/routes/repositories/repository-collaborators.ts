import type { FastifyInstance } from 'fastify'
import type { Db } from '../../../db/database.ts'
import {
  collaboratorsOf,
  isAtLeast,
  type ListedCollaborator,
} from '../../../repositories/collaborators.ts'
import { permissionsOf } from '../../../repositories/facts.ts'
import type { Permission } from '../../../sources/source.ts'
import { answerPageOf } from '../../answer-page.ts'
import { pushAccessMissing } from '../../middleware/refusals.ts'
import type { Rendering } from '../../rendering.ts'
import { listCollaborators } from './one-repository-operations.ts'
import { type InPath, repositoryInPath } from './repository-in-path.ts'
import { collaboratorJson } from './repository-views-json.ts'

const ASKED_PERMISSIONS = new Map<unknown, Permission>([
  ['pull', 'read'],
  ['triage', 'triage'],
  ['push', 'write'],
  ['maintain', 'maintain'],
  ['admin', 'admin'],
])

/** Who may do what in a repository, for those who may push to it. */
export function repositoryCollaborators(
  app: FastifyInstance,
  { db, rendering }: { db: Db; rendering: Rendering },
): void {
  const { addresses } = rendering
  app.get<InPath>(
    '/repos/:owner/:repo/collaborators',
    { schema: listCollaborators },
    async (request, reply) => {
      const { entry, role } = await repositoryInPath(db, request)
      if (!permissionsOf(role, entry.facts).push) throw pushAccessMissing()
      const all = (await collaboratorsOf(db, entry)).filter(wantedBy(request.query))
      return answerPageOf(request, reply, addresses, all, (each) =>
        collaboratorJson(each, addresses),
      )
    },
  )
}

function wantedBy({ affiliation, permission }: Record<string, unknown>) {
  const least = ASKED_PERMISSIONS.get(permission) ?? 'read'
  return (each: ListedCollaborator): boolean =>
    isAtLeast(each.permission, least) &&
    (affiliation !== 'outside' || !each.isInside) &&
    (affiliation !== 'direct' || each.isDirect)
}
