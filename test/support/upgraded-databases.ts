import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, sqliteFile } from '../../packages/server/src/db/connect.ts'
import { copyOfTemplate } from './postgres.ts'

/**
 * Empty databases with the current schema. Applying the schema takes longer than most tests, so each kind is
 * made once in a run, when it is first needed, and copied.
 */
const FOLDER = 'GODWIT_TEST_UPGRADED'

/** Prepares the folder for the whole run; returns a function that removes it. */
export async function prepareUpgradedFile(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-upgraded-'))
  process.env[FOLDER] = folder
  return () => rm(folder, { recursive: true, force: true })
}

/**
 * Copies the database to a data directory. Does nothing outside a test run: the services of benchmarks make
 * their own.
 */
export async function copyUpgradedFile(dataDirectory: string): Promise<void> {
  const folder = process.env[FOLDER]
  if (!folder) return
  const file = sqliteFile(folder)
  if (!existsSync(file)) {
    // Several processes may do this at the same time, so the file is renamed into place.
    const own = await mkdtemp(join(folder, 'made-'))
    await upgrade(own)
    await rename(sqliteFile(own), file)
  }
  await copyFile(file, sqliteFile(dataDirectory))
}

export const copyOfUpgraded = (): Promise<string> =>
  copyOfTemplate('upgraded', (databaseUrl) => upgrade('', databaseUrl))

/** Copies a database that also has the tables of the queue. */
export const copyWithQueue = (): Promise<string> =>
  copyOfTemplate('upgraded_with_queue', async (databaseUrl) => {
    await upgrade('', databaseUrl)
    const { createPgBossQueue } = await import('../../packages/server/src/queue/pg-boss.ts')
    const { db, close } = await connect({ dataDirectory: '', databaseUrl })
    const errors: unknown[] = []
    const queue = createPgBossQueue({ databaseUrl, db, onError: (error) => errors.push(error) })
    await queue.start()
    await queue.stop()
    await close()
    if (errors.length > 0) throw new AggregateError(errors, 'the tables of the queue')
  })

async function upgrade(dataDirectory: string, databaseUrl?: string): Promise<void> {
  // Only the process that makes the template loads the schema steps.
  const { upgradeSchema } = await import('../../packages/server/src/db/upgrade.ts')
  const database = await connect({ dataDirectory, databaseUrl })
  await upgradeSchema(database).finally(database.close)
}
