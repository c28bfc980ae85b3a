import { NotFound } from '@godwit/lib/request-errors'
import { nameKey } from '../accounts/account.ts'
import { audited, THE_SERVICE } from '../accounts/audit-log.ts'
import { type AlsoWrite, type Db, statementBatches } from '../db/database.ts'
import * as archiveStore from '../migrations/archive-store.ts'
import type { OutcomeLog } from '../migrations/end-migration.ts'
import { repositoriesAt } from '../migrations/repository-list-store.ts'
import type { RepositoryMetadata } from '../repositories/repository-metadata.ts'
import type { ProtectedArchive, Schedule } from './schedule-store.ts'

type LoggedDeleteDependencies = archiveStore.DeleteDependencies & { log: OutcomeLog }

type KeepDependencies = LoggedDeleteDependencies & { archiveTtlMs: number }

/**
 * Keeps the newest `keep` archives of each schedule, and those with a repository that no newer archive contains. Deletes the others.
 * Kept archives do not expire while the schedule exists: their expiry is postponed, so they expire in the usual time after it is
 * deleted, or after the service paused it because its owner is gone. Archives of other migrations are not touched.
 */
export async function keepArchives(dependencies: KeepDependencies): Promise<void> {
  const { db, now, archiveTtlMs } = dependencies
  const archives = await scheduledArchives(db)
  const kept: ScheduledArchive[] = []
  for (const scheduled of Map.groupBy(archives, ({ scheduleId }) => scheduleId).values()) {
    const { protectedArchives, deletable } = await archivesBeyondKeep(db, scheduled)
    kept.push(...scheduled.slice(0, scheduled[0]!.keep), ...protectedArchives)
    for (const each of deletable) await deleteReplaced(dependencies, each)
  }
  const time = now()
  const toPostpone = kept.filter(
    ({ expiresAt, isAbandoned }) => !isAbandoned && expiresAt < time + archiveTtlMs / 2,
  )
  for (const ids of statementBatches(toPostpone.map(({ id }) => id))) {
    await db
      .updateTable('migrations')
      .set({ archive_expires_at: time + archiveTtlMs })
      .where('id', 'in', ids)
      .where('archive_expires_at', 'is not', null)
      .execute()
  }
}

const deleteReplaced = (
  dependencies: LoggedDeleteDependencies,
  { id, ownerId, scheduleId }: ScheduledArchive,
) =>
  audited(dependencies, THE_SERVICE, (record) =>
    archiveStore.removeArchive(dependencies, id, (tx) =>
      record(tx, 'migration.delete_archive', {
        subject: `migration ${id}`,
        owner: { id: ownerId },
        details: { migration: id, schedule: scheduleId },
      }),
    ),
  )

type ScheduledArchive = Awaited<ReturnType<typeof scheduledArchives>>[number]

/** Returns the archives of all schedules, or of the given ones, newest first. `id` is that of the migration. */
async function scheduledArchives(db: Db, scheduleIds?: readonly number[]) {
  const rows = await db
    .selectFrom('schedules')
    .innerJoin('schedule_runs', 'schedule_id', 'schedules.id')
    .innerJoin('migrations', 'migrations.id', 'migration_id')
    .select(['migrations.id', 'repository_count as repositoryCount'])
    .select(['migrations.created_at as createdAt', 'archive_expires_at as expiresAt'])
    .select(['archive_bytes', 'schedules.id as scheduleId', 'keep', 'paused_reason'])
    .select(['schedules.owner_id as ownerId', 'schedules.runs_as_id'])
    .where('archive_expires_at', 'is not', null)
    .$if(scheduleIds !== undefined, (all) => all.where('schedules.id', 'in', scheduleIds!))
    .orderBy('migrations.id', 'desc')
    .execute()
  return rows.map(({ paused_reason, runs_as_id, archive_bytes, ...row }) => ({
    ...row,
    expiresAt: row.expiresAt!,
    bytes: archive_bytes ?? 0,
    /** Whether the service paused a person's own schedule, for example because the account was removed. Its archives then expire. */
    isAbandoned: paused_reason !== null && row.ownerId === runs_as_id,
  }))
}

/**
 * Splits the archives beyond the newest `keep` into those that are protected and those that can be deleted. `archives` are all
 * archives of one schedule, newest first.
 */
async function archivesBeyondKeep(db: Db, archives: readonly ScheduledArchive[]) {
  const protectedArchives: (ScheduledArchive & ProtectedArchive)[] = []
  const deletable: ScheduledArchive[] = []
  const keep = archives[0]?.keep ?? 0
  if (archives.length <= keep) return { protectedArchives, deletable }
  const inNewerArchives = new Set<string>()
  const repositoriesOfEach = await archiveStore.archivedRepositories(db, archives)
  for (const [at, archive] of archives.entries()) {
    const archived = repositoriesOfEach[at]!
    const only = archived.filter((each) => !inNewerArchives.has(keysOf(each)[0]!))
    for (const key of archived.flatMap(keysOf)) inNewerArchives.add(key)
    if (at < keep) continue
    const repositories = only.map(({ fullName }) => fullName)
    if (only.length === 0) deletable.push(archive)
    else protectedArchives.push({ ...archive, migrationId: archive.id, repositories })
  }
  return { protectedArchives, deletable }
}

/** Returns what the archive of a repository replaces, most demanding first: one with git data replaces also one without. */
const keysOf = ({ repositoryId, hasGitData }: archiveStore.ArchivedRepository): string[] =>
  hasGitData ? [`${repositoryId} with git data`, `${repositoryId}`] : [`${repositoryId}`]

/** Returns the archives that each schedule keeps in addition to the newest `keep`, by the id of the schedule. */
export async function protectedArchivesOf(db: Db, scheduleIds: readonly number[]) {
  const found = new Map<number, ProtectedArchive[]>()
  if (scheduleIds.length === 0) return found
  const archives = await scheduledArchives(db, scheduleIds)
  for (const [id, ofOne] of Map.groupBy(archives, ({ scheduleId }) => scheduleId))
    found.set(id, (await archivesBeyondKeep(db, ofOne)).protectedArchives)
  return found
}

/** Returns the size of the newest archive of a schedule, which predicts that of the next one; 0 if there is none. */
export const newestArchiveBytes = async (db: Db, { id }: Schedule): Promise<number> =>
  (await scheduledArchives(db, [id]))[0]?.bytes ?? 0

/**
 * Deletes archives of a schedule that `keepArchives` would delete after the next run, oldest first, until so many bytes are free. If
 * all of them are not enough, deletes nothing and returns false.
 */
export async function makeRoomForNext(
  dependencies: LoggedDeleteDependencies,
  { id, keep }: Schedule,
  bytes: number,
): Promise<boolean> {
  const archives = await scheduledArchives(dependencies.db, [id])
  // The next archive will be one of those that are kept.
  const withNext = archives.map((each) => ({ ...each, keep: keep - 1 }))
  const { deletable } = await archivesBeyondKeep(dependencies.db, withNext)
  const toDelete: ScheduledArchive[] = []
  let freed = 0
  for (const each of deletable.toReversed()) {
    if (freed >= bytes) break
    toDelete.push(each)
    freed += each.bytes
  }
  if (freed < bytes) return false
  for (const each of toDelete) await deleteReplaced(dependencies, each)
  return true
}

/** Deletes an archive that a schedule keeps in addition to the newest `keep`. Throws NotFound if the migration has none. */
export async function releaseArchive(
  dependencies: archiveStore.DeleteDependencies,
  { id, owner }: Schedule,
  migrationId: number,
  alsoWrite: AlsoWrite,
): Promise<void> {
  const archives = (await protectedArchivesOf(dependencies.db, [id])).get(id) ?? []
  if (!archives.some((each) => each.migrationId === migrationId)) throw new NotFound()
  await archiveStore.deleteArchive(dependencies, { owner }, migrationId, alsoWrite)
}

/**
 * Returns the metadata of these repositories, each from the newest archive of the schedule that contains it. Omits repositories that no
 * archive contains.
 */
export async function metadataInArchives(db: Db, { id }: Schedule, fullNames: readonly string[]) {
  const wanted = new Set(fullNames.map(nameKey))
  const found: RepositoryMetadata[] = []
  if (wanted.size === 0) return found
  const archives = await scheduledArchives(db, [id])
  for (const [at, held] of (await archiveStore.archivedRepositories(db, archives)).entries()) {
    for (const { fullName, position } of held)
      if (wanted.delete(nameKey(fullName)))
        found.push(...(await repositoriesAt(db, archives[at]!.id, [position])))
  }
  return found
}
