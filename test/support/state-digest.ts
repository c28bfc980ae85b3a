import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Service } from './service.ts'

/** Columns that a request may change without an effect: counters and times of last use. */
const VOLATILE_COLUMNS = new Set(['last_used_at', 'last_used_ip', 'synced_at', 'change_token'])
/** In `sqlite_sequence` SQLite also counts inserts that become updates, so reads that refresh the repository index change it. */
const VOLATILE_TABLES = new Set([
  'audit_log',
  'leases',
  'rate_limits',
  'sqlite_sequence',
  'workers',
])

type Rows = Record<string, unknown>[]

export interface StateWatch {
  /** Returns a digest of each table of the service. */
  digest(): Promise<Record<string, string>>
  /** Returns whether no migration is running and no lock waits to be released. */
  isIdle(): Promise<boolean>
}

/** Opens a second connection to the database of the service. */
export async function watchState(
  t: Pick<TestContext, 'after'>,
  service: Service,
): Promise<StateWatch> {
  const query = service.databaseUrl
    ? await postgres(t, service.databaseUrl)
    : sqlite(t, join(service.data, 'godwit.sqlite'))
  const names = await query(
    service.databaseUrl
      ? "select table_name as name from information_schema.tables where table_schema = 'public' order by 1"
      : "select name from sqlite_master where type = 'table' order by 1",
  )
  const tables = names.map(({ name }) => String(name)).filter((name) => !VOLATILE_TABLES.has(name))
  const digestOf = async (table: string) => {
    const found = await query(`select * from ${table}`)
    const rows = found.map(withoutVolatileColumns)
    const lines = rows.map((row) => JSON.stringify(row)).sort()
    return `${rows.length} rows, ${createHash('sha256').update(lines.join('\n')).digest('hex')}`
  }

  return {
    async digest() {
      const digests: Record<string, string> = {}
      for (const table of tables) digests[table] = await digestOf(table)
      return digests
    },
    async isIdle() {
      const unfinished = await query(
        "select id from migrations where state not in ('exported', 'failed')",
      )
      const releasing = await query(
        'select migration_id from repository_locks where released_at is not null',
      )
      const jobs = tables.includes('jobs') ? await query('select id from jobs') : []
      return unfinished.length + releasing.length + jobs.length === 0
    },
  }
}

function withoutVolatileColumns(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([column]) => !VOLATILE_COLUMNS.has(column)))
}

function sqlite(t: Pick<TestContext, 'after'>, file: string) {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  t.after(() => database.close())
  return async (sql: string) => database.prepare(sql).all() as Rows
}

async function postgres(t: Pick<TestContext, 'after'>, url: string) {
  const client = new pg.Client(url)
  await client.connect()
  t.after(() => client.end())
  return async (sql: string) => (await client.query(sql)).rows as Rows
}
