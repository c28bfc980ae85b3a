import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { onEachEngine, openOldDatabase } from '../../test/support/databases.ts'
import { alice, repositoryFacts } from '../../test/support/facts.ts'
import { ORDINARY } from './migration.ts'
import { notExportedFrom, recentRate } from './outcome-store.ts'
import { progressOf } from './progress.ts'
import { findSummary } from './summaries.ts'

/** The last schema in which a repository was carried or omitted. */
const BEFORE = 18
/** The last in which none failed. */
const BEFORE_FAILED = 20

onEachEngine('the outcomes of an older database', (engine) => {
  test('are exported and skipped after the upgrade, and the counts stay', async (t) => {
    const { db, run, upgrade } = await openOldDatabase(t, engine, BEFORE)
    await run("insert into accounts values (1, 'alice', 'alice', 'User', 0, 0, 0)")
    await sql`insert into migrations (id, guid, owner_id, owner, options, state, repository_count, version, created_at,
        updated_at, remaining, started_at, omitted_count, reused_count, bytes_done)
      values (4, 'guid', 1, ${JSON.stringify(alice)}, ${JSON.stringify({ ...ORDINARY, allowPartial: true })}, 'exporting', 3, 3, 5, 6, 1, 7, 1, 0, 9)`.execute(
      db,
    )
    for (const id of [1, 2, 3]) {
      const facts = JSON.stringify(repositoryFacts({ id, name: `r${id}` }))
      await sql`insert into facts (id, digest, repository_id, full_name, facts, named_at)
        values (${id}, ${`digest ${id}`}, ${id}, ${`alice/r${id}`}, ${facts}, 0)`.execute(db)
    }
    await run("insert into snapshots values (4, 0, '[1,2,3]')")
    await run(`insert into repository_exports (migration_id, position, outcome, segment_key, reason, started_at, finished_at,
        finished_order, bytes_done, reused)
      values (4, 0, 'carried', 'k', null, 1000, 2000, 1, 9, 0), (4, 1, 'omitted', null, 'broken', 10, 20, 2, 0, 0),
        (4, 2, null, null, null, 30, null, null, 5, 0)`)
    await run("update tallies set count = 7 where name = 'repositories omitted'")
    await run("insert into tallies_by_minute values (60000, 'repositories omitted', 2, 0)")
    await upgrade()

    const { repositories } = await progressOf(db, { id: 4 })
    assert.deepEqual(
      repositories.map(({ state }) => state),
      ['exported', 'skipped', 'exporting'],
    )
    assert.deepEqual(await notExportedFrom(db, { id: 4 }, 5), [
      { fullName: 'alice/r2', reason: 'broken' },
    ])
    const summary = await findSummary(db, { owner: alice }, 4)
    const counts = { total: 3, exported: 1, reused: 0, skipped: 1, failed: 0, remaining: 1 }
    assert.deepEqual(summary?.repositories, counts)
    assert.equal(await recentRate(db), 9)
    await run('update repository_exports set segment_key = null')
    assert.equal(await recentRate(db), null, 'what had no git data tells nothing')
    for (const [table, count] of [
      ['tallies', 7],
      ['tallies_by_minute', 2],
    ] as const) {
      const { rows } = await sql<{ name: string; count: number }>`select name, count from
        ${sql.table(table)} where name in ('repositories omitted', 'repositories skipped')`.execute(
        db,
      )
      assert.deepEqual(
        rows.map((row) => [row.name, Number(row.count)]),
        [['repositories skipped', count]],
      )
    }
  })

  test('are failed where their migration fails for them', async (t) => {
    const { db, run, upgrade } = await openOldDatabase(t, engine, BEFORE_FAILED)
    await run("insert into accounts values (1, 'alice', 'alice', 'User', 0, 0, 0)")
    const partial = { ...ORDINARY, allowPartial: true }
    const cases = [
      { state: 'failed', options: ORDINARY, skipped: 1, expected: ['exported', 'failed'] },
      { state: 'exporting', options: ORDINARY, skipped: 1, expected: ['exported', 'failed'] },
      { state: 'exported', options: partial, skipped: 1, expected: ['exported', 'skipped'] },
      { state: 'failed', options: partial, skipped: 1, expected: ['exported', 'skipped'] },
      { state: 'failed', options: partial, skipped: 2, expected: ['failed', 'failed'] },
    ]
    const facts = JSON.stringify(repositoryFacts())
    await sql`insert into facts (id, digest, repository_id, full_name, facts, named_at)
      values (1, 'digest', 1, 'alice/widgets', ${facts}, 0)`.execute(db)
    for (const [id, { state, options, skipped }] of cases.entries()) {
      await sql`insert into migrations (id, guid, owner_id, owner, options, state, repository_count, version, created_at,
          updated_at, remaining, skipped_count)
        values (${id}, ${`guid ${id}`}, 1, ${JSON.stringify(alice)}, ${JSON.stringify(options)}, ${state}, 2, 3, 5, 6, 0,
          ${skipped})`.execute(db)
      await run(`insert into snapshots values (${id}, 0, '[1,1]')`)
      for (const position of [0, 1]) {
        const [outcome, reason] =
          position < 2 - skipped ? ['exported', null] : ['skipped', 'broken']
        await sql`insert into repository_exports (migration_id, position, outcome, reason, finished_order, bytes_done, reused)
          values (${id}, ${position}, ${outcome}, ${reason}, ${position + 1}, 0, 0)`.execute(db)
      }
    }
    await upgrade()
    for (const [id, { expected }] of cases.entries()) {
      const { repositories } = await progressOf(db, { id })
      assert.deepEqual(
        repositories.map(({ state }) => state),
        expected,
      )
      const summary = await findSummary(db, { owner: alice }, id)
      const count = (state: string) => expected.filter((each) => each === state).length
      const { exported, skipped, failed } = summary!.repositories
      assert.deepEqual([exported, skipped, failed], ['exported', 'skipped', 'failed'].map(count))
    }
  })
})
