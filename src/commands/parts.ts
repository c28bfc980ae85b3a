import type { Config } from '../config.ts'
import { connect, type Database, type DatabaseOptions } from '../db/connect.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { createGit, type GitOptions } from '../sources/git.ts'
import { Misuse, UserMistake } from './command-line.ts'

/** The database of this configuration, brought to this binary's schema. */
export async function openDatabase(
  { data, databaseUrl }: Config,
  listeners: Pick<DatabaseOptions, 'onIdleError' | 'onDamage'> = {},
): Promise<Database> {
  const database = await connect({ dataDirectory: data, databaseUrl, ...listeners })
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
    throw new Misuse('say which repositories: --repositories DIR')
  }
  return repositories
}

/** Said at the start, rather than by every export. */
export async function requireGit(options: GitOptions): Promise<void> {
  const said = await createGit(options).text(['version'])
  const [, major, minor] = /version (\d+)\.(\d+)/.exec(said) ?? []
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 30)) return
  throw new UserMistake(`git 2.30 or newer is needed; ${options.program} says: ${said.trim()}`)
}
