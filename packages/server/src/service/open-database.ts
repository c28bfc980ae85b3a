import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasCode } from '@godwit/lib/errno'
import { UserError } from '@godwit/lib/user-error'
import { connect, type DatabaseOptions, sqliteFile } from '../db/connect.ts'
import { requireNotMoved } from '../db/copy-marks.ts'
import type { Database } from '../db/database.ts'
import { withoutPassword } from '../db/database-address.ts'
import { hasSchema, requireNewestSchema, upgradeSchema } from '../db/upgrade.ts'
import { userName } from './data-owner.ts'
import { type BlobSettings, blobsAddress } from './data-paths.ts'
import { explainDatabaseError, requireUtf8 } from './database-errors.ts'

export interface DatabaseSettings extends Pick<BlobSettings, 'data' | 'blobs'> {
  /** The address of a PostgreSQL; without it, the database is a file in the data directory. */
  databaseUrl: string | undefined
}

interface OpenOptions extends Pick<DatabaseOptions, 'onIdleError' | 'onDamage'> {
  /** Throw if the database does not exist, instead of creating it. */
  mustExist?: boolean
  /** Set if the database is copied: then the source is not upgraded, and marks of copies do not matter. */
  copiedAs?: 'source' | 'target'
}

/** Opens the database of a service and upgrades its schema. */
export async function openDatabase(
  settings: DatabaseSettings,
  { mustExist = false, copiedAs, ...listeners }: OpenOptions = {},
): Promise<Database> {
  const { data, databaseUrl } = settings
  const dataFlag = copiedAs === 'source' ? '--from' : '--data'
  const urlFlag = copiedAs === 'target' ? '--to-database-url' : '--database-url'
  if (databaseUrl === undefined) requireUsableFile(sqliteFile(data), mustExist && dataFlag)
  const database = await connect({ dataDirectory: data, databaseUrl, ...listeners })
  try {
    if (databaseUrl !== undefined) await requireUtf8(database, databaseUrl, urlFlag)
    if (mustExist && !(await hasSchema(database))) throw noDatabase(settings, dataFlag)
    if (copiedAs === 'source') await requireNewestSchema(database)
    else await upgradeSchema(database)
    if (!copiedAs) await requireNotMoved(database.db, blobsAddress(settings))
  } catch (error) {
    await database.close()
    throw databaseUrl === undefined ? error : explainDatabaseError(error, databaseUrl, urlFlag)
  }
  return database
}

/** `missingFlag` names the setting to correct if the file must exist. */
function requireUsableFile(file: string, missingFlag: string | false): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
  } catch (error) {
    if (hasCode(error, 'EACCES')) throw notForThisUser(file, error)
    if (hasCode(error, 'EROFS')) throw error
    if (missingFlag && hasCode(error, 'ENOENT', 'ENOTDIR')) throw noDatabaseAt(file, missingFlag)
    // Any other error is reported better when the file is opened.
  }
  requireWritableDirectory(dirname(file))
}

/** SQLite creates its log in the directory, and would report missing permissions as a read-only file system. */
export function requireWritableDirectory(directory: string): void {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK)
  } catch (error) {
    if (!hasCode(error, 'EACCES')) return
    const owner = ownerOf(directory) ?? 'another user'
    throw new UserError(
      `this user may not create files in ${directory}, which belongs to ${owner}: change its owner or its permissions`,
      { cause: error },
    )
  }
}

function notForThisUser(file: string, cause: unknown): UserError {
  // If the file cannot be examined, the message names the owner of its directory.
  const owner = [file, dirname(file)].map(ownerOf).find((name) => name !== undefined)
  const users = owner === undefined ? 'as root' : `as root or as ${owner}`
  return new UserError(`this user may not write ${file}: run the command ${users}`, { cause })
}

function ownerOf(path: string): string | undefined {
  try {
    return userName(statSync(path).uid)
  } catch {
    return undefined
  }
}

const HOW_TO_CREATE = 'run `godwit sync` or start `godwit serve` first'

const noDatabaseAt = (file: string, flag: string): UserError =>
  new UserError(`there is no database at ${file}: ${HOW_TO_CREATE}, or set ${flag}`)

function noDatabase({ data, databaseUrl }: DatabaseSettings, dataFlag: string): UserError {
  if (databaseUrl === undefined) return noDatabaseAt(sqliteFile(data), dataFlag)
  const address = withoutPassword(databaseUrl)
  return new UserError(
    `${address} has no tables of Godwit: ${HOW_TO_CREATE}, or set --database-url`,
  )
}

/** Opens the database while `act` runs. Unless `create` is set, it must exist. */
export async function withDatabase<T>(
  settings: DatabaseSettings,
  act: (database: Database) => Promise<T>,
  { create = false } = {},
): Promise<T> {
  const database = await openDatabase(settings, { mustExist: !create })
  try {
    return await act(database)
  } finally {
    await database.close()
  }
}
