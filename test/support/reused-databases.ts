import type pg from 'pg'
import { escapeLiteral } from 'pg'
import { databaseOf, openPool } from '../../packages/server/src/db/connect.ts'
import type { Database } from '../../packages/server/src/db/database.ts'
import { atProcessEnd } from './process-end.ts'
import { copyOfUpgraded } from './upgraded-databases.ts'

/** A database with its connections. Each test has it alone. */
interface Reused {
  pool: pg.Pool
  /** Deletes all rows but those of the schema itself, and restarts all sequences. */
  clear: string
  /** Describes the schema of the unused database. */
  schema: string
}

const unused: Reused[] = []

/** Deleting more rows would leave files that make the next test slower than a new database does. */
const MAX_ROWS = 1000

/**
 * Returns an empty PostgreSQL database with the current schema. When the test closes it, it is cleared for the next test of this process:
 * that takes 2 ms of CPU time, and copying a database and connecting to it 30 ms. A database is not used again if its schema has changed.
 */
export async function openReused(): Promise<Database> {
  const reused = unused.pop() ?? (await makeReused())
  const pool = poolOfTest(reused.pool)
  const database = databaseOf(pool)
  let closing: Promise<void> | undefined
  async function close(): Promise<void> {
    await database.close()
    if (await clear(reused)) unused.push(reused)
    else await reused.pool.end()
  }
  return { ...database, close: () => (closing ??= close()) }
}

async function makeReused(): Promise<Reused> {
  const pool = await openPool(await copyOfUpgraded())
  const { rows } = await pool.query<{ table: boolean; name: string }>(`
    select relkind = 'r' as table, relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relname <> 'godwit_schema'`)
  // Without triggers, so that the order of the tables does not matter.
  const statements = ['begin', 'set local session_replication_role = replica']
  for (const { table, name } of rows) {
    statements.push(table ? `delete from ${name}` : `select setval('${name}', 1, false)`)
    if (!table) continue
    const found = await pool.query<{ json: string | null }>(
      `select json_agg(t)::text as json from ${name} t`,
    )
    const { json } = found.rows[0]!
    if (json)
      statements.push(
        `insert into ${name} select * from json_populate_recordset(null::${name}, ${escapeLiteral(json)})`,
      )
  }
  const reused = { pool, clear: [...statements, 'commit'].join('; '), schema: '' }
  reused.schema = await describeSchema(pool)
  return reused
}

/** Returns whether the database can be used again. */
async function clear({ pool, clear, schema }: Reused): Promise<boolean> {
  if ((await describeSchema(pool)) !== schema) return false
  // The types do not know that several statements have several results.
  const results = (await pool.query(clear)) as unknown as pg.QueryResult[]
  const deleted = results.filter(({ command }) => command === 'DELETE')
  return deleted.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0) <= MAX_ROWS
}

async function describeSchema(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ schema: string }>(`
    select concat_ws(' ',
      (select string_agg(relname, ',' order by oid) from pg_class where relnamespace = 'public'::regnamespace),
      (select count(*) from pg_attribute), (select count(*) from pg_attribute where attnotnull or atthasdef),
      (select count(*) from pg_constraint), (select count(*) from pg_trigger), (select count(*) from pg_proc),
      (select count(*) from pg_class), (select count(*) from pg_namespace), (select max(step) from godwit_schema)) as schema`)
  return rows[0]!.schema
}

/** Returns a view of the pool that the test can close: work that a test did not stop cannot use the database of the next test. */
function poolOfTest(pool: pg.Pool): pg.Pool {
  const clients = new Set<pg.PoolClient>()
  let whenReleased = () => {}
  const onRelease = (_: unknown, client: pg.PoolClient) => {
    clients.delete(client)
    if (clients.size === 0) whenReleased()
  }
  pool.on('release', onRelease)
  const own = Object.create(pool) as pg.Pool & { ending: boolean }
  type Connected = (error: Error | undefined, client?: pg.PoolClient, release?: unknown) => void
  async function connect(): Promise<pg.PoolClient> {
    if (own.ending) throw new Error('Cannot use a pool after calling end on the pool')
    const client = await pool.connect()
    clients.add(client)
    return client
  }
  async function end(): Promise<void> {
    own.ending = true
    if (clients.size > 0)
      await new Promise<void>((resolve) => {
        whenReleased = resolve
      })
    pool.off('release', onRelease)
  }
  const connectWithCallback = (connected?: Connected) => {
    if (!connected) return connect()
    connect().then((client) => connected(undefined, client, client.release), connected)
    return undefined
  }
  return Object.assign(own, { ending: false, connect: connectWithCallback, end })
}

atProcessEnd(() => Promise.all(unused.splice(0).map(({ pool }) => pool.end())))
