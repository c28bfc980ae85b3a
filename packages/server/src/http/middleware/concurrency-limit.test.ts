import assert from 'node:assert/strict'
import { chmod, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { cloneScene } from '../../../../../test/support/clone-scene.ts'
import { onSqlite } from '../../../../../test/support/databases.ts'
import { addresses, descriptionServer } from '../../../../../test/support/description-server.ts'
import { sendRaw } from '../../../../../test/support/raw-http.ts'
import { temporaryDirectory } from '../../../../../test/support/sample-repositories.ts'
import { until } from '../../../../../test/support/wait-until.ts'
import { createGit } from '../../../../git/src/git.ts'
import { concurrencyLimit } from './concurrency-limit.ts'

const forever = new AbortController().signal
const createLimit = (max: number, waitMs: number) =>
  concurrencyLimit({
    max,
    maxPerCaller: Math.ceil(max / 2),
    maxWaiting: 20,
    waitMs,
    createError: (isCallerFull) => Object.assign(new Error(), { status: isCallerFull ? 429 : 503 }),
  })

test('requests above the limit wait, and one caller gets at most its share', async () => {
  const limit = createLimit(4, 60_000)
  const started: string[] = []
  const releases: (() => void)[] = []
  const request = (caller: string) =>
    void limit.take(caller, forever).then((release) => {
      started.push(caller)
      releases.push(release)
    })
  for (const caller of ['a', 'a', 'a', 'b', 'c', 'd']) request(caller)
  await nextTurn()
  assert.deepEqual(started, ['a', 'a', 'b', 'c'])
  assert.deepEqual([limit.running(), limit.waiting()], [4, 2])
  releases[2]!()
  await nextTurn()
  assert.deepEqual(started.slice(4), ['d'])
  releases[0]!()
  await nextTurn()
  assert.deepEqual(started.slice(5), ['a'])
  for (const index of [1, 3, 4, 5]) releases[index]!()
  assert.deepEqual([limit.running(), limit.waiting()], [0, 0])
})

test('a request is rejected when it waits too long or the queue is full', async () => {
  const limit = createLimit(1, 1)
  const release = await limit.take('a', forever)
  const rejections = await Promise.allSettled(
    Array.from({ length: 21 }, () => limit.take('b', forever)),
  )
  assert.deepEqual(
    [...new Set(rejections.map((each) => (each as PromiseRejectedResult).reason.status))],
    [503],
  )
  assert.equal(limit.waiting(), 0)
  release()
  ;(await limit.take('b', forever))()
})

test('a caller can fill at most half of the queue, and is then rejected with 429', async () => {
  const limit = createLimit(4, 60_000)
  const releases = await Promise.all([limit.take('a', forever), limit.take('a', forever)])
  const queued = Array.from({ length: 10 }, () => limit.take('a', forever))
  await assert.rejects(limit.take('a', forever), { status: 429 })
  releases.push(await limit.take('b', forever), await limit.take('c', forever))
  const waiting = limit.take('d', forever)
  for (const release of releases) release()
  for (const each of [waiting, ...queued]) (await each)()
  assert.deepEqual([limit.running(), limit.waiting()], [0, 0])
})

test('a request without a host, or with an unknown expectation, gets an error of the API', async (t) => {
  const url = await descriptionServer(t).listen({ port: 0, host: '127.0.0.1' })
  for (const [line, status, message] of [
    ['accept: */*', 400, 'The Host header is missing'],
    ['host: a\r\nHOST: b', 400, 'The Host header is repeated'],
    ['host: x\r\nexpect: foo', 417, 'Expectation Failed'],
  ] as const) {
    const request = `GET /meta HTTP/1.1\r\nuser-agent: x\r\n${line}\r\n\r\n`
    const { statuses, text } = await sendRaw(url, [request], { finish: true })
    assert.deepEqual(statuses, [status])
    assert.deepEqual(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))), {
      message,
      documentation_url: addresses.documentation,
      status: String(status),
    })
  }
  const old = await sendRaw(url, ['GET /healthz HTTP/1.0\r\n\r\n'], { finish: true })
  assert.deepEqual(old.statuses, [200])
})

test('an aborted request leaves the queue, and the next one starts', async () => {
  const limit = createLimit(1, 60_000)
  const release = await limit.take('a', forever)
  const aborting = new AbortController()
  const aborted = limit.take('b', aborting.signal)
  const next = limit.take('c', forever)
  aborting.abort(new Error('gone'))
  await assert.rejects(aborted, /gone/)
  await assert.rejects(limit.take('b', aborting.signal), /gone/)
  release()
  ;(await next)()
  assert.deepEqual([limit.running(), limit.waiting()], [0, 0])
})

/** Wraps git in a script that blocks on demand. While it blocks, a file with its process id exists. */
async function waitingGit(t: TestContext) {
  const dir = temporaryDirectory(t)
  const running = join(dir, 'running')
  const program = join(dir, 'git')
  const script = `#!/bin/sh
[ -e ${dir}/wait ] || exec git "$@"
touch ${running}-$$
trap 'rm ${running}-$$; exit 1' TERM
while [ -e ${dir}/wait ]; do sleep 0.05; done
`
  await writeFile(program, script)
  await chmod(program, 0o755)
  t.after(() => rm(join(dir, 'wait'), { force: true }))
  return {
    git: createGit({ program, searchPath: process.env.PATH ?? '', home: join(dir, 'home') }),
    wait: () => writeFile(join(dir, 'wait'), ''),
    waiting: async () =>
      (await readdir(dir))
        .filter((name) => name.startsWith('running-'))
        .map(pidIn)
        .filter(isAlive).length,
  }
}

const pidIn = (name: string) => Number(name.slice('running-'.length))

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

onSqlite('preflights', (engine) => {
  test('stop when their client disconnects, and one account runs two at a time', async (t) => {
    const { git, wait, waiting } = await waitingGit(t)
    const { token, call, log } = await cloneScene(
      t,
      async (host) => {
        for (const owner of ['alice', 'bob'])
          await host.repository(`${owner}/a`, { files: { a: '1' } })
      },
      { engine, serverGit: git },
    )
    await wait()
    const disconnect = new AbortController()
    const tokens = { alice: await token('alice'), bob: await token('bob') }
    const preflight = (owner: keyof typeof tokens, signal?: AbortSignal) =>
      call(tokens[owner], '/user/migrations/preflight', {
        method: 'POST',
        body: JSON.stringify({ repositories: ['a'] }),
        ...(signal && { signal }),
      })
    const preflights = Array.from({ length: 5 }, () => preflight('alice', disconnect.signal))
    const other = preflight('bob', disconnect.signal)
    // Each preflight runs two git processes.
    await until('two preflights of alice and one of bob run', async () => (await waiting()) >= 6)
    assert.equal((await call(tokens.alice, '/user')).status, 200)
    assert.equal(await waiting(), 6)
    disconnect.abort()
    for (const each of [...preflights, other]) await assert.rejects(each, { name: 'AbortError' })
    await until('no git process runs any more', async () => (await waiting()) === 0)
    assert.doesNotMatch(log(), /request failed/)
  })
})
