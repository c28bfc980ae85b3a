import { hash } from 'node:crypto'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { codeOf } from '@godwit/lib/errno'
import { nextTurn } from '@godwit/lib/turns'
import { UserError } from '@godwit/lib/user-error'
import type { Engine } from '../schema/steps.ts'
import { sqliteFile } from './connect.ts'
import type { Database } from './database.ts'

/** The tables that a copy of a service copies, in the order in which rows can be inserted: a table follows those that it refers to. */
export const COPIED_TABLES: readonly string[] = [
  ...['accounts', 'tokens', 'sessions', 'identities', 'memberships', 'audit_log', 'secrets'],
  ...[
    'repositories',
    'collaborators',
    'repository_metadata',
    'repository_checks',
    'migrations',
    'repository_lists',
  ],
  ...['repository_exports', 'reused_repositories', 'record_exports', 'repository_locks'],
  // The triggers of `segments` change `stored_segments`.
  ...['segments', 'stored_segments', 'store_checks', 'schedules', 'schedule_runs'],
  ...['webhooks', 'webhook_events', 'webhook_deliveries', 'delivery_counts'],
  ...['forge_token_checks', 'forge_repositories', 'forge_permissions', 'forge_budgets'],
  ...[
    'discussion_readings',
    'discussion_groups',
    'outcome_counts',
    'outcome_counts_by_minute',
    'blob_errors',
  ],
]

/**
 * The tables that it leaves out, because they describe the running processes or the copies of one service. `copyJobs` makes the jobs
 * again: each engine has a queue of its own.
 */
export const OTHER_TABLES = ['rate_limits', 'jobs', 'leases', 'workers', 'copies']

export type CopiedRow = Record<string, unknown>

/** One transaction on one connection. Disposing rolls it back unless it was committed. */
export interface CopySession extends AsyncDisposable {
  engine: Engine
  /** Yields the rows of a query in batches of limited size. */
  read(query: string): AsyncGenerator<CopiedRow[]>
  /** Inserts rows with equal columns. */
  insert(table: string, rows: readonly CopiedRow[]): Promise<void>
  /** Runs a statement. Its parameters are `?` on SQLite, and `$1`, `$2` and so on with PostgreSQL. */
  run(statement: string, parameters?: unknown[]): Promise<{ rows: CopiedRow[] }>
  commit(): Promise<void>
}

/** A batch has up to about this many characters, so that memory does not depend on the size of rows. */
const BATCH_LENGTH = 2 * 1024 * 1024
const BATCH_ROWS = 2000

/** Opens a session. All that a read-only session reads is from one moment, also while a service is writing. */
export const openCopySession = (
  database: Database,
  dataDirectory: string,
  { isReadOnly }: { isReadOnly: boolean },
): Promise<CopySession> =>
  database.engine === 'sqlite'
    ? openSqliteSession(sqliteFile(dataDirectory), isReadOnly)
    : openPostgresSession(database, isReadOnly)

async function openSqliteSession(file: string, isReadOnly: boolean): Promise<CopySession> {
  const db = new DatabaseSync(file, { timeout: 10_000 })
  db.exec('pragma synchronous = full; pragma foreign_keys = on')
  if (isReadOnly) db.exec('pragma query_only = on')
  db.exec(isReadOnly ? 'begin' : 'begin immediate')
  return {
    engine: 'sqlite',
    async *read(query) {
      let batch: CopiedRow[] = []
      let length = 0
      for (const row of db.prepare(query).iterate()) {
        batch.push(row)
        length += lengthOf(row)
        if (batch.length < BATCH_ROWS && length < BATCH_LENGTH) continue
        yield batch
        await nextTurn()
        batch = []
        length = 0
      }
      if (batch.length > 0) yield batch
    },
    async insert(table, rows) {
      const columns = Object.keys(rows[0] ?? {})
      const marks = columns.map(() => '?').join(', ')
      const statement = db.prepare(`insert into ${table} (${columns.join(', ')}) values (${marks})`)
      for (const row of rows) statement.run(...(Object.values(row) as SQLInputValue[]))
    },
    async run(statement, parameters = []) {
      return { rows: db.prepare(statement).all(...(parameters as SQLInputValue[])) }
    },
    async commit() {
      db.exec('commit')
    },
    async [Symbol.asyncDispose]() {
      // Closing rolls back.
      db.close()
    },
  }
}

async function openPostgresSession(database: Database, isReadOnly: boolean): Promise<CopySession> {
  const client = await database.pool!.connect()
  try {
    await client.query(`begin ${isReadOnly ? 'isolation level repeatable read read only' : ''}`)
  } catch (error) {
    client.release(true)
    throw error
  }
  let isOpen = true
  let cursors = 0
  return {
    engine: 'postgres',
    async *read(query) {
      const cursor = `copy_${cursors++}`
      await client.query(`declare ${cursor} no scroll cursor for ${query}`)
      for (let count = 16; ; ) {
        const { rows } = await client.query(`fetch ${count} from ${cursor}`)
        if (rows.length > 0) yield rows
        if (rows.length < count) break
        const length = rows.reduce((sum: number, row: CopiedRow) => sum + lengthOf(row), 0)
        const fitting = Math.floor((count * BATCH_LENGTH) / Math.max(length, 1))
        count = Math.max(1, Math.min(BATCH_ROWS, count * 4, fitting))
      }
      await client.query(`close ${cursor}`)
    },
    // One JSON parameter has no limit, and takes a quarter less time than one parameter per value (and a fifth of Node's CPU time).
    async insert(table, rows) {
      const columns = Object.keys(rows[0] ?? {}).join(', ')
      await client.query(
        `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
        [JSON.stringify(rows)],
      )
    },
    run: (statement, parameters = []) => client.query(statement, parameters),
    async commit() {
      await client.query('commit')
      isOpen = false
    },
    async [Symbol.asyncDispose]() {
      // A connection with an open transaction is closed and not returned to the pool.
      client.release(isOpen)
    },
  }
}

function lengthOf(row: CopiedRow): number {
  let length = 0
  for (const value of Object.values(row)) length += typeof value === 'string' ? value.length : 8
  return length
}

/** Counts rows and adds up their SHA-256. The sum does not depend on the order of the rows: engines sort texts differently. */
export class RowDigest {
  rows = 0
  #sum = 0n

  add(values: readonly unknown[]): void {
    this.rows += 1
    this.#sum += BigInt(`0x${hash('sha256', JSON.stringify(values))}`)
  }

  toString(): string {
    return BigInt.asUintN(256, this.#sum).toString(16).padStart(64, '0')
  }
}

export type CopiedTable = ReturnType<typeof requireSameRows>

/** Returns the count of a table and its digest in hex. Throws a UserError if its copy has others. */
export function requireSameRows(table: string, source: RowDigest, target: RowDigest) {
  const { rows } = source
  const digest = String(source)
  if (target.rows === rows && String(target) === digest) return { table, rows, digest }
  throw new UserError(
    `the copy of the table ${table} differs: ${rows} rows with digest ${digest} at the source, ${target.rows} rows with digest ${target} at the target`,
  )
}

/**
 * Replaces the rows of all copied tables by those of the source, reads them back, and returns their counts and digests. Throws a
 * UserError if a table is not the same. `onRows` gets the number of rows that were written or read back.
 */
export async function copyTables(
  from: CopySession,
  to: CopySession,
  onRows: (count: number) => void,
): Promise<CopiedTable[]> {
  for (const table of COPIED_TABLES.toReversed()) await to.run(`delete from ${table}`)
  const copied: CopiedTable[] = []
  for (const table of COPIED_TABLES) {
    const columns = await columnsOf(to, table)
    const query = `select ${columns.join(', ')} from ${table}`
    const [source, target] = [new RowDigest(), new RowDigest()]
    for await (const rows of from.read(query)) {
      await to.insert(table, rows).catch((error: unknown) => {
        // PostgreSQL's class of invalid values, such as a text with a NUL character.
        if (!codeOf(error)?.startsWith('22')) throw error
        const reason = (error as Error).message
        throw new UserError(`${table} has a value that PostgreSQL cannot store: ${reason}`)
      })
      for (const row of rows) source.add(Object.values(row))
      onRows(rows.length)
    }
    for await (const rows of to.read(query)) {
      for (const row of rows) target.add(Object.values(row))
      onRows(rows.length)
    }
    copied.push(requireSameRows(table, source, target))
  }
  await copyLastIds(from, to)
  return copied
}

/** Counts the rows that `copyTables` will write and read back. */
export async function countCopiedRows(from: CopySession): Promise<number> {
  let count = 0
  for (const table of COPIED_TABLES) {
    const { rows } = await from.run(`select count(*) as n from ${table}`)
    count += Number(rows[0]!.n)
  }
  return 2 * count
}

async function columnsOf(session: CopySession, table: string): Promise<string[]> {
  const { rows } = await session.run(
    session.engine === 'sqlite'
      ? `select name from pragma_table_info('${table}')`
      : `select attname as name from pg_attribute
          where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped`,
  )
  return rows.map(({ name }) => String(name)).sort()
}

/** Makes the target continue with the ids after those that the source has used, even for rows that were deleted since. */
async function copyLastIds(from: CopySession, to: CopySession): Promise<void> {
  const { rows } = await from.run(
    from.engine === 'sqlite'
      ? 'select name, seq as last from sqlite_sequence'
      : `select classes.relname as name, pg_sequence_last_value(dependencies.objid) as last
          from pg_depend dependencies
          join pg_class sequences on sequences.oid = dependencies.objid and sequences.relkind = 'S'
          join pg_class classes on classes.oid = dependencies.refobjid
          where dependencies.deptype = 'i' and classes.relnamespace = current_schema()::regnamespace`,
  )
  for (const { name, last } of rows) {
    const table = String(name)
    if (!COPIED_TABLES.includes(table) || !(Number(last) > 0)) continue
    if (to.engine === 'postgres')
      await to.run(`select setval(pg_get_serial_sequence('${table}', 'id'), $1)`, [last])
    else {
      await to.run('delete from sqlite_sequence where name = ?', [table])
      await to.run('insert into sqlite_sequence (name, seq) values (?, ?)', [table, Number(last)])
    }
  }
}
