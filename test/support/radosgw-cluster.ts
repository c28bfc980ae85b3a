import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, openSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { TIMEOUT_MS, until } from './wait-until.ts'

const run = promisify(execFile)

/** What a test process needs to use the cluster's gateway, or to run its own. */
export interface ObjectStore {
  endpoint: string
  accessKeyId: string
  secretAccessKey: string
  directory: string
}

export interface Daemon {
  kill(signal: NodeJS.Signals): Promise<void>
}

/** Starts Ceph's object gateway with a monitor and one in-memory store, on loopback, in a temporary directory. */
export async function startObjectStore(): Promise<ObjectStore & { stop(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'godwit-radosgw-'))
  const daemons: Daemon[] = []
  async function stop(): Promise<void> {
    await Promise.all(daemons.map((daemon) => daemon.kill('SIGKILL')))
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await prepare(directory)
    daemons.push(startDaemon(directory, 'mon', ['ceph-mon', '-i', 'a', '-f']))
    await createStore(directory)
    daemons.push(startDaemon(directory, 'osd', ['ceph-osd', '-i', '0', '-f']))
    const user = { accessKeyId: 'godwit', secretAccessKey: randomBytes(16).toString('hex') }
    const [gateway] = await Promise.all([
      startGateway(directory, await freePort()),
      createUser(directory, user),
    ])
    daemons.push(gateway)
    return { ...user, endpoint: gateway.endpoint, directory, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts a gateway on the cluster, and resolves when it answers requests. */
export async function startGateway(
  directory: string,
  port: number,
): Promise<Daemon & { endpoint: string }> {
  const endpoint = `http://127.0.0.1:${port}`
  const frontend = `--rgw-frontends=beast endpoint=127.0.0.1:${port} tcp_nodelay=1`
  const gateway = startDaemon(directory, `rgw-${port}`, [
    'radosgw',
    '-n',
    'client.rgw',
    '-f',
    frontend,
    `--log-file=${join(directory, `rgw-${port}.log`)}`,
    `--admin-socket=${join(directory, `rgw-${port}.asok`)}`,
    `--pid-file=${join(directory, `rgw-${port}.pid`)}`,
  ])
  await until(`the object gateway responds at ${endpoint}`, async () => {
    if (gateway.child.exitCode !== null) {
      throw new Error(await readFile(join(directory, `rgw-${port}.out`), 'utf8'))
    }
    return responds(endpoint)
  })
  return { endpoint, kill: gateway.kill }
}

const responds = (endpoint: string): Promise<boolean> =>
  fetch(endpoint).then(
    ({ ok }) => ok,
    () => false,
  )

/** The kernel ends the daemon when the process that started it ends in any way. */
function startDaemon(
  directory: string,
  name: string,
  command: string[],
): Daemon & { child: ChildProcess } {
  const output = openSync(join(directory, `${name}.out`), 'a')
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], {
    env: environment(directory),
    stdio: ['ignore', output, output],
  })
  const ended = once(child, 'exit')
  return {
    child,
    async kill(signal) {
      child.kill(signal)
      await ended
    },
  }
}

const environment = (directory: string) => ({
  PATH: process.env.PATH,
  CEPH_CONF: join(directory, 'ceph.conf'),
})

async function ceph(directory: string, program: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(program, args, { env: environment(directory), timeout: TIMEOUT_MS })
  return stdout
}

/** Writes settings, keys and the monitor's store. */
async function prepare(directory: string): Promise<void> {
  for (const name of ['mon', 'osd']) mkdirSync(join(directory, name))
  const fsid = randomUUID()
  const address = `[v2:127.0.0.1:${await freePort()}/0]`
  await writeFile(join(directory, 'ceph.conf'), settings(directory, fsid, address))
  const keyring = join(directory, 'keyring')
  const all = ['--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *']
  await ceph(directory, 'ceph-authtool', '-C', keyring)
  for (const name of ['mon.', 'client.admin', 'client.rgw', 'osd.0']) {
    await ceph(directory, 'ceph-authtool', keyring, '--gen-key', '-n', name, ...all)
  }
  const map = join(directory, 'monmap')
  await ceph(directory, 'monmaptool', '--create', '--fsid', fsid, '--addv', 'a', address, map)
  const from = ['--monmap', map, '--keyring', keyring]
  await ceph(directory, 'ceph-mon', '--mkfs', '-i', 'a', ...from)
}

async function createStore(directory: string): Promise<void> {
  const uuid = randomUUID()
  await ceph(directory, 'ceph', 'osd', 'new', uuid)
  await ceph(directory, 'ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', uuid)
}

async function createUser(
  directory: string,
  { accessKeyId, secretAccessKey }: Pick<ObjectStore, 'accessKeyId' | 'secretAccessKey'>,
): Promise<void> {
  const keys = [`--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`]
  const user = ['--uid=godwit', '--display-name=godwit', ...keys]
  await ceph(directory, 'radosgw-admin', '-n', 'client.rgw', 'user', 'create', ...user)
}

/**
 * Settings for a fast start: one replica, one placement group per pool, no batching of proposals. No cache,
 * because its changes are sent to every gateway, also to ones that a test has killed.
 */
function settings(directory: string, fsid: string, monitor: string): string {
  return `[global]
fsid = ${fsid}
keyring = ${directory}/keyring
mon_initial_members = a
mon_host = ${monitor}
mon_data = ${directory}/mon
osd_data = ${directory}/osd
run_dir = ${directory}
admin_socket = ${directory}/$name.asok
pid_file = ${directory}/$name.pid
log_file = ${directory}/$name.log
crash_dir = ${directory}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_msgr1 = false
auth_allow_insecure_global_id_reclaim = false
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_objectstore = memstore
memstore_device_bytes = 4294967296
paxos_propose_interval = 0.02
paxos_min_wait = 0.01
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
mon_data_avail_crit = 1
mon_data_avail_warn = 2
rgw_thread_pool_size = 64
rgw_cache_enabled = false
`
}
