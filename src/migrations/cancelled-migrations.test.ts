import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { steps } from '../../schema/steps.ts'
import { onEachEngine, openOldDatabase } from '../../test/support/databases.ts'
import { alice } from '../../test/support/facts.ts'
import { ORDINARY } from './migration.ts'
import { faultySummaries } from './summaries.ts'
import { readTallies } from './tally-store.ts'

/** The last schema in which a cancelled migration was counted as failed. */
const BEFORE = steps.findIndex(({ name }) => name === 'cancelled')

onEachEngine('cancelled migrations of an older database', (engine) => {
  test('do not count as failed after the upgrade', async (t) => {
    const { db, run, upgrade } = await openOldDatabase(t, engine, BEFORE)
    await run("insert into accounts values (1, 'alice', 'alice', 'User', 0, 0, 0)")
    for (const [id, reason] of ['cancelled', 'alice/site: broken', 'cancelled'].entries()) {
      await sql`insert into migrations (id, guid, owner_id, owner, options, state, reason, repository_count, version,
          created_at, updated_at, remaining, ended_at)
        values (${id + 1}, ${`guid ${id}`}, 1, ${JSON.stringify(alice)}, ${JSON.stringify(ORDINARY)}, 'failed', ${reason}, 1, 3,
          5, 6, 1, 7)`.execute(db)
    }
    await run("update tallies set count = 3 where name = 'migrations failed'")
    await upgrade()

    const counts = new Map((await readTallies(db)).map(({ name, count }) => [name, count]))
    assert.equal(counts.get('migrations failed'), 1)
    assert.equal(counts.get('migrations cancelled'), 2)
    const faulty = await faultySummaries(db, 9)
    assert.deepEqual(
      faulty.map(({ id }) => id),
      [2],
    )
  })
})
