import type * as wire from '@godwit/contract/schemas/types'
import type { Addresses } from '../../../repositories/addresses.ts'
import type { ScheduleRun } from '../../../schedules/run-store.ts'
import type { ProtectedArchive, Schedule } from '../../../schedules/schedule-store.ts'
import { migrationsAddress, startFlagsOf } from '../../rendering/migration-json.ts'
import { utcTimestamp, utcTimestampOrNull } from '../../rendering/rendering.ts'

export interface ScheduleHistory {
  lastRun?: ScheduleRun | undefined
  protectedArchives?: readonly ProtectedArchive[] | undefined
}

export const scheduleJson = (
  schedule: Schedule,
  { lastRun, protectedArchives = [] }: ScheduleHistory,
  addresses: Addresses,
): wire.Schedule => ({
  id: schedule.id,
  url: `${migrationsAddress(schedule.owner, addresses)}/schedules/${schedule.id}`,
  owner: schedule.owner.login,
  created_by: schedule.runsAs.login,
  name: schedule.name,
  all: schedule.isForAll,
  repositories: schedule.repositories,
  ...startFlagsOf(schedule.options),
  every: schedule.every,
  weekday: schedule.weekday,
  at: schedule.at,
  time_zone: schedule.timeZone,
  keep: schedule.keep,
  paused: schedule.isPaused,
  paused_reason: schedule.pausedReason,
  next_run_at: schedule.isPaused ? null : utcTimestamp(schedule.nextRunAt),
  last_run: lastRun ? scheduleRunJson(lastRun) : null,
  protected_archives: protectedArchives.map(({ migrationId, createdAt, repositories }) => ({
    migration_id: migrationId,
    created_at: utcTimestamp(createdAt),
    repositories,
  })),
  created_at: utcTimestamp(schedule.createdAt),
  updated_at: utcTimestamp(schedule.updatedAt),
})

export const scheduleRunJson = (run: ScheduleRun): wire.ScheduleRun => ({
  id: run.id,
  due_at: utcTimestampOrNull(run.dueAt),
  created_at: utcTimestamp(run.createdAt),
  migration_id: run.migrationId,
  state: run.state,
  reason: run.reason,
  skipped_repositories: run.skipped.map(({ fullName, reason }) => ({
    full_name: fullName,
    reason,
  })),
  has_archive: run.hasArchive,
})
