import type { TestContext } from 'node:test'
import type { Engine } from '../../test/support/databases.ts'
import type { Account } from '../accounts/account.ts'
import { ensureAccount, findAccount } from '../accounts/account-store.ts'
import type { Scope } from '../accounts/scope.ts'
import { exportScene } from '../exporter/export-test-scene.ts'
import { sweep } from '../exporter/sweep.ts'
import { ORDINARY } from '../migrations/migration.ts'
import { type AskedSchedule, makeSchedule } from './change-schedule.ts'
import { keepArchives } from './keep-archives.ts'
import { type DueParts, runDueSchedules, runNow } from './run-schedule.ts'
import { listRuns } from './run-store.ts'
import type { Schedule } from './schedule.ts'
import { findSchedule } from './schedule-store.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR
const ARCHIVE_TTL_MS = 7 * DAY

const DAILY: AskedSchedule = {
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
  const parts: DueParts = { ...scene.parts, maxUnfinished: 5, lockTtlMs: HOUR }
  const alice = await ensureAccount(db, 'alice', 0)
  const octo = (await findAccount(db, 'octo'))!

  async function housekeeping(): Promise<void> {
    const rules = { archiveTtlMs: ARCHIVE_TTL_MS, segmentTtlMs: 30 * DAY }
    await keepArchives({ ...parts, blobs: scene.blobs, ...rules })
    await sweep({ ...parts, blobs: scene.blobs, ...rules })
  }

  return {
    ...{ ...scene, parts, alice, octo, housekeeping },
    make: (asked: Partial<AskedSchedule> = {}, scope: Scope = { owner: alice }, maker = alice) => {
      const options = { ...ORDINARY, ...asked.options }
      const maxSchedules = 3
      return makeSchedule({ ...parts, maxSchedules }, scope, maker, { ...DAILY, ...asked, options })
    },
    runDue: (change: Partial<DueParts> = {}) => runDueSchedules({ ...parts, ...change }),
    runNow: async (schedule: Schedule, by = alice) =>
      runNow(parts, (await findSchedule(db, schedule, schedule.id))!, { by, onCommitted() {} }),
    export: () => scene.work({ archiveTtlMs: ARCHIVE_TTL_MS }),
    again: async ({ id, owner }: Schedule) => (await findSchedule(db, { owner }, id))!,
    /** Newest first. */
    runs: (schedule: Schedule) => listRuns(db, schedule, { offset: 0, limit: 100 }),
    person: (login: string): Promise<Account> => ensureAccount(db, login, 0),
    migrations: () => db.selectFrom('migrations').selectAll().orderBy('id').execute(),
  }
}

export type ScheduleScene = Awaited<ReturnType<typeof scheduleScene>>
