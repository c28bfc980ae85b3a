import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { until, withTimeout } from '../support/wait-until.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const OUR_PROGRAMS = join(ROOT, 'node_modules/.bin')
const run = promisify(execFile)

/** Returns the commands of the README under this heading, without comments. */
async function readmeCommands(heading: string): Promise<string[]> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
  const section = readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const [, block = ''] = /```sh\n(.*?)```/s.exec(section) ?? []
  return block
    .split('\n')
    .map((line) => line.replace(/ +#.*/, ''))
    .filter(Boolean)
}

/** The npm variables about the source of packages; the others describe the test run. */
const ABOUT_THE_MACHINE = /^npm_config_(registry|cache|userconfig|globalconfig|.*proxy)$/i

/** The environment of a user who has just cloned the project, without the programs of this checkout. */
function freshEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_|GODWIT_)/i.test(name) || ABOUT_THE_MACHINE.test(name),
  )
  const folders = (process.env.PATH ?? '').split(delimiter)
  return {
    ...Object.fromEntries(entries),
    PATH: folders.filter((folder) => !folder.includes('node_modules/.bin')).join(delimiter),
    GODWIT_CONFIG: '/dev/null',
    // Uses the npm cache, so that packages are not downloaded again.
    npm_config_prefer_offline: 'true',
  }
}

/** A terminal: a folder, an environment, and the commands typed there. */
interface Terminal {
  folder: string
  env: NodeJS.ProcessEnv
}

async function paste({ folder, env }: Terminal, command: string): Promise<string> {
  const { stdout } = await run('bash', ['-c', command], { cwd: folder, env, maxBuffer: 1 << 24 })
  return stdout
}

interface Sample {
  url: string
  /** The printed commands: status, repositories, start, download. */
  commands: string[]
  /** Stops it like Ctrl-C. */
  stop(): Promise<void>
}

/** Types the command that starts the service with its sample, and waits for its screen. */
async function startSample(
  t: { after(act: () => void): void },
  { folder, env }: Terminal,
  command: string,
  listen?: string,
): Promise<Sample> {
  const address = listen ?? `127.0.0.1:${await freePort()}`
  const child = spawn('bash', ['-c', command], {
    cwd: folder,
    env: { ...env, GODWIT_LISTEN: address },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const signal = (name: NodeJS.Signals) => child.pid && process.kill(-child.pid, name)
  t.after(() => {
    if (child.exitCode === null && child.signalCode === null) signal('SIGKILL')
  })
  const commands: string[] = []
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('curl ')) commands.push(line)
    if (commands.length < 4) continue
    return {
      url: `http://${address}`,
      commands,
      async stop() {
        signal('SIGINT')
        await withTimeout(`${command} ends after Ctrl-C`, once(child, 'exit'))
      },
    }
  }
  throw new Error(`${command} ended before it printed its commands:\n${said}`)
}

/** npm writes hundreds of megabytes, which depends on the disk. */
const PATIENT = { timeout: 900_000 }

describe('in a fresh clone', () => {
  const env = freshEnvironment()
  const clone: Terminal = {
    folder: join(temporaryDirectory({ after: after as TestContext['after'] }), 'godwit'),
    env,
  }
  before(() => run('git', ['clone', '--quiet', ROOT, clone.folder]))

  test('every command of the README’s quick start works', PATIENT, async (t) => {
    const [command = ''] = await readmeCommands('Two commands')
    assert.match(command, /^npm ci && npm start$/)
    const first = await startSample(t, clone, command)
    await pasteAll(clone, first)
    await paste(clone, 'bin/godwit verify migration.tar.gz')
    await first.stop()

    const again = command.replace('npm ci && ', '')
    const second = await startSample(t, clone, again, new URL(first.url).host)
    const token = ([status = '']: string[]) => status.split("'")[1]
    assert.equal(token(second.commands), token(first.commands))
    const { state } = JSON.parse(await paste(clone, first.commands[0]!))
    assert.equal(state, 'exported', 'yesterday’s commands still work')
    await second.stop()
    // The sample is invisible outside its own directory.
    await assert.rejects(paste(clone, 'bin/godwit account list'), /there is no database at/)
  })

  test('the package is compiled, small, and sufficient for a migration', PATIENT, async (t) => {
    const shelf = temporaryDirectory(t)
    const [packed] = JSON.parse(
      await paste(clone, `npm pack --silent --json --pack-destination ${shelf}`),
    ) as { filename: string; files: { path: string }[] }[]
    const paths = packed!.files.map(({ path }) => path)
    for (const wanted of ['bin/godwit', 'lib/src/main.js', 'lib/web/dist/index.html', 'LICENSE'])
      assert.ok(paths.includes(wanted), `${wanted} is missing`)
    const foreign = paths.filter((path) => /\.tsx?$|test|fixture|\.png$/.test(path))
    assert.deepEqual(foreign, [])
    const tarball = join(shelf, packed!.filename)
    assert.ok((await stat(tarball)).size < 4_000_000, 'the package is small')

    const prefix = join(shelf, 'prefix')
    const desk = { folder: temporaryDirectory(t), env }
    try {
      await paste(desk, `npm install --global --prefix ${prefix} ${tarball}`)
    } catch (error) {
      if (process.env.CI === 'true' || !isUnreachable(error)) throw error
      return t.skip('the registry of packages cannot be reached')
    }
    for (const node of await nodesAtHand()) {
      await t.test(`on ${node.version}`, async (t) => {
        await wholeMigration(t, prefix, node.folder)
      })
    }
  })
})

const isUnreachable = (error: unknown): boolean =>
  /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTCACHED/.test((error as { stderr: string }).stderr)

/** Returns the pinned Node, and other versions on the PATH that the package supports. */
async function nodesAtHand(): Promise<{ folder: string; version: string }[]> {
  const found = new Map<string, string>()
  for (const folder of [OUR_PROGRAMS, ...(process.env.PATH ?? '').split(delimiter)]) {
    const asked = await run(join(folder, 'node'), ['--version']).catch(() => undefined)
    const version = asked?.stdout.trim() ?? ''
    if (Number.parseInt(version.slice(1), 10) >= 24 && !found.has(version))
      found.set(version, folder)
  }
  return Array.from(found, ([version, folder]) => ({ version, folder }))
}

async function wholeMigration(
  t: Parameters<typeof startSample>[0],
  prefix: string,
  nodeFolder: string,
): Promise<void> {
  const env = freshEnvironment()
  env.PATH = [join(prefix, 'bin'), nodeFolder, env.PATH].join(delimiter)
  // With this flag no TypeScript file could be loaded. Early versions of Node 24 only know this name.
  env.NODE_OPTIONS = '--no-experimental-strip-types'
  const desk = { folder: temporaryDirectory(t), env }
  const sample = await startSample(t, desk, 'exec godwit serve --log-level warn')
  const { id } = await pasteAll(desk, sample)
  assert.deepEqual((await readdir(desk.folder)).sort(), ['migration.tar.gz', 'var'])
  assert.match(await paste(desk, 'godwit verify migration.tar.gz'), /is intact: 6 repositories/)

  const [status = '', , , download = ''] = sample.commands
  const another = (command: string) => command.replace(/(\/user\/migrations\/)\d+/, `$1${id}`)
  await until('the pasted start is exported', async () => {
    const { state } = JSON.parse(await paste(desk, another(status)))
    assert.notEqual(state, 'failed')
    return state === 'exported'
  })
  await paste(desk, another(download))
  assert.match(await paste(desk, 'godwit verify migration.tar.gz'), /is intact: 2 repositories/)
  const page = await fetch(sample.url, { headers: { accept: 'text/html' } })
  assert.match(await page.text(), /<!doctype html>/i, 'the dashboard came with it')
  await sample.stop()
}

/** Runs the printed commands, checks the output, and returns the started migration. */
async function pasteAll(at: Terminal, { commands }: Sample): Promise<{ id: number }> {
  const [status = '', repositories = '', start = '', download = ''] = commands
  assert.equal(JSON.parse(await paste(at, status)).state, 'exported')
  const covered = JSON.parse(await paste(at, repositories)) as Record<string, unknown>[]
  assert.equal(covered.length, 6)
  const named = (name: string) => covered.find((each) => each.full_name === name)!
  assert.equal(named('wader/nest-diary').private, true)
  assert.equal(named('wader/field-notes').has_wiki, true)
  assert.equal(named('wader/tide-tables').fork, true)
  assert.equal(named('shorebirds/starter').is_template, true)
  assert.equal((named('wader/flyway').template_repository as { name: string }).name, 'starter')
  assert.deepEqual(
    new Set(covered.map(({ language }) => language)),
    new Set(['Python', 'Rust', 'Go', 'TypeScript', null]),
  )
  const started = JSON.parse(await paste(at, start))
  assert.equal(started.state, 'pending')
  await paste(at, download)
  return started
}
