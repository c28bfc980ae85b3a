import type { FastifyRequest } from 'fastify'
import type { Db } from '../../db/database.ts'
import type { Migration } from '../../migrations/migration.ts'
import {
  findMigration,
  findMigrationToRead,
  type MigrationToRead,
} from '../../migrations/migration-store.ts'
import { NotFound } from '../../migrations/refusals.ts'
import { ownScope, type Scope } from '../../migrations/scope.ts'
import { viewerOf } from '../door/authenticate.ts'

export interface ById {
  Params: { migration_id: string }
  Querystring: Record<string, unknown>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where the path names whose migrations it is about; else they are the caller's. */
    scope: Scope | null
  }
}

/** Whose migrations the path is about. */
export const scopeOf = (request: FastifyRequest): Scope =>
  request.scope ?? ownScope(viewerOf(request))

/** The migration that the path names, if it is one of that scope. */
export async function namedMigration(db: Db, request: FastifyRequest<ById>): Promise<Migration> {
  const id = migrationIdOf(request)
  const migration = id === undefined ? undefined : await findMigration(db, scopeOf(request), id)
  if (!migration) throw new NotFound()
  return migration
}

/** The same, to be read from that position on. */
export async function namedMigrationToRead(
  db: Db,
  request: FastifyRequest<ById>,
  from: { offset: number },
): Promise<MigrationToRead> {
  const id = migrationIdOf(request)
  const found =
    id === undefined ? undefined : await findMigrationToRead(db, scopeOf(request), id, from)
  if (!found) throw new NotFound()
  return found
}

/** An id that is no number names none. */
export function migrationIdOf({ params }: FastifyRequest<ById>): number | undefined {
  return /^\d{1,15}$/.test(params.migration_id) ? Number(params.migration_id) : undefined
}
