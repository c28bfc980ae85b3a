import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, sqliteFile } from '../../src/db/connect.ts'
import { copyOfTemplate } from './postgres.ts'

/**
 * Databases that nothing was done to but the steps of the schema, which take longer than most tests. Each is made once in a run, by
 * whoever needs it first, and copied.
 */
const FOLDER = 'GODWIT_TEST_UPGRADED'

/** For the whole run; answers how to remove it. */
export async function keepUpgradedFile(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-upgraded-'))
  process.env[FOLDER] = folder
  return () => rm(folder, { recursive: true, force: true })
}

/** Puts one where a service looks for it. A measurement, which is no run of tests, has its services make their own. */
export async function copyUpgradedFile(dataDirectory: string): Promise<void> {
  const folder = process.env[FOLDER]
  if (!folder) return
  const file = sqliteFile(folder)
  if (!existsSync(file)) {
    // Others may do the same at the same time: it is there whole, or not at all.
    const own = await mkdtemp(join(folder, 'made-'))
    await upgrade(own)
    await rename(sqliteFile(own), file)
  }
  await copyFile(file, sqliteFile(dataDirectory))
}

export const copyOfUpgraded = (): Promise<string> =>
  copyOfTemplate('upgraded', (databaseUrl) => upgrade('', databaseUrl))

/** With the tables of the queue too, which a service makes where there are none. */
export const copyWithQueue = (): Promise<string> =>
  copyOfTemplate('upgraded_with_queue', async (databaseUrl) => {
    await upgrade('', databaseUrl)
    const { createPgBossQueue } = await import('../../src/queue/pg-boss.ts')
    const { db, close } = await connect({ dataDirectory: '', databaseUrl })
    const errors: unknown[] = []
    const queue = createPgBossQueue({ databaseUrl, db, onError: (error) => errors.push(error) })
    await queue.start()
    await queue.stop()
    await close()
    if (errors.length > 0) throw new AggregateError(errors, 'the tables of the queue')
  })

async function upgrade(dataDirectory: string, databaseUrl?: string): Promise<void> {
  // Only whoever makes one needs the steps.
  const { upgradeSchema } = await import('../../src/db/upgrade.ts')
  const database = await connect({ dataDirectory, databaseUrl })
  await upgradeSchema(database).finally(database.close)
}
