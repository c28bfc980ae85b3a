import type { TestContext } from 'node:test'
import type { Account, Scope } from '../../packages/server/src/accounts/account.ts'
import { ensureAccount, findAccount } from '../../packages/server/src/accounts/account-store.ts'
import { DEFAULT_OPTIONS } from '../../packages/server/src/migrations/migration.ts'
import {
  type SyncDependencies,
  syncAllRepositories,
} from '../../packages/server/src/repositories/sync.ts'
import {
  createSchedule,
  type ScheduleInput,
} from '../../packages/server/src/schedules/change-schedule.ts'
import { keepArchives } from '../../packages/server/src/schedules/keep-archives.ts'
import type { Timing } from '../../packages/server/src/schedules/next-run.ts'
import {
  type DueDependencies,
  runDueSchedules,
  runNow,
} from '../../packages/server/src/schedules/run-schedule.ts'
import { listRuns } from '../../packages/server/src/schedules/run-store.ts'
import { findSchedule, type Schedule } from '../../packages/server/src/schedules/schedule-store.ts'
import type { Engine } from './databases.ts'
import { exportScene, sweep } from './export-scene.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR
const ARCHIVE_TTL_MS = 7 * DAY

const DAILY: ScheduleInput & Omit<Timing, 'weekday'> = {
  repositories: ['alice/atlas', 'alice/birds'],
  options: {},
  every: 'day',
  at: '02:30',
  timeZone: 'Europe/Zurich',
}

/** Schedules with an exporter, and a clock that tests can set. */
export async function scheduleScene(t: TestContext, engine: Engine, since: string) {
  const scene = await exportScene(
    t,
    { 'alice/atlas': '1', 'alice/birds': '1', 'bob/notes': '1', 'octo/kit': '1' },
    engine,
    { collaborators: ['alice'], organizations: ['octo'] },
  )
  const { db, clock } = scene
  clock.now = Date.parse(since)
  const { blobs } = scene
  const dependencies: DueDependencies = {
    ...scene.dependencies,
    blobs,
    maxUnfinished: 5,
    lockTtlMs: HOUR,
  }
  const alice = await ensureAccount(db, 'alice', 0)
  const octo = (await findAccount(db, 'octo'))!

  async function runHousekeeping(): Promise<void> {
    const rules = { archiveTtlMs: ARCHIVE_TTL_MS, segmentTtlMs: 30 * DAY }
    await keepArchives({ ...dependencies, blobs: scene.blobs, ...rules })
    await sweep({ ...dependencies, blobs: scene.blobs, ...rules })
  }

  return {
    ...{ ...scene, dependencies, alice, octo, runHousekeeping: runHousekeeping },
    createSchedule: (
      input: Partial<ScheduleInput> = {},
      scope: Scope = { owner: alice },
      creator = alice,
    ) => {
      const options = { ...DEFAULT_OPTIONS, ...input.options }
      const maxSchedules = 3
      return createSchedule({ ...dependencies, maxSchedules }, scope, creator, {
        ...DAILY,
        ...input,
        options,
      })
    },
    /** Updates the repository index from the host. */
    sync: () => syncAllRepositories(scene.dependencies as SyncDependencies),
    runDue: (change: Partial<DueDependencies> = {}) =>
      runDueSchedules({ ...dependencies, ...change }),
    runNow: async (schedule: Schedule, by = alice) =>
      runNow(dependencies, (await findSchedule(db, schedule, schedule.id))!, {
        by,
        async alsoWrite() {},
      }),
    runExports: () => scene.work({ archiveTtlMs: ARCHIVE_TTL_MS }),
    reload: async ({ id, owner }: Schedule) => (await findSchedule(db, { owner }, id))!,
    /** Newest first. */
    runs: (schedule: Schedule) => listRuns(db, schedule, { offset: 0, limit: 100 }),
    createAccount: (login: string): Promise<Account> => ensureAccount(db, login, 0),
    migrations: () => db.selectFrom('migrations').selectAll().orderBy('id').execute(),
  }
}

export type ScheduleScene = Awaited<ReturnType<typeof scheduleScene>>
