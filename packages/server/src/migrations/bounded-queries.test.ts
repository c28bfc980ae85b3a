import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createQueryId, type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { type Db, statementBatches } from '../db/database.ts'
import { recentExports } from './outcome-store.ts'
import { bytesOfUnusedSegments, unusedSegments } from './segment-sweep.ts'

const NOW = 1_800_000_000_000

/** Records every query, and the largest number of rows that one of them returned. */
function watched(db: Db) {
  const seen = { rows: 0, nodes: [] as RootOperationNode[] }
  const watching: KyselyPlugin = {
    transformQuery({ node }) {
      seen.nodes.push(node)
      return node
    },
    async transformResult({ result }) {
      seen.rows = Math.max(seen.rows, result.rows.length)
      return result
    },
  }
  return { db: db.withPlugin(watching), seen }
}

/** Adds a migration whose archive has `count` repositories, with the segments 0 to count - 1. */
async function addMigration(db: Db, count: number, { isReused }: { isReused: boolean }) {
  const alice = await ensureAccount(db, 'alice', 0)
  const { id } = await db
    .insertInto('migrations')
    .values({
      ...{ guid: `guid ${Math.random()}`, owner_id: alice.id, owner: '{}', options: '{}' },
      ...{ state: 'exported', reason: null, repository_count: count, version: 1, remaining: 0 },
      ...{ created_at: 0, updated_at: 0, organizations: null, archive_expires_at: NOW },
      ...{ archive_key: null, started_at: 0, ended_at: 0, archive_bytes: 1 },
      ...{ metadata_key: `metadata ${count}`, manifest_key: null },
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const all = Array.from({ length: count }, (_, position) => position)
  if (isReused) {
    for (const batch of statementBatches(all)) {
      const repositories = JSON.stringify(batch.map((at) => [at, `key ${at}`, 1, 1]))
      const row = { migration_id: id, first_order: batch[0]! + 1, finished_at: 0, repositories }
      await db.insertInto('reused_repositories').values(row).execute()
    }
    return id
  }
  const rows = all.map((position) => ({
    ...{ migration_id: id, position, outcome: 'exported', segment_key: `key ${position}` },
    ...{ reason: null, warning: null, started_at: 0, finished_at: 1, finished_order: position },
    ...{ bytes_expected: 1, bytes_done: 1, reused: 0, fingerprint: null },
  }))
  for (const batch of statementBatches(rows))
    await db.insertInto('repository_exports').values(batch).execute()
  return id
}

async function addSegments(db: Db, keys: readonly string[]) {
  for (const batch of statementBatches(keys))
    await db
      .insertInto('segments')
      .values(
        batch.map((key) => ({
          ...{ key, fingerprint: key, repository_id: null, length: 3, plain_length: 1, crc32: 0 },
          ...{ sha256: key, contents: null, verified: null, warning: null },
          ...{ created_at: 0, last_used_at: 7, checked_at: 7 },
        })),
      )
      .execute()
}

onEachEngine('queries of housekeeping', (engine) => {
  test('the segment sweep never reads more than 2,000 rows at once, and misses none', async (t) => {
    const { db, seen } = watched((await openDatabase(t, engine)).db)
    await addSegments(db, [
      ...Array.from({ length: 4500 }, (_, n) => `key ${n}`),
      ...['metadata 4100', 'unused'],
    ])
    // Several queries read the requested migration; few read any other.
    await addMigration(db, 4100, { isReused: false })
    await addMigration(db, 4490, { isReused: true })
    for (let n = 0; n < 30; n++) await addMigration(db, 1 + n, { isReused: n % 2 === 0 })
    seen.rows = 0
    const unused = (await unusedSegments(db, 8)).map(({ key }) => key).sort()
    const left = [...Array.from({ length: 10 }, (_, n) => `key ${4490 + n}`), 'unused']
    assert.deepEqual(unused, left)
    assert.equal(await bytesOfUnusedSegments(db), 3 * left.length)
    assert.deepEqual(await unusedSegments(db, 7), [])
    assert.equal(seen.rows, 2000)
  })
})

test('the times of recent exports are read from an index, however many were reused', async (t) => {
  const { db, seen } = watched((await openDatabase(t, 'sqlite')).db)
  await addMigration(db, 3, { isReused: false })
  seen.nodes = []
  assert.deepEqual((await recentExports(db))[2], { bytes: 1, ms: 1 })
  const { sql: text, parameters } = db
    .getExecutor()
    .compileQuery(seen.nodes[0] as never, createQueryId())
  assert.deepEqual(parameters, [50])
  const { rows } = await sql<{ detail: string }>`explain query plan ${sql.raw(
    text.replace('?', '50'),
  )}`.execute(db)
  assert.match(rows.map(({ detail }) => detail).join(), /repository_exports_timed/)
})

test('on SQLite, a long series of queries does not block the event loop', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const count10k = sql`with recursive n(i) as (select 1 union all select i + 1 from n limit 10000)
    select count(*) from n`
  for (let queries = 0; queries < 200; queries++) await count10k.execute(db)
  isOver = true
  assert.ok(turns > 5, `${turns} turns`)
})
