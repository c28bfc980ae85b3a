import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { connect } from '../../packages/server/src/db/connect.ts'
import type { Database } from '../../packages/server/src/db/database.ts'
import { upgradeSchema } from '../../packages/server/src/db/upgrade.ts'
import { createDatabase } from './postgres.ts'
import { openReused } from './reused-databases.ts'
import { copyUpgradedFile } from './upgraded-databases.ts'

const engines = ['sqlite', 'postgres'] as const
export type Engine = (typeof engines)[number]

/** The context of a test, or of a whole file. */
type Context = Pick<TestContext, 'after'>

/** Returns the options for a new, empty database, which is removed after the test. */
export async function databaseOptions(t: Context, engine: Engine, create = createDatabase) {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'godwit-data-'))
  t.after(() => rm(dataDirectory, { recursive: true, force: true }))
  return { dataDirectory, databaseUrl: engine === 'postgres' ? await create() : undefined }
}

/** Opens an empty database with the current schema. */
export async function openDatabase(t: Context, engine: Engine): Promise<Database> {
  const database = await (engine === 'postgres' ? openReused() : openSqlite(t))
  t.after(() => database.close())
  return database
}

async function openSqlite(t: Context): Promise<Database> {
  const options = await databaseOptions(t, 'sqlite')
  await copyUpgradedFile(options.dataDirectory)
  const database = await connect(options)
  await upgradeSchema(database)
  return database
}

/** Declares a test of a suite that runs on each engine, for SQLite only. */
type TestOnSqlite = (name: string, run: (t: TestContext) => Promise<void>) => void

/**
 * Runs the same tests on every engine: those of stores, queries, transactions, locks and leases. A test whose subject is something else
 * is declared with `testOnSqlite`, if the other tests run its queries on PostgreSQL.
 */
export function onEachEngine(
  name: string,
  tests: (engine: Engine, testOnSqlite: TestOnSqlite) => void,
): void {
  for (const engine of engines)
    describe(`${name} on ${engine}`, () =>
      tests(engine, engine === 'sqlite' ? (...args) => void test(...args) : () => {}))
}

/** Runs tests on SQLite only: their subject is not the database, and other tests run their queries on PostgreSQL. */
export function onSqlite(name: string, tests: (engine: Engine) => void): void {
  describe(`${name} on sqlite`, () => tests('sqlite'))
}
