import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import pg from 'pg'

/** How far a database has come; undefined where Godwit has never been. */
export interface SchemaAge {
  step: number
  /** Epoch milliseconds. */
  upgradedAt: number
}

export interface SqliteSurvey {
  schema: SchemaAge | undefined
  /** Tables that are somebody's. */
  tables: number
  /** `ok`, or the first thing that is wrong. */
  integrity: string
}

const SCHEMA = 'select max(step) as step, max(applied_at) as applied_at from godwit_schema'

/** Looks at an embedded database, a running server's too, and leaves nothing behind. */
export function surveySqlite(file: string): SqliteSurvey {
  using database = new DatabaseSync(readOnlyAddress(file), { readOnly: true, timeout: 5000 })
  const first = (query: string) => database.prepare(query).get() as Record<string, unknown>
  const integrity = String(first('pragma quick_check(1)').quick_check)
  const named = "from sqlite_schema where type = 'table'"
  const tables = Number(first(`select count(*) as n ${named}`).n)
  const isOurs = first(`select count(*) as n ${named} and name = 'godwit_schema'`).n === 1
  return { integrity, tables, schema: isOurs ? schemaAge(first(SCHEMA)) : undefined }
}

const LOCKED = `select distinct login_key || '/' || name_key as name from repository_locks
  join repositories on repositories.id = repository_id join accounts on accounts.id = owner_id`

/** In lower case, `owner/name` of all repositories whose lock is held or not yet seen to be gone. */
export async function lockedRepositories(database: Surveyed): Promise<Set<string>> {
  const rows = await rowsOf(database, LOCKED)
  return new Set(rows.map(({ name }) => String(name)))
}

export interface StoredDataSurvey {
  segments: number
  damaged: number
  oldestCheckAt: number
}

/** What is known of the bytes of segments; undefined where nothing was exported yet. */
export async function surveyStoredData(database: Surveyed): Promise<StoredDataSurvey | undefined> {
  const [row] = await rowsOf(
    database,
    `select count(*) as segments, count(damaged_at) as damaged, min(checked_at) as oldest from segments`,
  )
  return (
    row && {
      segments: Number(row.segments),
      damaged: Number(row.damaged),
      oldestCheckAt: Number(row.oldest ?? 0),
    }
  )
}

/** The key that signs links; undefined where no service has run yet. */
export async function findSigningKey(database: Surveyed): Promise<Buffer | undefined> {
  const rows = await rowsOf(database, "select value from secrets where name = 'link-key'")
  return rows[0] && Buffer.from(String(rows[0].value), 'hex')
}

/** Processes of the service, as they last told of themselves. */
export async function knownProcesses(
  url: string,
): Promise<{ id: string; host: string; pid: number; role: string; seenAt: number }[]> {
  const rows = await postgresRows(url, 'select id, host, pid, role, seen_at from workers')
  return rows.map(({ id, host, pid, role, seen_at }) => ({
    id: String(id),
    host: String(host),
    pid: Number(pid),
    role: String(role),
    seenAt: Number(seen_at),
  }))
}

interface Surveyed {
  sqlite: string
  postgres: string | undefined
}

const rowsOf = async ({ sqlite, postgres }: Surveyed, query: string) =>
  postgres ? postgresRows(postgres, query) : sqliteRows(sqlite, query)

function sqliteRows(file: string, query: string): Record<string, unknown>[] {
  if (!existsSync(file) || !surveySqlite(file).schema) return []
  using database = new DatabaseSync(readOnlyAddress(file), { readOnly: true, timeout: 5000 })
  return database.prepare(query).all() as Record<string, unknown>[]
}

async function postgresRows(url: string, query: string): Promise<Record<string, unknown>[]> {
  const client = await connectPostgres(url)
  try {
    const { rows } = await client.query("select to_regclass('repository_locks') as found")
    return rows[0].found === null ? [] : (await client.query(query)).rows
  } finally {
    await client.end()
  }
}

export interface PostgresSurvey {
  schema: SchemaAge | undefined
  version: string
  /** As `server_version_num` has it: 160004 is 16.4. */
  versionNumber: number
  encoding: string
  isStandby: boolean
  /** To make tables of its own, and the queue's schema. */
  mayCreate: boolean
  /** How far its clock is ahead of ours, and how sure that is. */
  clockAheadMs: number
  roundTripMs: number
}

/** Looks at a PostgreSQL by one connection, which changes nothing. */
export async function surveyPostgres(url: string, now = Date.now): Promise<PostgresSurvey> {
  const client = await connectPostgres(url)
  try {
    const first = async (query: string) => (await client.query(query)).rows[0]
    await first('begin read only')
    const about = await first(`select current_setting('server_version') as version,
      current_setting('server_version_num') as version_number,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as is_standby,
      has_database_privilege(current_database(), 'create') as may_create_schema,
      coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create_table,
      to_regclass('godwit_schema') is not null as is_ours`)
    const sentAt = now()
    const { clock } = await first('select extract(epoch from clock_timestamp()) * 1000 as clock')
    const roundTripMs = now() - sentAt
    return {
      schema: about.is_ours ? schemaAge(await first(SCHEMA)) : undefined,
      version: about.version,
      versionNumber: Number(about.version_number),
      encoding: about.encoding,
      isStandby: about.is_standby,
      mayCreate: about.may_create_schema && about.may_create_table,
      clockAheadMs: Number(clock) - (sentAt + roundTripMs / 2),
      roundTripMs,
    }
  } finally {
    await client.end()
  }
}

function readOnlyAddress(file: string): URL {
  const address = pathToFileURL(file)
  // Without a log there is nobody writing; the file by itself is then all there is, and no log is made to read it.
  if (!existsSync(`${file}-wal`)) address.searchParams.set('immutable', '1')
  return address
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

function schemaAge(row: Record<string, unknown>): SchemaAge {
  return { step: Number(row.step ?? 0), upgradedAt: Number(row.applied_at ?? 0) }
}
