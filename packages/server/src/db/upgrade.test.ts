import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { databaseOptions, onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { type SchemaStep, steps } from '../schema/steps.ts'
import { connect } from './connect.ts'
import { upgradeSchema } from './upgrade.ts'

const TOO_NEW = /^UserError: the database has schema \d+, this version supports up to/

onEachEngine('the schema', (engine) => {
  test('is upgraded once if many processes start at the same time', async (t) => {
    const options = await databaseOptions(t, engine)
    const databases = await Promise.all(Array.from({ length: 6 }, () => connect(options)))
    await Promise.all(databases.map((database) => upgradeSchema(database)))
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

  test('is upgraded by all steps or none, and existing rows are kept', async (t) => {
    const database = await openDatabase(t, engine)
    const run = (statement: string) => sql.raw(statement).execute(database.db)
    await run("insert into secrets (name, value) values ('a', 'kept')")
    const added: SchemaStep = {
      name: 'colour',
      statements: () => ["alter table secrets add column colour text not null default 'blue'"],
    }
    const failing: SchemaStep = { name: 'failing', statements: () => ['drop table no_such_table'] }
    await assert.rejects(upgradeSchema(database, [...steps, added, failing]))
    await assert.rejects(run('select colour from secrets'), 'the first step was rolled back')
    await upgradeSchema(database, [...steps, added])
    const { rows } = await run('select name, value, colour from secrets')
    assert.deepEqual({ ...(rows[0] as object) }, { name: 'a', value: 'kept', colour: 'blue' })
    await assert.rejects(upgradeSchema(database), TOO_NEW)
  })

  test('refuses a database that a newer Godwit has upgraded', async (t) => {
    const database = await openDatabase(t, engine)
    await sql`insert into godwit_schema (step, name, applied_at) values (999, 'later', 0)`.execute(
      database.db,
    )
    await assert.rejects(upgradeSchema(database), TOO_NEW)
  })
})
