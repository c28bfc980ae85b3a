import type { RepositoryName } from '@godwit/hosts/source'
import { nextTurn } from '@godwit/lib/turns'
import type { InferResult } from 'kysely'
import { nameKey, type Viewer } from '../accounts/account.ts'
import { countRows, type Db, hasRow, selectInBatches, statementBatches } from '../db/database.ts'
import { findIdByName } from '../repositories/repository-store.ts'
import { ownsOrganization } from '../repositories/visible-repository.ts'

export type HeldLock = InferResult<ReturnType<typeof selectLocks>>[number]

export async function insertLocks(
  tx: Db,
  migrationId: number,
  repositoryIds: readonly number[],
  { lockedAt, expiresAt }: { lockedAt: number; expiresAt: number },
): Promise<void> {
  for (const batch of statementBatches(repositoryIds)) {
    await nextTurn()
    await tx
      .insertInto('repository_locks')
      .values(
        batch.map((repository_id) => ({
          migration_id: migrationId,
          repository_id,
          locked_at: lockedAt,
          expires_at: expiresAt,
          released_at: null,
        })),
      )
      .execute()
  }
}

export async function heldLocks(db: Db, migrationId: number): Promise<HeldLock[]> {
  return selectHeld(db).where('migration_id', '=', migrationId).orderBy('repository_id').execute()
}

export type RecordedLock = Awaited<ReturnType<typeof recordedLocks>>[number]

/** Returns all locks that are held, or were released and may still be set at the source. */
export async function recordedLocks(db: Db) {
  return selectLocks(db)
    .select('released_at as releasedAt')
    .orderBy('repository_id')
    .orderBy('migration_id')
    .execute()
}

export async function newestLocks(db: Db, atMost: number): Promise<HeldLock[]> {
  return selectHeld(db)
    .orderBy('locked_at', 'desc')
    .orderBy('repository_id')
    .limit(atMost)
    .execute()
}

/** Returns locks on repositories that the viewer, or an organization of the viewer, owns, or that the viewer administers. */
export async function locksOnOwn(db: Db, { account }: Viewer): Promise<HeldLock[]> {
  return selectHeld(db)
    .where((eb) =>
      eb.or([
        eb('repositories.owner_id', '=', account.id),
        eb.and([
          eb('accounts.type', '=', 'Organization'),
          ownsOrganization(account.id, 'repositories.owner_id'),
        ]),
        eb.exists(
          eb
            .selectFrom('collaborators')
            .select('permission')
            .whereRef('collaborators.repository_id', '=', 'repository_locks.repository_id')
            .where('collaborators.login_key', '=', nameKey(account.login))
            .where('permission', '=', 'admin'),
        ),
      ]),
    )
    .orderBy('locked_at', 'desc')
    .orderBy('repository_locks.repository_id')
    .limit(MAX_OWN)
    .execute()
}

/** More than a page can show. */
const MAX_OWN = 1000

/** `holder` is the owner of the migration. */
function selectLocks(db: Db) {
  return db
    .selectFrom('repository_locks')
    .innerJoin('repositories', 'repositories.id', 'repository_locks.repository_id')
    .innerJoin('accounts', 'accounts.id', 'repositories.owner_id')
    .innerJoin('migrations', 'migrations.id', 'repository_locks.migration_id')
    .innerJoin('accounts as holders', 'holders.id', 'migrations.owner_id')
    .select(['repository_id as repositoryId', 'migration_id as migrationId'])
    .select(['locked_at as lockedAt', 'expires_at as expiresAt'])
    .select(['accounts.login as owner', 'repositories.name', 'holders.login as holder'])
}

const selectHeld = (db: Db) => selectLocks(db).where('released_at', 'is', null)

export function countAllHeldLocks(db: Db): Promise<number> {
  return countRows(db.selectFrom('repository_locks').where('released_at', 'is', null))
}

/** Counts the held locks of each migration. Migrations without locks are missing. */
export async function countHeldLocks(db: Db, migrationIds: readonly number[]) {
  const rows = await selectInBatches(migrationIds, (batch) =>
    db
      .selectFrom('repository_locks')
      .select(['migration_id', (eb) => eb.fn.countAll<number>().as('held')])
      .where('migration_id', 'in', batch)
      .where('released_at', 'is', null)
      .groupBy('migration_id'),
  )
  return new Map(rows.map((row) => [row.migration_id, row.held]))
}

const releaseHeld = (db: Db, now: number) =>
  db.updateTable('repository_locks').set({ released_at: now }).where('released_at', 'is', null)

/** Releases the migration's lock on one repository, or all its locks. Returns the repositories. */
export async function releaseLocks(
  tx: Db,
  migrationId: number,
  now: number,
  repositoryId?: number,
): Promise<number[]> {
  let query = releaseHeld(tx, now).where('migration_id', '=', migrationId)
  if (repositoryId !== undefined) query = query.where('repository_id', '=', repositoryId)
  const rows = await query.returning('repository_id').execute()
  return rows.map((row) => row.repository_id)
}

/** Releases all locks on a repository. Returns its id and the number of released locks; undefined if the name is unknown. */
export async function releaseLocksOn(db: Db, repository: RepositoryName, now: number) {
  const repositoryId = await findIdByName(db, repository)
  if (repositoryId === undefined) return undefined
  const { numUpdatedRows } = await releaseHeld(db, now)
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
  return { repositoryId, locks: Number(numUpdatedRows) }
}

export async function releaseExpiredLocks(db: Db, now: number): Promise<void> {
  await releaseHeld(db, now).where('expires_at', '<=', now).execute()
}

/** Returns repositories with a released lock that may still be set at the source. */
export async function repositoriesToReconcile(db: Db): Promise<number[]> {
  const rows = await db
    .selectFrom('repository_locks')
    .select('repository_id')
    .distinct()
    .where('released_at', 'is not', null)
    .execute()
  return rows.map((row) => row.repository_id)
}

/** Returns whether the repository must refuse pushes now. */
export async function isLockHeld(db: Db, repositoryId: number): Promise<boolean> {
  const locks = db.selectFrom('repository_locks').select('migration_id')
  const held = locks.where('repository_id', '=', repositoryId).where('released_at', 'is', null)
  return hasRow(held.limit(1))
}

/** Finds the repository by name. An unknown repository is not locked. */
export async function isLockHeldOn(db: Db, { owner, name }: RepositoryName): Promise<boolean> {
  const held = selectHeld(db).where('accounts.login_key', '=', nameKey(owner))
  return hasRow(held.where('name_key', '=', nameKey(name)).limit(1))
}

/** Returns the migrations whose released locks on the repository are not yet deleted. */
export async function releasedLocks(db: Db, repositoryId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('repository_locks')
    .select('migration_id')
    .where('repository_id', '=', repositoryId)
    .where('released_at', 'is not', null)
    .execute()
  return rows.map((row) => row.migration_id)
}

/** Deletes released locks after the source was updated. */
export async function deleteLocks(db: Db, repositoryId: number, migrationIds: readonly number[]) {
  if (migrationIds.length === 0) return
  await db
    .deleteFrom('repository_locks')
    .where('repository_id', '=', repositoryId)
    .where('migration_id', 'in', migrationIds)
    .execute()
}
