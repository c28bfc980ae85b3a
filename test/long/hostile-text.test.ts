import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { createDatabase } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { createCommandRunner, runInSharedProcess } from '../support/shared-commands.ts'
import { TIMEOUT_MS } from '../support/wait-until.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
const EVIL = 'evil\x1b]0;x\x07\u009b31m\u202e\r\ngodwit: all is well'
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

interface CommandOutput {
  code: number
  stdout: string
  stderr: string
}

const godwit = createCommandRunner()

/** Runs a command in its own process, with its output redirected by a shell. */
function runRedirected(
  args: string[],
  env: Record<string, string>,
  to: string,
): Promise<CommandOutput> {
  const shell = ['-c', `exec "$@" ${to}`, 'sh', GODWIT, ...args]
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, timeout: TIMEOUT_MS }
    execFile('sh', shell, options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr })
    })
  })
}

function assertSafeOutput({ stdout, stderr }: CommandOutput, command: string): void {
  assert.doesNotMatch(stdout + stderr, UNSAFE, command)
  assert.doesNotMatch(stderr, /^\s+at /m, `${command}: ${stderr}`)
  assert.doesNotMatch(stdout + stderr, /^godwit: all is well/m, command)
}

test('names on disk cannot send control sequences to a terminal', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  await mkdir(join(host.root, 'alice', `${EVIL}.git`))
  await mkdir(join(host.root, EVIL))
  const settings = ['--repositories', host.root, '--data', join(temporaryDirectory(t), 'data')]
  for (const command of [
    ['sync'],
    ['doctor'],
    ['doctor', '--json'],
    ['export', 'alice', '--output', '/dev/null/x'],
  ])
    assertSafeOutput(await godwit([...command, ...settings]), command.join(' '))
})

test('JSON output has the names as they are', async (t) => {
  const data = ['--data', join(temporaryDirectory(t), 'data')]
  await godwit(['account', 'add', 'alice', ...data])
  assert.equal((await godwit(['token', 'add', 'alice', '--name', EVIL, ...data])).code, 0)
  const listed = await godwit(['token', 'list', '--json', ...data])
  assertSafeOutput(listed, 'token list --json')
  assert.equal(JSON.parse(listed.stdout)[0].name, EVIL)
})

/** Returns the response to a path: JSON, the text of an event stream, the bytes of an archive, or a redirect. */
type ResponseOf = (path: string) => unknown

async function startServer(t: TestContext, responseTo: ResponseOf): Promise<string> {
  const server = createServer((request, response) => {
    const body = responseTo(request.url!)
    const isText = typeof body === 'string'
    const type = { 'content-type': isText ? 'text/event-stream' : 'application/json' }
    if (body instanceof URL) response.writeHead(302, { location: body.pathname }).end()
    else if (body instanceof Buffer) response.writeHead(200).end(body)
    else response.writeHead(200, type).end(isText ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The responses of a server with one migration of one repository, in which every text is the same. */
function respondWith(text: string, archive?: Buffer): ResponseOf {
  const repository = { full_name: text, private: true, size: 1, default_branch: text }
  const times = { created_at: text, updated_at: text, pushed_at: text }
  const migration = { id: 1, guid: text, state: text, ...times, repositories: [repository] }
  const progress = { full_name: text, state: text, bytes_done: 1, reason: text }
  const end = { state: text, reason: text }
  const events = `event: repository\ndata: ${JSON.stringify(progress)}\n\nevent: end\ndata: ${JSON.stringify(end)}\n\n`
  const forecast = {
    repositories: [{ full_name: text, bytes: 1, reused: false, reason: text }],
    ...{ bytes_to_write: 1, free_bytes: null, estimated_seconds: null },
  }
  const run = {
    ...{ created_at: text, state: text, migration_id: null, reason: text },
    skipped_repositories: [{ full_name: text, reason: text }],
  }
  const schedule = {
    ...{ id: 1, owner: text, created_by: text, repositories: [text], every: text, at: text },
    ...{ time_zone: text, keep: 1, next_run_at: text, paused_reason: null, last_run: run },
    protected_archives: [{ migration_id: 1, created_at: text, repositories: [text] }],
  }
  const config = { url: text, content_type: text }
  const webhook = { id: 1, active: false, events: [text], config, disabled_reason: text }
  const sides = { headers: { [text]: text }, payload: text }
  const delivery = {
    ...{ id: 1, guid: text, delivered_at: text, status: text, event: text, action: text },
    ...{ next_attempt_at: text, request: sides, response: sides },
  }
  const service = {
    queue: { kinds: [{ kind: text, jobs: 1, oldest_at: text }] },
    running: [{ ...migration, login: text, repositories: { total: 1, remaining: 1 } }],
  }
  const token = { id: 1, login: text, name: text, last_used_at: text }
  return (path) => {
    if (path.includes('/schedules?')) return [schedule]
    if (path.includes('/runs?')) return [run]
    if (path.includes('/schedules/')) return schedule
    if (path.includes('/hooks?')) return [webhook]
    if (path.includes('/deliveries?')) return [delivery]
    if (path.includes('/deliveries/')) return delivery
    if (path.includes('/hooks/')) return webhook
    if (path.endsWith('/admin/service')) return service
    if (path.endsWith('/admin/tokens')) return [token]
    if (path.endsWith('/bytes')) return archive
    if (path.endsWith('/archive')) return new URL('http://x/bytes')
    if (path.endsWith('/progress')) return events
    if (path.endsWith('/preflight')) return forecast
    if (path.endsWith('/repositories?per_page=100')) return [repository]
    return path.includes('migrations?') ? [migration] : migration
  }
}

const MIGRATION_COMMANDS = [
  ['list'],
  ['show', '1'],
  ['repositories', '1'],
  ['report', '1'],
  ['start', 'a/b'],
  ['start', 'a/b', '--preflight'],
  ['watch', '1'],
  ['retry', '1'],
]

const GODWIT_COMMANDS = [
  ['schedule', 'list'],
  ['schedule', 'show', '1'],
  ['schedule', 'resume', '1'],
  ['webhook', 'list'],
  ['webhook', 'show', '1'],
  ['webhook', 'deliveries', '1'],
  ['webhook', 'deliveries', '1', '1'],
  ['admin', 'status'],
  ['admin', 'token', 'list'],
]

test('text of a server cannot send control sequences to a terminal', async (t) => {
  const url = await startServer(t, respondWith(EVIL))
  const env = { GODWIT_URL: url, GODWIT_TOKEN: 'x' }
  for (const call of [
    ...MIGRATION_COMMANDS.map((call) => ['migration', ...call]),
    ...GODWIT_COMMANDS,
  ]) {
    const ended = await godwit(call, env)
    assert.notEqual(ended.stdout + ended.stderr, '', call.join(' '))
    if (call[0] !== 'migration') assert.match(ended.stdout, /evil/, call.join(' '))
    assertSafeOutput(ended, call.join(' '))
    assertSafeOutput(await godwit([...call, '--json'], env), `${call.join(' ')} --json`)
  }
})

test('a response of the wrong shape is reported in one line', async (t) => {
  for (const response of [7, [null], { id: 'x', state: 1, repositories: 7 }, ': x\n\n']) {
    const url = await startServer(t, () => response)
    for (const call of MIGRATION_COMMANDS) {
      const ended = await godwit(['migration', ...call], { GODWIT_URL: url, GODWIT_TOKEN: 'x' })
      const message = `${JSON.stringify(response)} for ${call.join(' ')}: ${ended.stdout}${ended.stderr}`
      // `report` prints the response as plain text, so no response has the wrong shape.
      if (call[0] === 'report') assertSafeOutput(ended, message)
      else {
        assert.equal(ended.code, 3, message)
        assert.match(ended.stderr, /^godwit: [^\n]+\n$/, message)
      }
    }
  }
})

/** These commands keep running, so each gets a process of its own, and the test waits until it exits. */
const LONG_RUNNING = new Set(['serve', 'work'])

/**
 * Asserts that with a full disk as standard output the command prints one error, and messages before it only if
 * `hasMessages`.
 */
async function assertWriteError(
  args: string[],
  env: Record<string, string>,
  { hasMessages = false } = {},
): Promise<void> {
  const command = { args, cwd: process.cwd(), env: { ...process.env, ...env } }
  const { code, stderr } = LONG_RUNNING.has(args[0]!)
    ? await runRedirected(args, env, '> /dev/full')
    : await runInSharedProcess(command, 'full')
  const message = `${args.join(' ')}: ${stderr}`
  assertSafeOutput({ code, stdout: '', stderr }, args.join(' '))
  assert.equal(code, 1, message)
  assert.match(
    stderr,
    hasMessages ? /^([^\n]+\n)+godwit: [^\n]+\n$/ : /^godwit: [^\n]+\n$/,
    message,
  )
  assert.equal(stderr.match(/^godwit: .*no space left on the disk/gm)?.length, 1, message)
}

test('commands of the client report a failed write to standard output', async (t) => {
  const at = (url: string) => ({ GODWIT_URL: url, GODWIT_TOKEN: 'x' })
  const archive = gzipSync(randomBytes(1_000_000))
  const env = at(await startServer(t, respondWith('alice/site', archive)))
  // The migration of this server is exported, so that only the write fails.
  const envOfExported = at(await startServer(t, respondWith('exported')))
  const file = join(temporaryDirectory(t), 'archive.tar.gz')
  const withMessages = [
    ['start', 'a/b', '--preflight', '--allow-partial'],
    ['start', 'a/b', '--watch'],
    ['watch', '1'],
  ]
  for (const call of withMessages)
    await assertWriteError(['migration', ...call], envOfExported, { hasMessages: true })
  await assertWriteError(['migration', 'watch', '1', '--json'], envOfExported)
  for (const call of [
    ...MIGRATION_COMMANDS.filter((call) => call[0] !== 'watch' && !call.includes('--preflight')),
    ['list', '--json'],
    ['report', '1', '--json'],
    ['cancel', '1'],
    ['delete', '1'],
    ['unlock', '1', 'site'],
    ['download', '1', '--output', '-'],
    ['download', '1', '--output', file],
  ])
    await assertWriteError(['migration', ...call], env)
})

test('a failed write is reported in one line, and leaves nothing behind', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  const folder = temporaryDirectory(t)
  const [data, scratch, archive] = ['data', 'scratch', 'a.tar.gz'].map((name) => join(folder, name))
  await mkdir(scratch!)
  const settings = { GODWIT_REPOSITORIES: host.root, GODWIT_DATA: data! }
  for (const command of [
    ['sync'],
    ['token', 'add', 'alice'],
    ['export', 'alice', '--output', archive!],
  ])
    assert.equal((await godwit(command, settings)).code, 0, command.join(' '))
  const env = { ...settings, TMPDIR: scratch! }
  for (const command of [
    ['--help'],
    ['config'],
    ['account', 'list'],
    ['account', 'show', 'alice'],
    ['account', 'edit', 'alice', '--site-admin'],
    ['token', 'add', 'alice'],
    ['token', 'list'],
    ['lock', 'list', '--json'],
    ['sync'],
    ['doctor'],
    ['doctor', '--json'],
    ['check'],
    ['verify', archive!],
    ['show', archive!],
    ['restore', archive!, '--into', join(folder, 'restored')],
    ['serve', '--log-level', 'silent', '--listen', `127.0.0.1:${await freePort()}`],
    ['work', '--log-level', 'silent', '--database-url', await createDatabase()],
  ])
    await assertWriteError(command, env)
  const exported = ['export', 'alice', '--output', '-']
  await assertWriteError(exported, env, { hasMessages: true })
  assert.deepEqual(await readdir(scratch!), [])
  using database = new DatabaseSync(join(data!, 'godwit.sqlite'))
  assert.equal(database.prepare('select count(*) as n from tokens').get()!.n, 1)
  const silent = await runRedirected(['account', 'show', 'nobody'], env, '2> /dev/full')
  assert.equal(silent.code, 1)
})
