import { existsSync } from 'node:fs'
import { addDiskDetails, describeDiskFailure } from '@godwit/lib/disk-errors'
import { sqliteFile } from '@godwit/server/db/connect'
import { withoutPassword } from '@godwit/server/db/database-address'
import {
  inspectPostgres,
  inspectSqlite,
  type PostgresInspection,
  type SchemaAge,
} from '@godwit/server/db/inspect-database'
import { NEWEST_SCHEMA } from '@godwit/server/db/upgrade'
import { UTF8_REMEDY } from '@godwit/server/service/database-errors'
import type { ServiceConfig } from '../service-settings.ts'
import { type CheckResult, errorText, failure, passed, warning } from './check-result.ts'

/** The oldest version that pg-boss supports. */
const MIN_POSTGRES_VERSION = 13
const HOUR_MS = 3_600_000
const REPAIR_DISK = 'free some space, or repair the disk or the permissions of the file'

/** The database of a configuration, for the functions of inspect-database.ts. */
export const databaseOf = ({ data, databaseUrl }: ServiceConfig) => ({
  sqlite: sqliteFile(data),
  postgres: databaseUrl,
})

export async function* checkDatabase({
  data,
  databaseUrl,
}: ServiceConfig): AsyncGenerator<CheckResult> {
  if (databaseUrl === undefined) yield* checkSqlite(sqliteFile(data))
  else yield* checkPostgres(databaseUrl)
}

function* checkSqlite(file: string): Generator<CheckResult> {
  if (!existsSync(file))
    return yield passed('database', `SQLite at ${file}, will be created at the first start`)
  const restore = 'stop Godwit and restore the last backup of the database'
  let inspection: ReturnType<typeof inspectSqlite>
  try {
    inspection = inspectSqlite(file)
  } catch (error) {
    const diskFailure = describeDiskFailure(addDiskDetails(error, file))
    if (diskFailure) return yield failure('database', diskFailure, REPAIR_DISK)
    return yield failure('database', `${file} cannot be read: ${errorText(error)}`, restore)
  }
  const { integrity, tables, schema } = inspection
  if (integrity !== 'ok')
    return yield failure('database', `${file} is damaged: ${integrity.split('\n').at(-1)}`, restore)
  if (!schema && tables > 0) {
    const advice = 'move or remove it, or set another --data'
    return yield failure('database', `${file} is not a Godwit database`, advice)
  }
  yield schemaResult(`SQLite at ${file}`, schema)
  if (schema && schema.upgradedAt > Date.now() + HOUR_MS) {
    const upgradedAt = new Date(schema.upgradedAt).toISOString()
    const found = `the database was last upgraded at ${upgradedAt}, which is in the future`
    yield failure('clock', found, 'set the clock: it is behind')
  }
}

async function* checkPostgres(databaseUrl: string): AsyncGenerator<CheckResult> {
  const address = withoutPassword(databaseUrl)
  let inspection: PostgresInspection
  try {
    inspection = await inspectPostgres(databaseUrl)
  } catch (error) {
    const found = `${address} cannot be used: ${errorText(error)}`
    const advice = 'start it, or fix host, port, name and password in --database-url'
    return yield failure('database', found, advice)
  }
  yield postgresResult(`PostgreSQL ${inspection.version} at ${address}`, inspection)
  yield clockResult('clock of database', inspection.clockAheadMs, inspection.roundTripMs)
}

function postgresResult(what: string, inspection: PostgresInspection): CheckResult {
  const { database, versionNumber, isStandby, encoding, mayCreate, schema } = inspection
  if (versionNumber < MIN_POSTGRES_VERSION * 10_000) {
    const advice = `use PostgreSQL ${MIN_POSTGRES_VERSION} or newer`
    return failure('database', `${what} is too old`, advice)
  }
  if (isStandby)
    return failure('database', `${what} is a standby`, 'set --database-url to the primary')
  if (encoding !== 'UTF8')
    return failure('database', `${what} has encoding ${encoding}, not UTF8`, UTF8_REMEDY)
  if (!mayCreate && schema?.step !== NEWEST_SCHEMA)
    return failure(
      'database',
      `${what}: the user of --database-url may not create schemas or tables`,
      `grant create on database ${database}, and on its schema public, to this user`,
    )
  return schemaResult(what, schema)
}

function schemaResult(what: string, schema: SchemaAge | undefined): CheckResult {
  if (!schema)
    return passed('database', `${what}, empty: tables will be created at the first start`)
  if (schema.step > NEWEST_SCHEMA)
    return failure(
      'database',
      `${what} has schema ${schema.step}, this version supports up to ${NEWEST_SCHEMA}`,
      'use the newer version of Godwit that upgraded it',
    )
  const upgrade =
    schema.step < NEWEST_SCHEMA ? `, will be upgraded to ${NEWEST_SCHEMA} at the next start` : ''
  return passed('database', `${what}, schema ${schema.step}${upgrade}`)
}

const MAX_CLOCK_DIFFERENCE_MS = 2000
const FATAL_CLOCK_DIFFERENCE_MS = 60_000

/** If clocks differ, leases, tokens and links expire too early or too late. */
export function clockResult(check: string, aheadMs: number, uncertainMs: number): CheckResult {
  const difference = Math.max(0, Math.abs(aheadMs) - uncertainMs)
  if (difference < MAX_CLOCK_DIFFERENCE_MS) return passed(check, 'in sync with this machine')
  const found = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`
  const advice = 'synchronize the clocks of both machines (chrony, systemd-timesyncd)'
  return (difference < FATAL_CLOCK_DIFFERENCE_MS ? warning : failure)(check, found, advice)
}
