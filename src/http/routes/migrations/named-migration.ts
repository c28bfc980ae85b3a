import type { FastifyRequest } from 'fastify'
import { ownScope, type Scope } from '../../../accounts/scope.ts'
import type { Db } from '../../../db/database.ts'
import type { Migration } from '../../../migrations/migration.ts'
import {
  findMigration,
  findMigrationToRead,
  type MigrationToRead,
} from '../../../migrations/migration-store.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { found, idIn } from '../../middleware/named-in-path.ts'

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
  return found(await findMigration(db, scopeOf(request), migrationIdOf(request)))
}

/** The same, to be read from that position on. */
export async function namedMigrationToRead(
  db: Db,
  request: FastifyRequest<ById>,
  from: { offset: number },
): Promise<MigrationToRead> {
  return found(await findMigrationToRead(db, scopeOf(request), migrationIdOf(request), from))
}

export const migrationIdOf = ({ params }: FastifyRequest<ById>): number => idIn(params.migration_id)
