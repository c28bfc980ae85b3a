import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import {
  assertFinding,
  doctor,
  doctorCommand,
  errorsAmong,
  type Flags,
  findResult,
  validSettings,
} from '../../../test/support/doctor-scene.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { createDatabase } from '../../../test/support/postgres.ts'
import { contentsOf, emptyBucket, needsObjectStore } from '../../../test/support/radosgw.ts'
import { connect } from '../../db/connect.ts'
import { NEWEST_SCHEMA, upgradeSchema } from '../../db/upgrade.ts'

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

describe('a bucket', needsObjectStore, () => {
  const onBucket = async (
    t: TestContext,
    { endpoint, bucket }: { endpoint: string; bucket: string },
    more: Flags = {},
  ) => {
    const settings = { ...(await validSettings(t)), blobs: `s3://${bucket}/some/prefix`, ...more }
    return doctor(settings, { AWS_ENDPOINT_URL: endpoint })
  }

  test('that works, and is left empty', async (t) => {
    const bucket = await emptyBucket()
    const findings = await onBucket(t, bucket)
    assert.deepEqual(errorsAmong(findings), [])
    assertFinding(findings, 'bucket', 'passed', /put, ranged get and list work$/)
    assertFinding(findings, 'downloads', 'passed', /^by signed links at 127\.0\.0\.1:/)
    assertFinding(findings, 'clock of bucket', 'passed', /in sync/)
    assert.deepEqual(await contentsOf(bucket), { objects: [], uploads: [] })
  })

  test('that does not exist', async (t) => {
    const { endpoint } = await emptyBucket()
    const findings = await onBucket(t, { endpoint, bucket: 'there-is-none' })
    assertFinding(findings, 'bucket', 'error', /the bucket there-is-none does not exist/)
    assert.match(findResult(findings, 'bucket').advice!, /create the bucket/)
  })

  test('with a wrong key, which is not shown', async (t) => {
    const { endpoint, bucket } = await emptyBucket()
    const { data, listen } = await validSettings(t)
    const { code, stdout, stderr } = await doctorCommand(
      ['--json', '--data', data, '--listen', listen, '--blobs', `s3://${bucket}`],
      { AWS_ENDPOINT_URL: endpoint, AWS_SECRET_ACCESS_KEY: 'mockingbird' },
    )
    const { checks } = JSON.parse(stdout)
    assertFinding(checks, 'bucket', 'error', /SignatureDoesNotMatch|AccessDenied/)
    assert.equal(code, 1)
    assert.doesNotMatch(stdout + stderr, /mockingbird/)
  })

  test('that clients cannot reach, unless downloads go through the API', async (t) => {
    const bucket = await emptyBucket()
    const outside = { s3PublicEndpoint: `http://127.0.0.1:${await freePort()}` }
    const cutOff = await onBucket(t, bucket, outside)
    assertFinding(cutOff, 'downloads', 'error', /cannot be reached from here: .*ECONNREFUSED/)
    assert.doesNotMatch(JSON.stringify(cutOff), /X-Amz-Signature/i, 'a link is a credential')
    const proxied = await onBucket(t, bucket, { ...outside, downloads: 'proxy' })
    assertFinding(proxied, 'downloads', 'passed', /^through the API/)
  })
})
