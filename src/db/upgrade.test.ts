import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { steps } from '../../schema/steps.ts'
import {
  databaseOptions,
  onEachEngine,
  openDatabase,
  openOldDatabase,
} from '../../test/support/databases.ts'
import { connect } from './connect.ts'
import { SchemaTooNew, upgradeSchema } from './upgrade.ts'

onEachEngine('the schema', (engine) => {
  test('is upgraded once when many start at the same moment', async (t) => {
    const options = await databaseOptions(t, engine)
    const databases = await Promise.all(Array.from({ length: 6 }, () => connect(options)))
    await Promise.all(databases.map(upgradeSchema))
    const { rows } = await sql`select step from godwit_schema order by step`.execute(
      databases[0]!.db,
    )
    assert.equal(rows.length, steps.length)
    await Promise.all(databases.map((database) => database.close()))
  })

  test('upgrading again changes nothing', async (t) => {
    const database = await openDatabase(t, engine)
    const before = await sql`select * from godwit_schema`.execute(database.db)
    await upgradeSchema(database)
    const after = await sql`select * from godwit_schema`.execute(database.db)
    assert.deepEqual(after.rows, before.rows)
  })

  test('gives the rows that are there what a new column is to hold', async (t) => {
    const { db, run, upgrade } = await openOldDatabase(t, engine, 8)
    await run("insert into accounts values (1, 'alice', 'alice', 'User', 0, 0)")
    for (const [id, isPrivate] of [true, false].entries()) {
      const facts = {
        private: isPrivate,
        createdAt: 1.5,
        updatedAt: 1_700_000_000_000,
        pushedAt: 3,
      }
      await run(`insert into repositories (id, owner_id, name, name_key, stamp, facts, synced_at)
        values (${id}, 1, 'r${id}', 'r${id}', '', '${JSON.stringify(facts)}', 0)`)
    }
    await upgrade()
    const { rows } = await sql`select private, created_at, updated_at, pushed_at from repositories
      order by id`.execute(db)
    const times = { created_at: 1, updated_at: 1_700_000_000_000, pushed_at: 3 }
    assert.deepEqual(
      rows.map((row) => ({ ...(row as object) })),
      [
        { private: 1, ...times },
        { private: 0, ...times },
      ],
    )
  })

  test('refuses a database that a newer Godwit has upgraded', async (t) => {
    const database = await openDatabase(t, engine)
    await sql`insert into godwit_schema (step, name, applied_at) values (999, 'later', 0)`.execute(
      database.db,
    )
    await assert.rejects(upgradeSchema(database), SchemaTooNew)
  })
})
