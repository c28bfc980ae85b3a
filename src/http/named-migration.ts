import type { FastifyRequest } from 'fastify'
import type { Db } from '../db/connect.ts'
import type { Migration } from '../migrations/migration.ts'
import { findMigration } from '../migrations/migration-store.ts'
import { NotFound } from '../migrations/refusals.ts'
import { viewerOf } from './authenticate.ts'

export interface ById {
  Params: { migration_id: string }
  Querystring: Record<string, unknown>
}

/** The migration that the path names, if it is the caller's. An id that is no number names none. */
export async function namedMigration(db: Db, request: FastifyRequest<ById>): Promise<Migration> {
  const id = request.params.migration_id
  const isId = /^\d{1,15}$/.test(id)
  const migration = isId ? await findMigration(db, viewerOf(request), Number(id)) : undefined
  if (!migration) throw new NotFound()
  return migration
}
