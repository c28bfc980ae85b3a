import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { snapshotsOf } from '../support/export-leftovers.ts'
import { largePack } from '../support/export-sources.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { type Service, startService, untilEnded } from '../support/service.ts'
import { type SlowGit, slowGit } from '../support/slow-git.ts'
import { until } from '../support/wait-until.ts'

type Json = Record<string, unknown>

async function post(service: Service, token: string, path: string, body: unknown = {}) {
  const response = await service.call(token, path, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Json }
}

async function get(service: Service, token: string, path: string): Promise<Json> {
  return (await (await service.call(token, path)).json()) as Json
}

const statesOf = (progress: Json): unknown[] =>
  (progress.repositories as Json[]).map(({ full_name, state, reused }) => [
    full_name,
    state,
    reused,
  ])

const fileCleanup = cleanupAfterFile()
let host: GitHost
/** Fast unless a test slows it down. */
let git: SlowGit
let service: Service
let alice: string

const WATCHERS = 100
/** Each has a job of its own. Of more than eight, several would share one, without git. */
const WATCHED_REPOSITORIES = Array.from({ length: 8 }, (_, n) => `alice/r${n}`)

before(async () => {
  host = await gitHost()
  fileCleanup.after(host.remove)
  for (const name of ['good', 'bad', 'site', 'a', 'b', 'c', 'known'])
    await host.repository(`alice/${name}`, { files: { a: name } })
  for (const name of WATCHED_REPOSITORIES) await host.repository(name, { files: { a: name } })
  await host.repository('alice/new', { files: { a: 'x'.repeat(5000) } })
  const shallow = await host.repository('alice/shallow', { files: { a: '1' } })
  const oid = await host.git(['rev-parse', 'main'], { dir: shallow })
  await host.write(shallow, 'shallow', `${oid}\n`)
  // Large enough to be interrupted in the middle.
  await largePack(host.path('alice/large'), 30)
  git = await slowGit()
  fileCleanup.after(git.remove)
  await git.speedUp()
  service = await startService(fileCleanup, {
    repositories: host.root,
    flags: [
      ...['--git', git.program, '--concurrency', '2', '--rate-limit', '0'],
      ...['--max-streams-per-account', String(WATCHERS)],
    ],
  })
  alice = await service.token('alice')
})

async function start(repositories: string[], more = {}): Promise<number> {
  const input = { repositories, ...more }
  const { status, body } = await post(service, alice, '/user/migrations', input)
  assert.equal(status, 201, JSON.stringify(body))
  return body.id as number
}

test('progress and report show a failed repository, and a retry exports only that one', async () => {
  await host.loseObjects('alice/bad')
  const id = await start(['good', 'bad'])
  await untilEnded(service, alice, id, 'failed')

  const progress = await get(service, alice, `/user/migrations/${id}/progress`)
  assert.deepEqual(statesOf(progress), [
    ['alice/good', 'exported', false],
    ['alice/bad', 'failed', false],
  ])
  const [good, bad] = progress.repositories as Json[]
  assert.ok((good!.bytes_done as number) > 0 && good!.bytes_done === good!.bytes_expected)
  assert.match(bad!.reason as string, /missing|bad object/)
  const { exported, skipped, failed, remaining, seconds_left } = progress.totals as Json
  assert.deepEqual([exported, skipped, failed, remaining, seconds_left], [1, 0, 1, 0, 0])

  const report = await get(service, alice, `/user/migrations/${id}/report`)
  assert.deepEqual(report.repositories, progress.repositories)
  const text = await service.call(alice, `/user/migrations/${id}/report`, {
    headers: { accept: 'text/plain' },
  })
  const reportText = await text.text()
  assert.match(reportText, new RegExp(`Migration ${id} .* of alice failed`))
  assert.match(reportText, /failed {3}alice\/bad: (?!alice)/)

  await host.recreate('alice/bad', { a: 'bad' })
  const retried = await post(service, alice, `/user/migrations/${id}/retry`)
  assert.equal(retried.status, 201)
  assert.equal(retried.body.id, id + 1)
  await untilEnded(service, alice, id + 1, 'exported')
  assert.deepEqual(statesOf(await get(service, alice, `/user/migrations/${id + 1}/progress`)), [
    ['alice/good', 'exported', true],
    ['alice/bad', 'exported', false],
  ])
})

test('cancelling leaves no process, no lock and no temporary file', async () => {
  await git.slowDown()
  const bob = await service.token(await createAccount(service, 'bob'))
  const blobs = join(service.data, 'blobs')
  const before = await filesIn(blobs)
  const id = await start(['site'], { lock_repositories: true })
  const at = `/user/migrations/${id}`
  const pid = await git.untilSlow()
  assert.equal((await get(service, alice, at)).state, 'exporting')
  assert.match(await service.godwit('lock', 'list'), new RegExp(`alice/site +${id} `))
  await assert.rejects(host.push('alice/site', { b: '2' }), /deny updating a hidden ref/)
  assert.equal((await post(service, alice, `${at}/retry`)).status, 422)

  assert.equal((await post(service, bob, `${at}/cancel`)).status, 404)
  const cancelled = await post(service, alice, `${at}/cancel`)
  assert.deepEqual([cancelled.status, cancelled.body.state], [200, 'failed'])
  assert.equal((await post(service, alice, `${at}/cancel`)).status, 422)
  await assertCancelled(service, alice, id)
  await until('the git process of the cancelled migration has ended', () => !isAlive(pid))
  await until('no snapshot is left', () => snapshotsOf(service).length === 0)
  await untilOnly(before, blobs)
  const locks = () => service.godwit('lock', 'list')
  await until('its lock is gone', async () => !/alice\/site/.test(await locks()))
  await host.push('alice/site', { b: '2' })

  await git.speedUp()
  await untilEnded(service, alice, await start(['site']), 'exported')
})

/** Cancelled migrations are `failed` on GitHub's paths and `cancelled` on our own. */
async function assertCancelled(service: Service, token: string, id: number): Promise<void> {
  const at = `/user/migrations/${id}`
  assert.equal((await get(service, token, at)).state, 'failed')
  for (const part of ['summary', 'progress', 'report']) {
    const { state } = await get(service, token, `${at}/${part}`)
    assert.equal(state, 'cancelled', part)
  }
  const events = { headers: { accept: 'text/event-stream' } }
  const stream = await service.call(token, `${at}/progress`, events)
  assert.match(await stream.text(), /event: end\n.*\ndata: \{"state":"cancelled"/)
  const text = { headers: { accept: 'text/plain' } }
  const report = await (await service.call(token, `${at}/report`, text)).text()
  assert.match(report, new RegExp(`^Migration ${id} .* was cancelled on `))
  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  assert.match(metrics, /^godwit_migrations_ended_total\{outcome="cancelled"\} 1$/m)
  assert.match(
    metrics,
    /^godwit_migrations_ended_total\{outcome="failed"\} 1$/m,
    'of an earlier test',
  )
}

test('cancelling removes what was written of a pack', async () => {
  await git.slowDown()
  const blobs = join(service.data, 'blobs')
  const [before, size] = [await filesIn(blobs), await sizeOf(blobs)]
  const id = await start(['large'])
  const written = async () => (await sizeOf(blobs)) - size
  await until('some of the pack is written', async () => (await written()) > 1_000_000)
  assert.equal((await post(service, alice, `/user/migrations/${id}/cancel`)).status, 200)
  await untilOnly(before, blobs)
  await until('no snapshot is left', () => snapshotsOf(service).length === 0)
  await git.speedUp()
})

interface Update {
  state: string
  bytes_done: number
  bytes_expected: number
  under_way: Json[]
}

test('an event stream shows the end of every repository exactly once, across a crash of the server', async () => {
  await git.slowDown(4)
  const id = await start(WATCHED_REPOSITORIES)
  const path = `/user/migrations/${id}/progress`
  await git.untilSlow()

  const seen: string[] = []
  const updates: Update[] = []
  let lastId = ''
  let ended: Json | undefined
  /** Reads like an EventSource: until the connection ends, and remembers the last id. */
  async function watch(): Promise<void> {
    const response = await service.call(alice, path, {
      headers: { accept: 'text/event-stream', 'last-event-id': lastId },
    })
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const events = text.split('\n\n')
      text = events.pop()!
      for (const event of events.map(parseEvent)) {
        if (event.id) lastId = event.id
        if (event.name === 'repository') seen.push(event.data.full_name as string)
        if (event.name === 'progress') updates.push(event.data as unknown as Update)
        if (event.name === 'end') ended = event.data
      }
    }
  }

  const first = watch().catch(() => {})
  // Both jobs run at the same time, so one of the four fast runs may belong to a repository that is not finished.
  await until('the watcher has seen three repositories', () => seen.length >= 3)
  await service.kill('SIGKILL')
  await git.speedUp()
  await first
  await service.restartShared()
  await until('the watcher has seen the end', async () => {
    await watch()
    return ended
  })
  assert.deepEqual(ended, { state: 'exported', reason: null })
  assert.deepEqual(seen.toSorted(), WATCHED_REPOSITORIES.toSorted())
  assert.ok(updates.every(({ bytes_expected }) => bytes_expected > 0))
  const done = updates.map(({ bytes_done }) => bytes_done)
  assert.deepEqual(
    done,
    done.toSorted((a, b) => a - b),
    'the number of bytes decreased',
  )
  assert.ok(updates.some(({ state, under_way }) => state === 'exporting' && under_way.length > 0))
  const after = await service.call(alice, path, {
    headers: { accept: 'text/event-stream', 'last-event-id': lastId },
  })
  assert.equal(after.status, 204)
})

test('many event streams all receive the end, across a restart', async () => {
  await git.slowDown()
  const names = ['alice/a', 'alice/b', 'alice/c']
  const id = await start(names)
  await git.untilSlow()
  const watch = () =>
    service.call(alice, `/user/migrations/${id}/progress`, {
      headers: { accept: 'text/event-stream' },
    })
  const streams = await Promise.all(Array.from({ length: WATCHERS }, watch))
  await git.speedUp()
  await service.stop()
  await service.restartShared()
  const texts = await Promise.all(streams.map((stream) => stream.text()))
  assert.ok(texts.every((text) => text.includes('event: progress')))
  const again = await Promise.all(Array.from({ length: WATCHERS }, watch))
  for (const text of await Promise.all(again.map((stream) => stream.text()))) {
    const events = text.split('\n\n').filter(Boolean).map(parseEvent)
    const ended = events
      .filter(({ name }) => name === 'repository')
      .map(({ data }) => data.full_name)
    assert.deepEqual(ended.toSorted(), names)
    assert.equal(events.at(-1)?.name, 'end')
  }
})

test('preflight reports what a start would do, and does nothing', async () => {
  await untilEnded(service, alice, await start(['known']), 'exported')
  const listed = async () => {
    const list = await get(service, alice, '/user/migrations?per_page=100')
    return (list as unknown as Json[]).length
  }
  const before = await listed()

  const input = { repositories: ['known', 'new', 'shallow'] }
  const { status, body } = await post(service, alice, '/user/migrations/preflight', input)
  assert.equal(status, 200)
  const [known, fresh, cut] = body.repositories as Json[]
  assert.deepEqual([known!.reused, fresh!.reused, cut!.reused], [true, false, false])
  assert.match(cut!.reason as string, /shallow/)
  assert.equal(body.bytes_to_write, fresh!.bytes)
  assert.ok((body.free_bytes as number) > 0)
  const wrong = await post(service, alice, '/user/migrations/preflight', { repositories: ['none'] })
  assert.equal(wrong.status, 422)
  assert.equal(await listed(), before)
})

function parseEvent(text: string): { name: string; id: string | undefined; data: Json } {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]
  return {
    name: field('event') ?? 'heartbeat',
    id: field('id'),
    data: JSON.parse(field('data') ?? '{}') as Json,
  }
}

async function createAccount(service: Service, login: string): Promise<string> {
  await service.godwit('account', 'add', login)
  return login
}

async function filesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

async function sizeOf(dir: string): Promise<number> {
  const files = await readdir(dir, { recursive: true, withFileTypes: true })
  const sizes = files.map((each) =>
    each.isFile() ? statSync(join(each.parentPath, each.name)).size : 0,
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

const untilOnly = (files: string[], dir: string): Promise<boolean> =>
  until(`no other files are left in ${dir}`, async () =>
    isDeepStrictEqual((await filesIn(dir)).sort(), files.toSorted()),
  )

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
