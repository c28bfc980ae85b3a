import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify, stripVTControlCharacters } from 'node:util'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { formatLine, openLog } from './log.ts'

const LOG = new URL('log.ts', import.meta.url).href
const EVIL = 'a\x1b]0;x\x07b\u009b31mc\u202ed\u2066e\u200ff\x7f\r\n\tg\u2028'
// biome-ignore lint/suspicious/noControlCharactersInRegex: the tests search for control characters
const UNSAFE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

const runScript = async (logFormat: 'json' | 'text', script: string): Promise<string> => {
  const source = `
    const { openLog } = await import(${JSON.stringify(LOG)})
    const { log, close } = openLog({ logLevel: 'info', logFormat: '${logFormat}' })
    ${script}`
  const args = ['--input-type=module', '-e', source]
  return (await promisify(execFile)(process.execPath, args)).stderr
}

const logEvil = (logFormat: 'json' | 'text') =>
  runScript(
    logFormat,
    `const evil = ${JSON.stringify(EVIL)}
    log.info({ path: evil, err: new Error(evil) }, evil)
    await close()`,
  )

test('a JSON line cannot control a terminal, and parses to the logged values', async () => {
  const line = await logEvil('json')
  assert.doesNotMatch(line, UNSAFE)
  const { path, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>
  assert.deepEqual([path, msg, (err as Error).message], [EVIL, EVIL, EVIL])
  assert.deepEqual(Object.keys(rest), ['level', 'time'])
  assert.equal(line.split('\n').length, 2)
})

test('a text line cannot control a terminal', async () => {
  const text = await logEvil('text')
  assert.match(text, /INFO/)
  assert.doesNotMatch(text, UNSAFE)
})

test('the last lines are written when the process exits without closing the log', async () => {
  const script = `log.fatal('the last line')
    setImmediate(() => process.exit(0))
    await new Promise(() => {})`
  assert.match(await runScript('json', script), /"msg":"the last line"/)
})

/** Opens both ends of a pipe. Writes to a full one fail with EAGAIN, or wait if `isBlocking`. */
function openPipe(t: TestContext, { isBlocking = false } = {}) {
  const path = join(temporaryDirectory(t), 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY | (isBlocking ? 0 : constants.O_NONBLOCK))
  return { reader, writer }
}

/** More than a pipe holds. */
const buffer = Buffer.alloc(1024 * 1024)

function readAvailable(fd: number): string {
  try {
    return buffer.toString('latin1', 0, readSync(fd, buffer))
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
    return ''
  }
}

/** Reads every millisecond, since a pipe holds only 64 kB. */
async function readUntil(
  what: string,
  fd: number,
  isEnd: (tail: string) => boolean,
): Promise<string> {
  const chunks: string[] = []
  await until(what, async () => {
    for (let reads = 0; reads < 100; reads++) {
      const chunk = readAvailable(fd)
      if (chunk !== '') chunks.push(chunk)
      if (isEnd(chunks.slice(-2).join(''))) return true
      await sleep(1)
    }
    return false
  })
  return chunks.join('')
}

const openJsonLog = (fd: number) => openLog({ logLevel: 'info', logFormat: 'json' }, fd)
const messagesIn = (text: string): string[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
const message = (index: number) => `${index} ${'x'.repeat(200)}`

test('values that may be credentials are hidden', async (t) => {
  const path = join(temporaryDirectory(t), 'log')
  const { log, close } = openJsonLog(openSync(path, 'w'))
  const headers = { authorization: 'secret-1' }
  const fields = { authorization: 'secret-2', token: 'secret-3', cookie: 'secret-4' }
  log.info({ ...fields, headers, req: { headers } }, 'all')
  await close()
  const text = readFileSync(path, 'utf8')
  assert.doesNotMatch(text, /secret/)
  assert.equal(text.split('[hidden]').length, 1 + 5)
})

test('every line is written once and in order', async (t) => {
  const path = join(temporaryDirectory(t), 'log')
  const { log, close } = openJsonLog(openSync(path, 'w'))
  const expected: string[] = []
  for (let index = 0; index < 5000; index++) {
    log.info(message(index))
    expected.push(message(index))
    if (index % 100 === 0) await sleep(1)
  }
  await close()
  assert.deepEqual(messagesIn(readFileSync(path, 'utf8')), expected)
})

test('a single line is written soon', async (t) => {
  const { reader, writer } = openPipe(t)
  const { log, close } = openJsonLog(writer)
  log.info('alone')
  assert.deepEqual(messagesIn(await until('the line is written', () => readAvailable(reader))), [
    'alone',
  ])
  await close()
  closeSync(reader)
})

test('a reader that pauses gets the rest when it continues', async (t) => {
  const { reader, writer } = openPipe(t)
  const { log, close } = openJsonLog(writer)
  const expected = Array.from({ length: 1000 }, (_, index) => message(index))
  for (const each of expected) log.info(each)
  const text = await readUntil('the rest is written', reader, (tail) =>
    tail.endsWith(`"${expected.at(-1)}"}\n`),
  )
  assert.deepEqual(messagesIn(text), expected)
  await close()
  closeSync(reader)
})

test('close returns even if the pipe is closed or nothing reads it', async (t) => {
  const closed = openPipe(t)
  const first = openJsonLog(closed.writer)
  first.log.info('before')
  closeSync(closed.reader)
  first.log.info('after')
  await first.close()

  const stalled = openPipe(t)
  const second = openJsonLog(stalled.writer)
  for (let index = 0; index < 2000; index++) second.log.info(message(index))
  await second.close()
  assert.match(readAvailable(stalled.reader), /^{"level":30,.*"msg":"0 x/)
  closeSync(stalled.reader)
})

test('lines for a reader that does not read are dropped above a limit, and counted', async (t) => {
  const { reader, writer } = openPipe(t, { isBlocking: true })
  const { log, close } = openJsonLog(writer)
  const long = 'x'.repeat(1024 * 1024)
  for (let index = 0; index < 30; index++) log.info(long)
  const text = await readUntil('the loss is logged', reader, (tail) =>
    tail.endsWith('fast enough"}\n'),
  )
  assert.match(text.slice(-200), /"1\d log lines were lost: the log was not read fast enough"/)
  await close()
  closeSync(reader)
})

const TIME = '2026-11-15T23:17:05.123Z'
const formatted = (line: object) => stripVTControlCharacters(formatLine(JSON.stringify(line)))

test('a text line has time, level, message and fields', () => {
  const line = { level: 30, time: TIME, method: 'GET', status: 200, login: null, msg: 'request' }
  assert.equal(formatted(line), '2026-11-15 23:17:05 INFO  request  method=GET status=200\n')
})

test('a text line omits fields that the message contains', () => {
  const reason = 'objects/ab is damaged'
  const fields = { migration: 7, repository: 'alice/site', reason }
  const msg = `alice/site could not be exported: ${reason}`
  assert.equal(
    formatted({ level: 40, time: TIME, ...fields, msg }),
    `2026-11-15 23:17:05 WARN  ${msg}  migration=7\n`,
  )
})

test('a text line of an error has its stack below, escaped', () => {
  const err = { stack: 'Error: \u001b[2Jgone\n    at here' }
  const text = formatted({ level: 50, time: TIME, err, msg: 'job \u001b[31mfailed' })
  assert.equal(
    text,
    '2026-11-15 23:17:05 ERROR job \\u{1b}[31mfailed\n    Error: \\u{1b}[2Jgone\n        at here\n',
  )
})
