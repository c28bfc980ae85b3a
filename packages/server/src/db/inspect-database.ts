import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import type { Row } from './database.ts'

export type SchemaAge = ReturnType<typeof schemaAge>

const SCHEMA = 'select max(step) as step, max(applied_at) as applied_at from godwit_schema'

/** Inspects an embedded database read-only, also while a server uses it. */
export function inspectSqlite(file: string) {
  using database = openReadOnly(file)
  const first = (query: string) => database.prepare(query).get() as Record<string, unknown>
  const fromTables = "from sqlite_schema where type = 'table'"
  const isOurs = () =>
    first(`select count(*) as n ${fromTables} and name = 'godwit_schema'`).n === 1
  return {
    /** `ok`, or the first error. */
    integrity: String(first('pragma quick_check(1)').quick_check),
    /** The number of all tables, including those of other applications. */
    tables: Number(first(`select count(*) as n ${fromTables}`).n),
    /** Undefined if Godwit has never used the database. */
    schema: isOurs() ? schemaAge(first(SCHEMA)) : undefined,
  }
}

const LOCKED = `select distinct login_key || '/' || name_key as name from repository_locks
  join repositories on repositories.id = repository_id join accounts on accounts.id = owner_id`

/** Returns the lower-case `owner/name` of all repositories whose lock is held or not yet removed at the source. */
export async function lockedRepositories(database: InspectedDatabase): Promise<Set<string>> {
  const rows = await rowsOf(database, LOCKED)
  return new Set(rows.map(({ name }) => String(name)))
}

const BROKEN = `select login || '/' || name as name from repositories
    join accounts on accounts.id = owner_id where problem is not null and missing_since is null
  union select full_name from repository_checks where outcome = 'failed'`

/** Returns the repositories that the last sync could not read, or that the last check or export found damaged. */
export const brokenRepositories = async (database: InspectedDatabase): Promise<string[]> =>
  (await rowsOf(database, BROKEN)).map(({ name }) => String(name))

const STORED_DATA = `select count(*) as segments, count(damaged_at) as damaged,
  min(checked_at) as oldest from segments`

/** Returns undefined if the database has no schema yet. */
export async function inspectStoredData(database: InspectedDatabase) {
  const [row] = await rowsOf(database, STORED_DATA)
  return (
    row && {
      segments: Number(row.segments),
      damaged: Number(row.damaged),
      oldestCheckAt: Number(row.oldest ?? 0),
    }
  )
}

/** Returns the key that signs links, or the one that identifies the database; undefined if no service has run yet. */
export async function findSigningKey(
  database: InspectedDatabase,
  name: 'link-key' | 'store',
): Promise<Buffer | undefined> {
  const [row] = await rowsOf(database, `select value from secrets where name = '${name}'`)
  return row && Buffer.from(String(row.value), 'hex')
}

/** Returns what `godwit copy` has noted about moves of the service. */
export const findCopyMarks = async (database: InspectedDatabase) =>
  (await rowsOf(database, 'select role, state, address, changed_at from copies')) as Row<'copies'>[]

/** Lists the processes of a service on PostgreSQL, with the times of their last heartbeats. */
export async function listProcesses(url: string) {
  const rows = await postgresRows(url, 'select id, host, pid, role, seen_at from workers')
  return rows.map(({ id, host, pid, role, seen_at }) => ({
    id: String(id),
    host: String(host),
    pid: Number(pid),
    role: String(role),
    seenAt: Number(seen_at),
  }))
}

interface InspectedDatabase {
  /** The file of the embedded database, which is used if there is no URL of a PostgreSQL. */
  sqlite: string
  postgres: string | undefined
}

/** Returns no rows if the database has no schema yet. */
const rowsOf = async ({ sqlite, postgres }: InspectedDatabase, query: string) =>
  postgres ? postgresRows(postgres, query) : sqliteRows(sqlite, query)

function sqliteRows(file: string, query: string): Record<string, unknown>[] {
  if (!existsSync(file) || !inspectSqlite(file).schema) return []
  using database = openReadOnly(file)
  return database.prepare(query).all()
}

async function postgresRows(url: string, query: string): Promise<Record<string, unknown>[]> {
  const client = await connectPostgres(url)
  try {
    const { rows } = await client.query("select to_regclass('godwit_schema') as found")
    return rows[0].found === null ? [] : (await client.query(query)).rows
  } finally {
    await client.end()
  }
}

export type PostgresInspection = Awaited<ReturnType<typeof inspectPostgres>>

/** Inspects a PostgreSQL in one read-only transaction. */
export async function inspectPostgres(url: string, now = Date.now) {
  const client = await connectPostgres(url)
  try {
    const first = async (query: string) => (await client.query(query)).rows[0]
    await first('begin read only')
    const about =
      await first(`select current_database() as database, current_setting('server_version') as version,
      current_setting('server_version_num') as version_number,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as is_standby,
      has_database_privilege(current_database(), 'create') as may_create_schema,
      coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create_table,
      to_regclass('godwit_schema') is not null as is_ours`)
    const sentAt = now()
    const { clock } = await first('select extract(epoch from clock_timestamp()) * 1000 as clock')
    const roundTripMs = now() - sentAt
    return {
      database: String(about.database),
      schema: about.is_ours ? schemaAge(await first(SCHEMA)) : undefined,
      version: String(about.version),
      /** `server_version_num`: 160004 is 16.4. */
      versionNumber: Number(about.version_number),
      encoding: String(about.encoding),
      isStandby: Boolean(about.is_standby),
      /** Whether the user may create tables and the queue's schema. */
      mayCreate: Boolean(about.may_create_schema && about.may_create_table),
      /** How far the server's clock is ahead of ours; accurate to half of `roundTripMs`. */
      clockAheadMs: Number(clock) - (sentAt + roundTripMs / 2),
      roundTripMs,
    }
  } finally {
    await client.end()
  }
}

function openReadOnly(file: string): DatabaseSync {
  const address = pathToFileURL(file)
  // Without a log nobody is writing, so the file is complete; `immutable` avoids creating a log to read it.
  if (!existsSync(`${file}-wal`)) address.searchParams.set('immutable', '1')
  return new DatabaseSync(address, { readOnly: true, timeout: 5000 })
}

async function connectPostgres(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'godwit doctor',
    connectionTimeoutMillis: 10_000,
    query_timeout: 10_000,
  })
  client.on('error', () => {})
  await client.connect()
  return client
}

const schemaAge = (row: Record<string, unknown>) => ({
  step: Number(row.step ?? 0),
  upgradedAt: Number(row.applied_at ?? 0),
})
