import type { FastifyRequest } from 'fastify'
import type { Db } from '../../db/database.ts'
import type { Migration } from '../../migrations/migration.ts'
import { findMigration } from '../../migrations/migration-store.ts'
import { NotFound } from '../../migrations/refusals.ts'
import { viewerOf } from '../door/authenticate.ts'

export interface ById {
  Params: { migration_id: string }
  Querystring: Record<string, unknown>
}

/** The migration that the path names, if it is the caller's. */
export async function namedMigration(db: Db, request: FastifyRequest<ById>): Promise<Migration> {
  const id = migrationIdOf(request)
  const migration = id === undefined ? undefined : await findMigration(db, viewerOf(request), id)
  if (!migration) throw new NotFound()
  return migration
}

/** An id that is no number names none. */
export function migrationIdOf({ params }: FastifyRequest<ById>): number | undefined {
  return /^\d{1,15}$/.test(params.migration_id) ? Number(params.migration_id) : undefined
}
