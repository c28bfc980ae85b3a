import type { Config } from '../config.ts'
import { connect, type Database } from '../db/connect.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { UserMistake } from './command-line.ts'

/** The database of this configuration, brought to this binary's schema. */
export async function openDatabase(
  { data, databaseUrl }: Config,
  onIdleError?: (error: Error) => void,
): Promise<Database> {
  const database = await connect({
    dataDirectory: data,
    databaseUrl,
    ...(onIdleError && { onIdleError }),
  })
  try {
    await upgradeSchema(database)
  } catch (error) {
    await database.close()
    throw error
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

export function requireRepositories({ repositories }: Config): string {
  if (repositories === undefined) {
    throw new UserMistake('say which repositories: --repositories DIR')
  }
  return repositories
}
