import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { clientCommandLine } from '../support/client-command-line.ts'
import { fakeServer, type RequestHandler, sendJson } from '../support/fake-server.ts'
import { until } from '../support/wait-until.ts'

const migrationJson = { id: 79, guid: 'g', state: 'exported', repositories: [] }
const NOT_FOUND = { message: 'Not Found' }
/** An empty tar. */
const ARCHIVE = gzipSync(Buffer.alloc(1024))

/** Responds to every request but those that match, during which the command is interrupted. */
const hangAt =
  (pattern: RegExp): RequestHandler =>
  ({ method, path }, response) => {
    if (pattern.test(`${method} ${path}`)) return
    if (path.endsWith('/archive')) return void response.writeHead(302, { location: '/bytes' }).end()
    if (path === '/bytes') return void response.end(ARCHIVE)
    if (/\/(progress|summary|retry)$/.test(path)) return sendJson(response, 404, NOT_FOUND)
    sendJson(response, 200, migrationJson)
  }

/** Interrupts a command with Ctrl-C during a matching request, and returns the last line that it prints. */
async function interruptDuring(
  t: TestContext,
  pattern: RegExp,
  ...args: string[]
): Promise<string> {
  const token = `ghp_${randomBytes(16).toString('hex')}`
  const server = await fakeServer(t, hangAt(pattern))
  const { start } = await clientCommandLine(t, { url: server.url, token })
  const command = start(args)
  await until(
    () => `${pattern} is requested`,
    () => server.requests.some(({ method, path }) => pattern.test(`${method} ${path}`)),
  )
  command.kill('SIGINT')
  const { code, output, stderr } = await command.result
  assert.equal(code, 130, output)
  return stderr.trimEnd().split('\n').at(-1)!
}

test('a start that is interrupted before its response says that it may have happened', async (t) => {
  const message = 'godwit: stopped; the migration may have started: check with'
  const own = `${message} \`godwit migration list\``
  assert.equal(await interruptDuring(t, /^POST/, 'migration', 'start', 'a/b'), own)
  assert.equal(await interruptDuring(t, /^POST/, 'migration', 'retry', '79'), own)
  assert.equal(await interruptDuring(t, /^POST/, 'schedule', 'run', '3'), own)
  assert.equal(
    await interruptDuring(t, /^POST/, 'admin', 'migration', 'retry', '79'),
    `${message} \`godwit admin status\``,
  )
})

test('a watch that is interrupted after the end does not say that the migration continues', async (t) => {
  assert.equal(
    await interruptDuring(t, /summary$/, 'migration', 'watch', '79'),
    'godwit: stopped; migration 79 is exported',
  )
})

test('an interrupted download says what it has saved', async (t) => {
  const download = ['migration', 'download', '79', '--output']
  assert.equal(
    await interruptDuring(t, /bytes$/, ...download, 'a.tar.gz'),
    'godwit: stopped; the downloaded part is kept, and the same command resumes it',
  )
  assert.equal(
    await interruptDuring(t, /summary$/, ...download, 'a.tar.gz'),
    'godwit: stopped; a.tar.gz is downloaded',
  )
  assert.equal(
    await interruptDuring(t, /bytes$/, ...download, '-'),
    'godwit: stopped; the output is not complete, and cannot be resumed',
  )
  assert.equal(
    await interruptDuring(t, /summary$/, ...download, '-'),
    'godwit: stopped; the output is complete',
  )
})
