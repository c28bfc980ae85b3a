import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import {
  assertFinding,
  doctor,
  errorsAmong,
  findResult,
  validSettings,
} from '../../../../../test/support/doctor-scene.ts'
import { freePort } from '../../../../../test/support/free-port.ts'
import { createDatabase } from '../../../../../test/support/postgres.ts'
import { connect } from '../../../../server/src/db/connect.ts'
import { NEWEST_SCHEMA, upgradeSchema } from '../../../../server/src/db/upgrade.ts'

// A bucket: test/long/doctor-bucket.test.ts.

describe('SQLite', () => {
  async function filled(t: TestContext) {
    const settings = await validSettings(t)
    const database = await connect({ dataDirectory: settings.data, databaseUrl: undefined })
    await upgradeSchema(database)
    await database.close()
    return { file: join(settings.data, 'godwit.sqlite'), settings }
  }

  test('with damaged pages', async (t) => {
    const { file, settings } = await filled(t)
    const bytes = await readFile(file)
    await writeFile(file, bytes.fill(0xa5, 8192))
    assertFinding(await doctor(settings), 'database', 'error', /is damaged|cannot be read/)
  })

  test('that is not a database', async (t) => {
    const { file, settings } = await filled(t)
    await writeFile(file, 'not a database at all\n'.repeat(1000))
    assertFinding(await doctor(settings), 'database', 'error', /file is not a database/)
  })

  test('of another program', async (t) => {
    const { file, settings } = await filled(t)
    await writeFile(file, '')
    change(file, 'create table birds (name text)')
    assertFinding(await doctor(settings), 'database', 'error', /is not a Godwit database/)
  })

  test('with a newer and with an older schema', async (t) => {
    const { file, settings } = await filled(t)
    change(file, "insert into godwit_schema values (99, 'later', 0)")
    assertFinding(await doctor(settings), 'database', 'error', /schema 99, this version supports/)
    change(file, 'delete from godwit_schema where step = 99; update godwit_schema set step = 0')
    assertFinding(await doctor(settings), 'database', 'passed', /schema 0, will be upgraded/)
  })

  test('that was upgraded in the future', async (t) => {
    const { file, settings } = await filled(t)
    change(file, `update godwit_schema set applied_at = ${Date.now() + 86_400_000}`)
    assertFinding(await doctor(settings), 'clock', 'error', /in the future/)
  })

  function change(file: string, statement: string): void {
    using database = new DatabaseSync(file)
    database.exec(statement)
  }
})

describe('PostgreSQL', () => {
  const runStatement = async (databaseUrl: string, statement: string) => {
    const client = new pg.Client(databaseUrl)
    await client.connect()
    await client.query(statement)
    await client.end()
  }
  const onPostgres = async (t: TestContext, databaseUrl: string) =>
    doctor({ ...(await validSettings(t)), role: 'api', databaseUrl })

  test('that is empty, current, and newer', async (t) => {
    const url = await createDatabase()
    const empty = await onPostgres(t, url)
    assertFinding(empty, 'database', 'passed', /^PostgreSQL \d+\.\d+ at postgres:.*, empty:/)
    assertFinding(empty, 'clock of database', 'passed', /in sync/)
    assert.deepEqual(errorsAmong(empty), [])
    const database = await connect({ dataDirectory: '', databaseUrl: url })
    await upgradeSchema(database)
    await database.close()
    const known = new RegExp(`, schema ${NEWEST_SCHEMA}$`)
    assertFinding(await onPostgres(t, url), 'database', 'passed', known)
    await runStatement(url, "insert into godwit_schema values (99, 'later', 0)")
    assertFinding(await onPostgres(t, url), 'database', 'error', /has schema 99/)
  })

  test('that is unreachable, or has another password, which is not shown', async (t) => {
    const url = new URL(await createDatabase())
    url.password = 'mockingbird'
    const refused = await onPostgres(t, url.href)
    assertFinding(refused, 'database', 'error', /password authentication failed/)
    url.port = String(await freePort())
    const absent = await onPostgres(t, url.href)
    assertFinding(absent, 'database', 'error', /ECONNREFUSED/)
    assert.doesNotMatch(JSON.stringify([refused, absent]), /mockingbird/)
  })

  test('that is not in UTF-8', async (t) => {
    const url = await createDatabase(undefined, 'SQL_ASCII')
    const findings = await onPostgres(t, url)
    assertFinding(findings, 'database', 'error', /has encoding SQL_ASCII, not UTF8$/)
    assert.match(
      findResult(findings, 'database').advice!,
      /^create one with `createdb --encoding=UTF8 /,
    )
  })

  test('whose role may not create tables', async (t) => {
    const url = new URL(await createDatabase())
    const role = `r_${url.pathname.slice(1)}`
    await runStatement(url.href, `create role ${role} login password 'x'`)
    url.username = role
    url.password = 'x'
    assertFinding(
      await onPostgres(t, url.href),
      'database',
      'error',
      /may not create schemas or tables/,
    )
  })
})
