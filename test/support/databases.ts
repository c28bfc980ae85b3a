import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import { connect } from '../../src/db/connect.ts'
import type { Database } from '../../src/db/database.ts'
import { upgradeSchema } from '../../src/db/upgrade.ts'
import { createDatabase } from './postgres.ts'
import { copyOfUpgraded, copyUpgradedFile } from './upgraded-databases.ts'

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

/** Opens a database with the current schema. */
export async function openDatabase(t: Context, engine: Engine): Promise<Database> {
  const options = await databaseOptions(t, engine, copyOfUpgraded)
  if (engine === 'sqlite') await copyUpgradedFile(options.dataDirectory)
  const database = await connect(options)
  t.after(() => database.close())
  await upgradeSchema(database)
  return database
}

/** Runs the same tests on every engine. */
export function onEachEngine(name: string, tests: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${name} on ${engine}`, () => tests(engine))
}
