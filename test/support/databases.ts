import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { steps } from '../../schema/steps.ts'
import { connect } from '../../src/db/connect.ts'
import type { Database } from '../../src/db/database.ts'
import { applyStep, upgradeSchema } from '../../src/db/upgrade.ts'
import { createDatabase } from './postgres.ts'
import { copyOfUpgraded, copyUpgradedFile } from './upgraded-databases.ts'

const engines = ['sqlite', 'postgres'] as const
export type Engine = (typeof engines)[number]

/** Of a test, or of a whole file. */
type Context = Pick<TestContext, 'after'>

/** Where a fresh, empty database of that engine is to be found; gone again when the test ends. */
export async function databaseOptions(t: Context, engine: Engine, create = createDatabase) {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'godwit-data-'))
  t.after(() => rm(dataDirectory, { recursive: true, force: true }))
  return { dataDirectory, databaseUrl: engine === 'postgres' ? await create() : undefined }
}

/** With this binary's schema. */
export async function openDatabase(t: Context, engine: Engine): Promise<Database> {
  const options = await databaseOptions(t, engine, copyOfUpgraded)
  if (engine === 'sqlite') await copyUpgradedFile(options.dataDirectory)
  const database = await connect(options)
  t.after(() => database.close())
  await upgradeSchema(database)
  return database
}

/** A database as an older Godwit left it, after so many steps of the schema. */
export async function openOldDatabase(t: TestContext, engine: Engine, step: number) {
  const database = await connect(await databaseOptions(t, engine))
  t.after(() => database.close())
  const run = (statement: string) => sql.raw(statement).execute(database.db)
  await run('create table godwit_schema (step integer, name text, applied_at bigint)')
  for (const [index, each] of steps.slice(0, step).entries()) {
    await applyStep(database.db, engine, each)
    await run(`insert into godwit_schema values (${index + 1}, 'old', 0)`)
  }
  return { ...database, run, upgrade: () => upgradeSchema(database) }
}

/** The same tests on every engine. */
export function onEachEngine(name: string, tests: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${name} on ${engine}`, () => tests(engine))
}
