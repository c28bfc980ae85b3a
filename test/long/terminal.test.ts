import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { atTerminal, needsTerminal } from '../support/terminal.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
const ESCAPE = '\x1b'
/** Escape sequences for colours and weights, but not for the cursor. */
const COLOUR = new RegExp(`${ESCAPE}\\[[\\d;]*m`)
const REDRAWN = `\r${ESCAPE}[K`

let folder: string
let repositories: string
let env: Record<string, string>

const fileCleanup = cleanupAfterFile()

before(async () => {
  const host = await gitHost()
  fileCleanup.after(host.remove)
  repositories = host.root
  for (const name of ['alice/site', 'alice/tools'])
    await host.repository(name, { files: { a: name } })
  const service = await startSharedService(fileCleanup, { repositories })
  const token = await service.token('alice')
  folder = temporaryDirectory(fileCleanup)
  await writeFile(join(folder, 'token'), token)
  env = { GODWIT_URL: service.url, GODWIT_TOKEN_FILE: join(folder, 'token') }
  const body = JSON.stringify({ repositories: ['site', 'tools'] })
  await service.call(token, '/user/migrations', { method: 'POST', body })
  await untilEnded(service, token, 1)
})

const shownBy = (line: string, more: Record<string, string> = {}) =>
  atTerminal(`${GODWIT} ${line}`, { cwd: folder, env: { ...env, ...more } })

test('a terminal shows a progress bar in place, and colours', needsTerminal, async () => {
  const { code, shown } = await shownBy('migration watch 1')
  assert.equal(code, 0, shown)
  const bars = shown.split(REDRAWN).filter((drawn) => drawn.startsWith('['))
  assert.ok(bars.length > 0, JSON.stringify(shown))
  for (const drawn of bars) {
    const plain = drawn.replaceAll(new RegExp(COLOUR, 'g'), '')
    assert.match(plain, /^\[#{20}\] 2\/2 repositories, \d+ bytes of \d+ bytes$/)
    assert.ok(plain.length < 70, 'it does not fit into a line')
  }
  assert.match(shown, new RegExp(`migration 1 is ${ESCAPE}\\[32mexported`))
})

test('NO_COLOR turns colours off and keeps the bar', needsTerminal, async () => {
  for (const line of ['migration watch 1', 'migration list', '--help']) {
    const { code, shown } = await shownBy(line, { NO_COLOR: '1' })
    assert.equal(code, 0, shown)
    assert.doesNotMatch(shown, COLOUR, line)
    assert.equal(shown.includes(REDRAWN), line.includes('watch'))
  }
})

test('headings of tables and help texts are bold', needsTerminal, async () => {
  assert.match((await shownBy('migration list')).shown, new RegExp(`${ESCAPE}\\[1mID`))
  assert.match((await shownBy('migration list --help')).shown, /\[1mExamples:/)
})

test('progress goes to the terminal while output is redirected', needsTerminal, async () => {
  const { code, shown } = await shownBy('migration download 1 --json > result.json')
  assert.equal(code, 0, shown)
  assert.match(shown, /\[.*#.*\].* of /)
  const result = await readFile(join(folder, 'result.json'), 'utf8')
  assert.equal(JSON.parse(result).checked_by, 'digests')
  const watched = await shownBy('migration watch 1 2> lines')
  assert.equal(watched.shown, '')
  assert.doesNotMatch(await readFile(join(folder, 'lines'), 'utf8'), new RegExp(ESCAPE))
  const refused = await shownBy('migration download 1 --output -')
  assert.equal(refused.code, 2, refused.shown)
  assert.match(refused.shown, /an archive cannot be written to a terminal/)
})

test('an export without a server shows the same bar', needsTerminal, async () => {
  const order = `export alice --repositories ${repositories} --output alice.tar.gz`
  const { code, shown } = await shownBy(order)
  assert.equal(code, 0, shown)
  assert.match(shown.replaceAll(new RegExp(COLOUR, 'g'), ''), /\[#+\.*\] 1\/2 alice\//)
})

test('the log is readable at a terminal, and JSON on request', needsTerminal, async (t) => {
  const serve = async (flags: string) => {
    const listen = `127.0.0.1:${await freePort()}`
    const settings = `--repositories ${repositories} --data ${temporaryDirectory(t)} ${flags}`
    const isReady = `curl --silent --fail --output /dev/null http://${listen}/readyz`
    const untilReady = `for n in $(seq 300); do ${isReady} && break; sleep 0.2; done`
    const line = `serve --listen ${listen} ${settings} & ${untilReady}; kill $!; wait`
    return (await shownBy(line, { NO_COLOR: '1' })).shown.split(/\r?\n/)
  }
  const synchronized =
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO {2}repositories synchronized {2}found=2/
  assert.ok((await serve('')).some((line) => synchronized.test(line)))
  const lines = await serve('--log-format json')
  const json = lines.find((line) => line.includes('repositories synchronized')) ?? '{}'
  assert.equal(JSON.parse(json).level, 30, lines.join('\n'))
})
