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

  test('keeps who may do what, by the word of the files, where the forge has a word too', async (t) => {
    const { db, run, upgrade } = await openOldDatabase(t, engine, 32)
    await run(`insert into accounts (id, login, login_key, type, site_admin, created_at)
      values (1, 'alice', 'alice', 'User', 0, 0)`)
    await run(`insert into repositories (id, owner_id, name, name_key, stamp, facts, synced_at, private, created_at, updated_at, pushed_at)
      values (7, 1, 'site', 'site', '', '{}', 0, 1, 0, 0, 0)`)
    await run(`insert into collaborators (repository_id, login_key, permission)
      values (7, 'bob', 'admin'), (7, 'carl', 'read')`)
    await upgrade()
    await run(`insert into collaborators (repository_id, login_key, origin, permission)
      values (7, 'bob', 'forge', 'read')`)
    const { rows } = await sql`select login_key, origin, permission from collaborators
      order by login_key, origin`.execute(db)
    assert.deepEqual(
      rows.map((row) => Object.values(row as object).join(' ')),
      ['bob file admin', 'bob forge read', 'carl file read'],
    )
    await run('delete from repositories where id = 7')
    const left = await sql`select * from collaborators`.execute(db)
    assert.equal(left.rows.length, 0)
  })

  test('refuses a database that a newer Godwit has upgraded', async (t) => {
    const database = await openDatabase(t, engine)
    await sql`insert into godwit_schema (step, name, applied_at) values (999, 'later', 0)`.execute(
      database.db,
    )
    await assert.rejects(upgradeSchema(database), SchemaTooNew)
  })
})
