import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { documentationFiles } from '../../scripts/documentation-files.ts'
import { freePort } from '../support/free-port.ts'
import { skipIfUnreachable } from '../support/npm-registry.ts'
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
const PACKAGE_SOURCE_VARIABLES = /^npm_config_(registry|cache|userconfig|globalconfig|.*proxy)$/i

/** The environment of a user who has just cloned the project, without the programs of this checkout. */
function freshEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_|GODWIT_)/i.test(name) || PACKAGE_SOURCE_VARIABLES.test(name),
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

async function runCommand({ folder, env }: Terminal, command: string): Promise<string> {
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
  t: { after(cleanup: () => void): void },
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
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
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
  throw new Error(`${command} ended before it printed its commands:\n${output}`)
}

/** npm writes hundreds of megabytes, which depends on the disk. */
const LONG_TIMEOUT = { timeout: 900_000 }

describe('in a fresh clone', () => {
  const env = freshEnvironment()
  const clone: Terminal = {
    folder: join(temporaryDirectory({ after: after as TestContext['after'] }), 'godwit'),
    env,
  }
  before(() => run('git', ['clone', '--quiet', ROOT, clone.folder]))

  test('every command of the README’s quick start works', LONG_TIMEOUT, async (t) => {
    const [command = ''] = await readmeCommands('Two commands')
    assert.match(command, /^npm ci && npm start$/)
    const first = await startSample(t, clone, command)
    await runPrintedCommands(clone, first)
    await runCommand(clone, 'bin/godwit verify migration.tar.gz')
    await first.stop()

    const again = command.replace('npm ci && ', '')
    const second = await startSample(t, clone, again, new URL(first.url).host)
    const token = ([status = '']: string[]) => status.split("'")[1]
    assert.equal(token(second.commands), token(first.commands))
    const { state } = JSON.parse(await runCommand(clone, first.commands[0]!))
    assert.equal(state, 'exported', 'the commands of the first start no longer work')
    await second.stop()
    // The sample is invisible outside its own directory.
    await assert.rejects(runCommand(clone, 'bin/godwit account list'), /there is no database at/)
  })

  test(
    'the package is compiled, small, and sufficient for a migration',
    LONG_TIMEOUT,
    async (t) => {
      const folder = temporaryDirectory(t)
      const [packed] = JSON.parse(
        await runCommand(clone, `npm pack --silent --json --pack-destination ${folder}`),
      ) as { filename: string; files: { path: string }[] }[]
      const paths = packed!.files.map(({ path }) => path)
      const program = [
        'bin/godwit',
        'lib/node_modules/@godwit/cli/src/main.js',
        'lib/node_modules/@godwit/dashboard/dist/index.html',
      ]
      for (const wanted of [...program, ...documentationFiles()])
        assert.ok(paths.includes(wanted), `${wanted} is missing`)
      const unwanted = paths.filter((path) => /\.tsx?$|test|fixture/.test(path))
      assert.deepEqual(unwanted, [])
      const tarball = join(folder, packed!.filename)
      assert.ok((await stat(tarball)).size < 4_000_000, 'the package is too large')

      const prefix = join(folder, 'prefix')
      const terminal = { folder: temporaryDirectory(t), env }
      try {
        await runCommand(terminal, `npm install --global --prefix ${prefix} ${tarball}`)
      } catch (error) {
        return skipIfUnreachable(t, error)
      }
      for (const node of await findNodes()) {
        await t.test(`on ${node.version}`, async (t) => {
          await runMigration(t, prefix, node.folder)
        })
      }
    },
  )
})

/** Returns the pinned Node, and other versions on the PATH that the package supports. */
async function findNodes(): Promise<{ folder: string; version: string }[]> {
  const found = new Map<string, string>()
  for (const folder of [OUR_PROGRAMS, ...(process.env.PATH ?? '').split(delimiter)]) {
    const result = await run(join(folder, 'node'), ['--version']).catch(() => undefined)
    const version = result?.stdout.trim() ?? ''
    if (Number.parseInt(version.slice(1), 10) >= 26 && !found.has(version))
      found.set(version, folder)
  }
  return Array.from(found, ([version, folder]) => ({ version, folder }))
}

async function runMigration(
  t: Parameters<typeof startSample>[0],
  prefix: string,
  nodeFolder: string,
): Promise<void> {
  const env = freshEnvironment()
  env.PATH = [join(prefix, 'bin'), nodeFolder, env.PATH].join(delimiter)
  // With this flag no TypeScript file could be loaded.
  env.NODE_OPTIONS = '--no-experimental-strip-types'
  const terminal = { folder: temporaryDirectory(t), env }
  const sample = await startSample(t, terminal, 'exec godwit serve --log-level warn')
  const { id } = await runPrintedCommands(terminal, sample)
  assert.deepEqual((await readdir(terminal.folder)).sort(), ['migration.tar.gz', 'var'])
  assert.match(
    await runCommand(terminal, 'godwit verify migration.tar.gz'),
    /is intact: 6 repositories/,
  )
  const toHtml = 'godwit convert migration.tar.gz --to html --output site'
  assert.match(await runCommand(terminal, toHtml), /^next: open .*\/index\.html/m)

  const [status = '', , , download = ''] = sample.commands
  const withNewId = (command: string) => command.replace(/(\/user\/migrations\/)\d+/, `$1${id}`)
  await until('the started migration is exported', async () => {
    const { state } = JSON.parse(await runCommand(terminal, withNewId(status)))
    assert.notEqual(state, 'failed')
    return state === 'exported'
  })
  await runCommand(terminal, withNewId(download))
  assert.match(
    await runCommand(terminal, 'godwit verify migration.tar.gz'),
    /is intact: 2 repositories/,
  )
  const page = await fetch(sample.url, { headers: { accept: 'text/html' } })
  assert.match(await page.text(), /<!doctype html>/i, 'the package has no dashboard')
  await sample.stop()
}

/** Runs the printed commands, checks the output, and returns the started migration. */
async function runPrintedCommands(
  terminal: Terminal,
  { commands }: Sample,
): Promise<{ id: number }> {
  const [status = '', repositories = '', start = '', download = ''] = commands
  assert.equal(JSON.parse(await runCommand(terminal, status)).state, 'exported')
  const listed = JSON.parse(await runCommand(terminal, repositories)) as Record<string, unknown>[]
  assert.equal(listed.length, 6)
  const find = (name: string) => listed.find((each) => each.full_name === name)!
  assert.equal(find('wader/nest-diary').private, true)
  assert.equal(find('wader/field-notes').has_wiki, true)
  assert.equal(find('wader/tide-tables').fork, true)
  assert.equal(find('shorebirds/starter').is_template, true)
  assert.equal((find('wader/flyway').template_repository as { name: string }).name, 'starter')
  assert.deepEqual(
    new Set(listed.map(({ language }) => language)),
    new Set(['Python', 'Rust', 'Go', 'TypeScript', null]),
  )
  const started = JSON.parse(await runCommand(terminal, start))
  assert.equal(started.state, 'pending')
  await runCommand(terminal, download)
  return started
}
