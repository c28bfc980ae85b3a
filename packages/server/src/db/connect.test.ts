import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { createDatabase } from '../../../../test/support/postgres.ts'
import { withTimeout } from '../../../../test/support/wait-until.ts'
import { connect, lockDataDirectory } from './connect.ts'

const IN_USE = /^UserError: another Godwit server is already running on the data directory/

const account = (login: string) => ({
  login,
  login_key: login.toLowerCase(),
  type: 'User',
  site_admin: 0,
  created_at: 1_700_000_000_000,
})

onEachEngine('the database', (engine) => {
  test('returns numbers as numbers, and rows from a RETURNING clause', async (t) => {
    const { db } = await openDatabase(t, engine)
    const inserted = await db
      .insertInto('accounts')
      .values(account('Alice'))
      .returning(['id', 'login', 'created_at', 'migration_count'])
      .executeTakeFirstOrThrow()
    const { login, created_at } = account('Alice')
    assert.deepEqual({ ...inserted }, { id: 1, login, created_at, migration_count: 0 })
    const { total } = await db
      .selectFrom('accounts')
      .select((eb) => eb.fn.sum<number>('created_at').as('total'))
      .executeTakeFirstOrThrow()
    assert.equal(total, 1_700_000_000_000)
  })

  test('isolates a transaction until it commits, and does not block reads', async (t) => {
    const { db } = await openDatabase(t, engine)
    await db.transaction().execute(async (tx) => {
      await tx.insertInto('accounts').values(account('alice')).execute()
      assert.equal((await tx.selectFrom('accounts').selectAll().execute()).length, 1)
      assert.equal((await db.selectFrom('accounts').selectAll().execute()).length, 0)
    })
    assert.equal((await db.selectFrom('accounts').selectAll().execute()).length, 1)
  })

  test('rolls back a failed transaction completely, and the next writer starts clean', async (t) => {
    const { db } = await openDatabase(t, engine)
    const failing = db.transaction().execute(async (tx) => {
      await tx.insertInto('accounts').values(account('alice')).execute()
      throw new Error('changed my mind')
    })
    await assert.rejects(failing, /changed my mind/)
    await db.insertInto('accounts').values(account('bob')).execute()
    const rows = await db.selectFrom('accounts').select('login').execute()
    assert.deepEqual(
      rows.map((row) => row.login),
      ['bob'],
    )
  })

  test('runs concurrent writers without losing an update', async (t) => {
    const { db } = await openDatabase(t, engine)
    await db.insertInto('accounts').values(account('alice')).execute()
    const increment = () =>
      db.transaction().execute(async (tx) => {
        await tx
          .updateTable('accounts')
          .set((eb) => ({ created_at: eb('created_at', '+', 1) }))
          .execute()
        await tx.selectFrom('accounts').selectAll().execute()
      })
    await Promise.all(Array.from({ length: 40 }, increment))
    const { created_at } = await db.selectFrom('accounts').selectAll().executeTakeFirstOrThrow()
    assert.equal(created_at, 1_700_000_000_040)
  })
})

test('closing a database closes its connections, even if only the pool was used', async () => {
  const { pool, close } = await connect({ dataDirectory: '', databaseUrl: await createDatabase() })
  await pool!.query('select 1')
  await close()
  assert.deepEqual([pool!.ended, pool!.totalCount], [true, 0])
})

test('only one server at a time can lock a data directory', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-lock-'))
  t.after(() => rm(dir, { recursive: true }))
  const unlock = lockDataDirectory(dir)
  assert.throws(() => lockDataDirectory(dir), IN_USE)
  unlock()
  lockDataDirectory(dir)()
})

test('killing a server unlocks its data directory', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-lock-'))
  t.after(() => rm(dir, { recursive: true }))
  const module = new URL('./connect.ts', import.meta.url).href
  const holder = spawn(process.execPath, [
    '--input-type=module',
    '-e',
    `const { lockDataDirectory } = await import(${JSON.stringify(module)})
     lockDataDirectory(${JSON.stringify(dir)}); console.log('locked'); setInterval(() => {}, 1000)`,
  ])
  await withTimeout('the holder locks the data directory', once(holder.stdout, 'data'))
  assert.throws(() => lockDataDirectory(dir), IN_USE)
  holder.kill('SIGKILL')
  await withTimeout('the holder exits', once(holder, 'exit'))
  lockDataDirectory(dir)()
})

test('only the user of the service may read the embedded database, also in an open directory', async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'godwit-private-'))
  await chmod(dataDirectory, 0o755)
  const umask = process.umask(0o022)
  try {
    for (const _start of ['first', 'second']) {
      const { db, close } = await connect({ dataDirectory, databaseUrl: undefined })
      await sql`create table if not exists secrets (secret text)`.execute(db)
      const files = await readdir(dataDirectory)
      assert.equal(files.length, 3)
      for (const file of files)
        assert.equal((await stat(join(dataDirectory, file))).mode & 0o777, 0o600, file)
      await close()
      await chmod(join(dataDirectory, 'godwit.sqlite'), 0o644)
    }
  } finally {
    process.umask(umask)
    await rm(dataDirectory, { recursive: true })
  }
})
