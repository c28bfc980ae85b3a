import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type CommandLine, commandLine } from '../support/command-line.ts'
import { fakeServer, sendJson } from '../support/fake-server.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import type { SharedService } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { needsTerminal, typeAtTerminal } from '../support/terminal.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
const wholeFile = cleanupAfterFile()
let service: SharedService
let token: string

before(async () => {
  const host = await gitHost()
  wholeFile.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  service = await startSharedService(wholeFile, { repositories: host.root })
  token = await service.token('alice')
})

interface Desk extends CommandLine {
  /** Where the servers are stored. */
  file: string
  /** Runs a command; asserts its exit code and that no output contains the token. */
  run(code: number, args: string, input?: string): Promise<{ out: string; err: string }>
}

async function desk(t: Parameters<typeof commandLine>[0]): Promise<Desk> {
  const config = join(temporaryDirectory(t), 'config')
  const line = await commandLine(t, { XDG_CONFIG_HOME: config })
  return {
    ...line,
    file: join(config, 'godwit/servers.json'),
    async run(code, args, input) {
      const ended = await line.godwit(args.split(' '), input ? Buffer.from(input) : undefined)
      assert.equal(ended.code, code, ended.output)
      assert.ok(!ended.output.includes(token), 'the token was printed')
      return { out: ended.stdout.toString().trimEnd(), err: ended.stderr }
    },
  }
}

const modeOf = async (path: string) => (await stat(path)).mode & 0o777

test('after a login no command needs a URL or a token, until the logout', async (t) => {
  const { run, file } = await desk(t)
  assert.match((await run(2, 'migration list')).err, /no server: run `godwit auth login`/)
  const login = await run(0, `auth login --url ${service.url}/ --with-token`, `${token}\n`)
  assert.equal(login.out, `logged in to ${service.url} as alice`)
  assert.deepEqual([await modeOf(file), await modeOf(join(file, '..'))], [0o600, 0o700])
  assert.deepEqual(await readdir(join(file, '..')), ['servers.json'])

  assert.equal((await run(0, 'migration list')).err, 'no migrations yet\n')
  const status = await run(0, 'auth status')
  assert.match(status.out, new RegExp(`^${service.url} \\(active\\)\n +account +alice\n`))
  assert.match(status.out, new RegExp(`token +from ${file}\n +state +works$`))
  assert.deepEqual(JSON.parse((await run(0, 'auth status --json')).out), [
    { url: service.url, active: true, login: 'alice', token_from: file, works: true, error: null },
  ])
  assert.match((await run(0, 'config')).out, new RegExp(`--url +${service.url} \\(${file}\\)`))

  assert.equal((await run(0, 'auth logout')).out, `logged out of ${service.url}`)
  assert.ok(!existsSync(file))
  assert.match((await run(1, 'auth status')).err, /you are not logged in to a server/)
  assert.deepEqual(JSON.parse((await run(1, 'auth status --json')).out), [])
  await run(1, 'auth logout')
})

test('a token that the server does not accept is not stored', async (t) => {
  const { run, file } = await desk(t)
  const wrong = await run(3, `auth login --url ${service.url} --with-token`, 'gwt_c4n4ry\n')
  assert.match(wrong.err, /does not accept the token/)
  assert.doesNotMatch(wrong.err + wrong.out, /c4n4ry/)
  await run(2, `auth login --url ${service.url} --with-token`, '\n')
  await run(2, `auth login --url ${service.url} --with-token`, 'two words')
  await run(2, 'auth login --url ftp://x --with-token', token)
  await run(2, 'auth login --with-token', token)
  assert.match((await run(2, `auth login --url ${service.url}`)).err, /use --with-token < FILE/)
  await run(2, `auth login --url ${service.url} --token ${'x'.repeat(8)}`)
  assert.ok(!existsSync(file))
})

test('a token is sent only to the server it was stored for', async (t) => {
  const { run, file, env } = await desk(t)
  const other = await fakeServer(t, ({ headers }, response) =>
    headers.authorization === 'bearer of-the-other'
      ? sendJson(response, 200, { login: 'ally' })
      : sendJson(response, 401, { message: 'Bad credentials' }),
  )
  await run(0, `auth login --url ${other.url} --with-token`, 'of-the-other')
  await run(0, `auth login --url ${service.url} --with-token`, token)
  const [first, second] = JSON.parse((await run(0, 'auth status --json')).out)
  assert.deepEqual([first.url, first.active, first.login], [service.url, true, 'alice'])
  assert.deepEqual([second.url, second.active, second.login], [other.url, false, 'ally'])

  await run(0, `auth switch --url ${other.url}`)
  await run(3, 'migration list')
  await run(0, `migration list --url ${service.url}`)
  await run(1, 'auth switch --url https://unknown.example')
  assert.match((await run(0, 'auth logout')).out, new RegExp(`; ${service.url} is active now$`))
  const count = other.requests.length
  assert.match((await run(2, `migration list --url ${other.url}`)).err, /no access token for/)
  assert.equal(other.requests.length, count)
  const sent = other.requests.map(({ headers }) => headers.authorization)
  assert.deepEqual([...new Set(sent)], ['bearer of-the-other'])

  // The token of a variable is for the server in use, not for every stored one.
  await run(0, `auth login --url ${other.url} --with-token`, 'of-the-other')
  env.GODWIT_URL = service.url
  env.GODWIT_TOKEN = token
  const [used] = JSON.parse((await run(0, 'auth status --json')).out)
  assert.deepEqual([used.url, used.token_from], [service.url, 'GODWIT_TOKEN'])
  assert.ok(!other.requests.some(({ headers }) => headers.authorization?.includes(token)))
  assert.ok((await readFile(file, 'utf8')).includes(token))
})

test('a token is in no argument of a process and in no log', async (t) => {
  const { run, file } = await desk(t)
  const commandLines: string[] = []
  const watching = await fakeServer(t, async (_request, response) => {
    for (const pid of await readdir('/proc'))
      commandLines.push(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''))
    sendJson(response, 200, { login: 'alice' })
  })
  await run(0, `auth login --url ${watching.url} --with-token`, token)
  await run(0, 'auth status')
  assert.ok(watching.requests.every(({ headers }) => headers.authorization === `bearer ${token}`))
  assert.ok(commandLines.some((line) => line.includes('auth\0login')))
  assert.ok(!commandLines.some((line) => line.includes(token)))
  await run(0, `auth login --url ${service.url} --with-token`, token)
  assert.ok((await readFile(file, 'utf8')).includes(token))
  assert.match(service.log(), /\/user/)
  assert.ok(!service.log().includes(token))
})

test('the URL and the token are asked for at a terminal, and the token is not echoed', {
  ...needsTerminal,
}, async (t) => {
  const { folder, env, file } = await desk(t)
  const config = { XDG_CONFIG_HOME: env.XDG_CONFIG_HOME! }
  const stopped = typeAtTerminal(t, `${GODWIT} auth login`, { cwd: folder, env: config })
  await stopped.type('', /Server URL: /)
  await stopped.type(`${service.url}\r`, /Token for .*: /)
  await stopped.type('\x03', /stopped; nothing was stored/)
  assert.equal((await stopped.ended()).code, 130)
  assert.ok(!existsSync(file))

  const terminal = typeAtTerminal(t, `${GODWIT} auth login`, { cwd: folder, env: config })
  await terminal.type('', /Server URL: /)
  await terminal.type(`${service.url}\r`, /Token for .*: /)
  await terminal.type(`${token}\r`, /logged in to .* as alice/)
  const { code, shown } = await terminal.ended()
  assert.equal(code, 0, shown)
  assert.ok(!shown.includes(token) && !shown.includes(token.slice(-8)), 'the token was echoed')
  assert.ok((await readFile(file, 'utf8')).includes(token))
})
