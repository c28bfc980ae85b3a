import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { inStatements } from '../db/in-statements.ts'
import { removeArchive } from '../migrations/delete-archive.ts'
import type { EndLog } from '../migrations/tell-end.ts'

export interface KeepParts {
  db: Db
  blobs: BlobStore
  now: () => number
  log: EndLog
  archiveTtlMs: number
}

/**
 * Of each schedule the newest archives, as many as it says; older ones are deleted. Those that are kept do not expire while the
 * schedule is there: their time is put off, so that they expire in the usual time after it is gone. Archives of other
 * migrations are not touched.
 */
export async function keepArchives(parts: KeepParts): Promise<void> {
  const { db, now, log, archiveTtlMs } = parts
  const { kept, older } = await scheduledArchives(db)
  for (const { migrationId, scheduleId } of older) {
    await removeArchive(parts, migrationId)
    const about = {
      audit: 'migration.delete_archive',
      migration: migrationId,
      schedule: scheduleId,
    }
    log.info(about, 'migration.delete_archive')
  }
  const time = now()
  const wanted = kept.filter(
    ({ expiresAt, isStopped }) => !isStopped && expiresAt < time + archiveTtlMs / 2,
  )
  for (const some of inStatements(wanted)) {
    const ids = some.map(({ migrationId }) => migrationId)
    await db
      .updateTable('migrations')
      .set({ archive_expires_at: time + archiveTtlMs })
      .where('id', 'in', ids)
      .where('archive_expires_at', 'is not', null)
      .execute()
  }
}

interface ScheduledArchive {
  migrationId: number
  scheduleId: number
  expiresAt: number
  /** By the service: whoever made the schedule is no longer there to want them. */
  isStopped: boolean
}

/** A run that failed has none, and so never drives out one that is good. */
async function scheduledArchives(db: Db): Promise<Record<'kept' | 'older', ScheduledArchive[]>> {
  const rows = await db
    .selectFrom('schedules')
    .innerJoin('schedule_runs', 'schedule_id', 'schedules.id')
    .innerJoin('migrations', 'migrations.id', 'migration_id')
    .select(['schedules.id as scheduleId', 'migrations.id as migrationId', 'keep'])
    .select(['archive_expires_at as expiresAt', 'paused_reason'])
    .where('archive_expires_at', 'is not', null)
    .orderBy('schedules.id')
    .orderBy('migrations.id', 'desc')
    .execute()
  const kept: ScheduledArchive[] = []
  const older: ScheduledArchive[] = []
  const counts = new Map<number, number>()
  for (const { keep, paused_reason, ...row } of rows) {
    const count = (counts.get(row.scheduleId) ?? 0) + 1
    counts.set(row.scheduleId, count)
    const archive = { ...row, expiresAt: row.expiresAt!, isStopped: paused_reason !== null }
    ;(count <= keep ? kept : older).push(archive)
  }
  return { kept, older }
}
