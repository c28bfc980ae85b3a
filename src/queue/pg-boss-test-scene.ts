import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { copyOfTemplate } from '../../test/support/postgres.ts'
import { TIMEOUT_MS, until } from '../../test/support/wait-until.ts'
import { connect } from '../db/connect.ts'
import type { Db } from '../db/database.ts'
import { KNOWN_SCHEMA, upgradeSchema } from '../db/upgrade.ts'
import { createPgBossQueue, type PgBossQueueOptions } from './pg-boss.ts'

export const quick = {
  superviseSeconds: 1,
  keepEveryMs: 50,
  lookEveryMs: 20,
  firstPauseMs: 1,
  notNowPauseMs: 1,
  maxFailures: 2,
}
export const NEVER = 2 ** 31 - 1
export const quietly = { onError: () => {} }
/** Who waits for what never comes fails, rather than wait on. */
export const bounded = { timeout: TIMEOUT_MS }

/** A started queue on a database of its own, where one was started before: to make its tables takes longer than most tests. */
export async function openQueue(t: TestContext, settings: Partial<PgBossQueueOptions> = quick) {
  const databaseUrl = await copyOfTemplate(`queue_${KNOWN_SCHEMA}`, makeTables)
  const database = await connect({ dataDirectory: '', databaseUrl })
  const { db } = database
  const queue = createPgBossQueue({ databaseUrl, db, ...quietly, ...settings })
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
  const queue = createPgBossQueue({ databaseUrl, db: database.db, ...quietly, ...quick })
  await queue.start()
  await queue.stop()
  await database.close()
}

/** What pg-boss sees when the holders of jobs have been silent for long; again until it has acted on that. */
export async function fallSilent(
  db: Db,
  isActedOn: () => boolean,
  which = sql<boolean>`true`,
): Promise<void> {
  await until('a job whose holder is silent is taken over', async () => {
    if (isActedOn()) return true
    await sql`update godwit_queue.job set heartbeat_on = now() - interval '1 hour'
      where state = 'active' and ${which}`.execute(db)
    return false
  })
}

/** The same of the first holder alone: whoever takes the job over is heard. */
export const firstFallsSilent = (db: Db, isActedOn: () => boolean): Promise<void> =>
  fallSilent(db, isActedOn, sql<boolean>`retry_count = 0`)
