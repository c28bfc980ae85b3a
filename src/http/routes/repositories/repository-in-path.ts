import type { FastifyRequest } from 'fastify'
import type { Db } from '../../../db/database.ts'
import { isName } from '../../../lib/names.ts'
import { NotFound } from '../../../migrations/errors.ts'
import {
  findVisibleRepository,
  type VisibleRepository,
} from '../../../repositories/visible-repository.ts'

export interface InPath {
  Params: { owner: string; repo: string }
  Querystring: Record<string, unknown>
}

/** The repository that the path names, if the caller may read it. */
export async function repositoryInPath(
  db: Db,
  { params, viewer }: FastifyRequest<InPath>,
): Promise<VisibleRepository> {
  const { owner, repo } = params
  const seen =
    isName(owner) && isName(repo)
      ? await findVisibleRepository(db, viewer, { owner, name: repo })
      : undefined
  if (!seen) throw new NotFound()
  return seen
}
