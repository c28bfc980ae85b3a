import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import { connect, type Database } from '../../src/db/connect.ts'
import { upgradeSchema } from '../../src/db/upgrade.ts'
import { createDatabase } from './postgres.ts'

const engines = ['sqlite', 'postgres'] as const
export type Engine = (typeof engines)[number]

/** Where a fresh, empty database of that engine is to be found; gone again when the test ends. */
export async function databaseOptions(t: TestContext, engine: Engine) {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'godwit-data-'))
  t.after(() => rm(dataDirectory, { recursive: true, force: true }))
  return {
    dataDirectory,
    databaseUrl: engine === 'postgres' ? await createDatabase() : undefined,
  }
}

export async function openDatabase(t: TestContext, engine: Engine): Promise<Database> {
  const database = await connect(await databaseOptions(t, engine))
  t.after(() => database.close())
  await upgradeSchema(database)
  return database
}

/** The same tests on every engine. */
export function onEachEngine(name: string, tests: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${name} on ${engine}`, () => tests(engine))
}
