import type { Config } from '../config.ts'
import { connect, type DatabaseOptions } from '../db/connect.ts'
import type { Database } from '../db/database.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { explainedDatabase, requireUtf8 } from './database-errors.ts'

/** The database of this configuration, brought to this binary's schema. */
export async function openDatabase(
  { data, databaseUrl }: Config,
  listeners: Pick<DatabaseOptions, 'onIdleError' | 'onDamage'> = {},
): Promise<Database> {
  const database = await connect({ dataDirectory: data, databaseUrl, ...listeners })
  try {
    if (databaseUrl !== undefined) await requireUtf8(database, databaseUrl)
    await upgradeSchema(database)
  } catch (error) {
    await database.close()
    throw databaseUrl === undefined ? error : explainedDatabase(error, databaseUrl)
  }
  return database
}

/** Opens the database for as long as `act` runs. */
export async function withDatabase<T>(
  config: Config,
  act: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(config)
  try {
    return await act(database)
  } finally {
    await database.close()
  }
}
