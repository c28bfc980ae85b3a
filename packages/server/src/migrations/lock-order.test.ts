import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { openDatabase } from '../../../../test/support/databases.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { addToken, listTokens, recordTokenUse } from '../accounts/token-store.ts'
import { type Db, statementBatches } from '../db/database.ts'
import { markSegmentsUsed } from './segment-store.ts'

test('two processes that record the use of the same tokens do not deadlock', async (t) => {
  const { db } = await openDatabase(t, 'postgres')
  const alice = await ensureAccount(db, 'alice', 0)
  for (let n = 0; n < 2; n++) await addToken(db, alice, { name: '', expiresAt: null, now: 0 })
  const ids = (await listTokens(db)).map(({ id }) => id)
  await inBothOrders(t, db, {
    held: sql`select id from tokens where id = ${ids[0]} for update`,
    rows: ids,
    write: (batch) => recordTokenUse(db, new Map(batch.map((id) => [id, { at: 7, ip: null }]))),
  })
  assert.deepEqual(
    (await listTokens(db)).map(({ lastUsedAt }) => lastUsedAt),
    [7, 7],
  )
})

test('two exports that use the same segments do not deadlock', async (t) => {
  const { db } = await openDatabase(t, 'postgres')
  // More than fit into one statement.
  const keys = Array.from({ length: 501 }, (_, n) => `key-${String(n).padStart(4, '0')}`)
  for (const batch of statementBatches(keys))
    await db.insertInto('segments').values(batch.map(segmentRow)).execute()
  await inBothOrders(t, db, {
    held: sql`select key from segments where key = ${keys[0]} for update`,
    rows: keys,
    write: (batch) => db.transaction().execute((tx) => markSegmentsUsed(tx, batch, 7)),
  })
})

const segmentRow = (key: string) => ({
  ...{ key, fingerprint: key, repository_id: null, length: 1, plain_length: 1, crc32: 0 },
  ...{
    sha256: key,
    contents: null,
    verified: null,
    warning: null,
    created_at: 0,
    last_used_at: 0,
    checked_at: 0,
  },
})

interface Writing<T> {
  /** Locks the first of the rows. */
  held: ReturnType<typeof sql>
  rows: readonly T[]
  write(rows: readonly T[]): Promise<unknown>
}

/** Starts two writers, one in the order of the rows and one in reverse, while the first row is locked; then unlocks it. */
async function inBothOrders<T>(t: TestContext, db: Db, { held, rows, write }: Writing<T>) {
  const release = Promise.withResolvers<void>()
  t.after(() => release.resolve())
  const isHeld = Promise.withResolvers<void>()
  const holder = db.transaction().execute(async (tx) => {
    await held.execute(tx)
    isHeld.resolve()
    await release.promise
  })
  await isHeld.promise
  const both = Promise.allSettled([write(rows), write(rows.toReversed())])
  await until('both wait for a lock', async () => {
    const waiting = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return waiting.rows.length === 2
  })
  release.resolve()
  await holder
  for (const each of await both)
    assert.equal(each.status === 'rejected' ? String(each.reason) : undefined, undefined)
}
