import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { clientCommandLine } from '../support/client-command-line.ts'
import { type Answer, fakeServer, json } from '../support/fake-server.ts'
import { until } from '../support/wait-until.ts'

const migrationJson = { id: 79, guid: 'g', state: 'exported', repositories: [] }
const NOT_FOUND = { message: 'Not Found' }
/** An empty tar. */
const ARCHIVE = gzipSync(Buffer.alloc(1024))

/** Does not respond to one path, where the command is interrupted by Ctrl-C. */
const hangingAt =
  (pattern: RegExp): Answer =>
  ({ method, path }, response) => {
    if (pattern.test(`${method} ${path}`)) return
    if (path.endsWith('/archive')) return void response.writeHead(302, { location: '/bytes' }).end()
    if (path === '/bytes') return void response.end(ARCHIVE)
    if (/\/(progress|summary|retry)$/.test(path)) return json(response, 404, NOT_FOUND)
    json(response, 200, migrationJson)
  }

/** Returns the last line of the command when it is interrupted there. */
async function stoppedAt(t: TestContext, pattern: RegExp, ...args: string[]): Promise<string> {
  const token = `ghp_${randomBytes(16).toString('hex')}`
  const server = await fakeServer(t, hangingAt(pattern))
  const { start } = await clientCommandLine(t, { url: server.url, token })
  const command = start(args)
  await until(
    () => `${pattern} is asked for`,
    () => server.heard.some(({ method, path }) => pattern.test(`${method} ${path}`)),
  )
  command.kill('SIGINT')
  const { code, said, stderr } = await command.ended
  assert.equal(code, 130, said)
  return stderr.trimEnd().split('\n').at(-1)!
}

test('a start that is interrupted before its response says that it may have happened', async (t) => {
  const words = 'godwit: stopped; the migration may have started: check with'
  const own = `${words} \`godwit migration list\``
  assert.equal(await stoppedAt(t, /^POST/, 'migration', 'start', 'a/b'), own)
  assert.equal(await stoppedAt(t, /^POST/, 'migration', 'retry', '79'), own)
  assert.equal(await stoppedAt(t, /^POST/, 'schedule', 'run', '3'), own)
  assert.equal(
    await stoppedAt(t, /^POST/, 'admin', 'migration', 'retry', '79'),
    `${words} \`godwit admin status\``,
  )
})

test('a watch that is interrupted after the end does not say that the migration continues', async (t) => {
  assert.equal(
    await stoppedAt(t, /summary$/, 'migration', 'watch', '79'),
    'godwit: stopped; migration 79 is exported',
  )
})

test('an interrupted download says what it has saved', async (t) => {
  const download = ['migration', 'download', '79', '--output']
  assert.equal(
    await stoppedAt(t, /bytes$/, ...download, 'a.tar.gz'),
    'godwit: stopped; the downloaded part is kept, and the same command resumes it',
  )
  assert.equal(
    await stoppedAt(t, /summary$/, ...download, 'a.tar.gz'),
    'godwit: stopped; a.tar.gz is downloaded',
  )
  assert.equal(
    await stoppedAt(t, /bytes$/, ...download, '-'),
    'godwit: stopped; the output is not complete, and cannot be resumed',
  )
  assert.equal(
    await stoppedAt(t, /summary$/, ...download, '-'),
    'godwit: stopped; the output is complete',
  )
})
