import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { connect } from '../../packages/server/src/db/connect.ts'
import type { Db } from '../../packages/server/src/db/database.ts'
import { NEWEST_SCHEMA, upgradeSchema } from '../../packages/server/src/db/upgrade.ts'
import {
  createPgBossQueue,
  type PgBossQueueOptions,
} from '../../packages/server/src/queue/pg-boss.ts'
import { copyOfTemplate } from './postgres.ts'
import { TIMEOUT_MS, until } from './wait-until.ts'

export const fastSettings = {
  superviseSeconds: 1,
  renewIntervalMs: 50,
  pollIntervalMs: 20,
  retryPauseMs: 1,
  retryLaterPauseMs: 1,
  maxFailures: 2,
}
export const NEVER = 2 ** 31 - 1
export const ignoreErrors = { onError: () => {} }
/** A test that waits for an event that never comes fails instead of hanging. */
export const timeLimit = { timeout: TIMEOUT_MS }

/** Opens a started queue on its own database, copied from one with the tables of pg-boss: creating them takes longer than most tests. */
export async function openQueue(
  t: TestContext,
  settings: Partial<PgBossQueueOptions> = fastSettings,
) {
  const databaseUrl = await copyOfTemplate(`queue_${NEWEST_SCHEMA}`, makeTables)
  const database = await connect({ dataDirectory: '', databaseUrl })
  const { db } = database
  const queue = createPgBossQueue({ databaseUrl, db, ...ignoreErrors, ...settings })
  t.after(async () => {
    await queue.stop()
    await database.close()
  })
  await queue.start()
  const enqueue = (payloads: unknown[], batch = 'batch') =>
    db.transaction().execute((tx) => queue.enqueue(tx, 'task', payloads, batch))
  return { db, queue, databaseUrl, enqueue }
}

async function makeTables(databaseUrl: string): Promise<void> {
  const database = await connect({ dataDirectory: '', databaseUrl })
  await upgradeSchema(database)
  const queue = createPgBossQueue({
    databaseUrl,
    db: database.db,
    ...ignoreErrors,
    ...fastSettings,
  })
  await queue.start()
  await queue.stop()
  await database.close()
}

/** Ages the heartbeats of all held jobs until pg-boss has taken them over. */
export async function expireHeartbeats(
  db: Db,
  isTakenOver: () => boolean,
  which = sql<boolean>`true`,
): Promise<void> {
  await until('the job is taken over', async () => {
    if (isTakenOver()) return true
    await sql`update godwit_queue.job set heartbeat_on = now() - interval '1 hour'
      where state = 'active' and ${which}`.execute(db)
    return false
  })
}

/** Ages the heartbeats of jobs in their first claim only. */
export const expireFirstHeartbeats = (db: Db, isTakenOver: () => boolean): Promise<void> =>
  expireHeartbeats(db, isTakenOver, sql<boolean>`retry_count = 0`)
