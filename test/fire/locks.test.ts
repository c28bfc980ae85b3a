import assert from 'node:assert/strict'
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { randomNumbers } from '../support/random-numbers.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/wait-until.ts'

const DURATION_MS = shortOrLong({ short: 6000, long: 60_000 })
const CLIENTS = 6
const MAX_LIFETIME_MS = 4000
const HOST_CONFIG = {
  'remote.origin.url': 'ssh://elsewhere/site',
  'receive.denyDeletes': 'true',
  'transfer.hideRefs': 'refs/internal',
}

test('random locks, unlocks, cancels and starts leave the config of a repository unchanged', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' }, config: HOST_CONFIG })
  await host.repository('alice/site.wiki', { files: { a: '1' }, config: HOST_CONFIG })
  const scene = await twoServices(t, host)
  const before = await configs(host)

  const over = new AbortController()
  const random = randomNumbers(seed)
  const tasks = [
    ...Array.from({ length: CLIENTS }, () => sendRandomRequests(scene, random, over.signal)),
    editConfigs(host, random, over.signal),
    watchConfigs(host, over.signal),
  ]
  const ended = Promise.all(tasks)
  // The first failure ends the others.
  const kills = await Promise.race([ended, killServices(scene.services, random)]).finally(() =>
    over.abort(),
  )
  const counts = await ended

  await releaseAll(scene)
  await editConfig(host, ['--remove-section', 'host'])
  await until('every lock is gone', async () => {
    await scene.services[0]!.godwit('sync')
    return (await scene.services[0]!.godwit('lock', 'list')).split('\n').length === 1
  })
  assert.deepEqual(await configs(host), before)
  for (const name of ['alice/site', 'alice/site.wiki']) {
    const left = (await readdir(host.path(name))).filter((each) => /^config./.test(each))
    assert.deepEqual(left, [], name)
    await host.push(name, { a: '2' })
  }
  const requests = counts.slice(0, CLIENTS).reduce((sum, each) => sum + each, 0)
  const outcome = 'the config is unchanged, byte for byte'
  reportFault(t, 'locks, unlocks and cancels of one repository, slow git', requests, outcome)
  reportFault(t, 'kill -9 of a service that holds locks', Number(kills), outcome)
})

interface Scene {
  services: Service[]
  token: string
  /** All acknowledged migrations, which may hold a lock. */
  ids: number[]
}

/** Starts two processes that share a database, a data directory and the repositories, with a slow git. */
async function twoServices(t: TestContext, host: GitHost): Promise<Scene> {
  const folder = temporaryDirectory(t)
  const slowGit = join(folder, 'git')
  const delay =
    'case "$*" in *config*) [ $(($$ % 20)) -eq 0 ] && sleep 2.5 || sleep 0.0$(($$ % 9)) ;; esac'
  await writeFile(slowGit, `#!/bin/sh\n${delay}\nexec git "$@"\n`)
  await chmod(slowGit, 0o755)
  const flags = [
    '--rate-limit',
    '0',
    '--log-level',
    'error',
    '--max-unfinished-migrations',
    '10000',
  ]
  const options = {
    repositories: host.root,
    data: join(folder, 'data'),
    engine: 'postgres',
  } as const
  const settings = [...flags, '--git', slowGit, '--sync-interval', '0']
  const first = await startService(t, { ...options, flags: settings })
  const shared = { repositories: host.root, data: options.data }
  const second = await startService(t, {
    ...shared,
    flags: [...settings, '--database-url', first.databaseUrl!],
  })
  return { services: [first, second], token: await first.token('alice'), ids: [] }
}

const configs = async (host: GitHost) => ({
  repository: await readFile(join(host.path('alice/site'), 'config'), 'utf8'),
  wiki: await readFile(join(host.path('alice/site.wiki'), 'config'), 'utf8'),
})

/** Sends random requests; returns how many succeeded. */
async function sendRandomRequests(
  scene: Scene,
  random: () => number,
  over: AbortSignal,
): Promise<number> {
  let done = 0
  while (!over.aborted) {
    const service = scene.services[Math.floor(random() * scene.services.length)]!
    const id = scene.ids[Math.floor(random() * scene.ids.length)]
    const response = await sendRandomRequest(service, scene, id, random()).catch(
      (error: unknown) => {
        // A killed process gives no response; its committed locks are released at the end.
        if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error
      },
    )
    if (response === undefined) await pause(50)
    else done += 1
  }
  return done
}

async function sendRandomRequest(
  { call }: Service,
  scene: Scene,
  id: number | undefined,
  kind: number,
) {
  const { token, ids } = scene
  if (id === undefined || kind < 0.4) {
    const body = JSON.stringify({ repositories: ['site'], lock_repositories: true })
    const response = await call(token, '/user/migrations', { method: 'POST', body })
    const started = (await response.json()) as { id: number }
    assert.equal(response.status, 201, JSON.stringify(started))
    ids.push(started.id)
    return response.status
  }
  const path = `/user/migrations/${id}`
  const { status } = await (kind < 0.75
    ? call(token, `${path}/repos/site/lock`, { method: 'DELETE' })
    : call(token, `${path}/cancel`, { method: 'POST' }))
  assert.ok([200, 204, 404, 422, 503].includes(status), `${path}: ${status}`)
  return status
}

/** Changes the config with git, like the host. */
async function editConfigs(
  host: GitHost,
  random: () => number,
  over: AbortSignal,
): Promise<number> {
  let edits = 0
  for (; !over.aborted; edits++) {
    await editConfig(host, ['--replace-all', 'host.edit', String(edits)])
    await pause(random() * 100)
  }
  return edits
}

async function editConfig(host: GitHost, change: readonly string[]): Promise<void> {
  for (const name of ['alice/site', 'alice/site.wiki']) {
    await until(`the config of ${name} is free`, () =>
      host.git(['config', ...change], { dir: host.path(name) }).then(
        () => true,
        (error) => {
          assert.match(String(error), /could not lock config file/)
          return false
        },
      ),
    )
  }
}

/** Asserts that the host's own settings are always present. */
async function watchConfigs(host: GitHost, over: AbortSignal): Promise<number> {
  let looks = 0
  for (; !over.aborted; looks++) {
    for (const text of Object.values(await configs(host))) {
      for (const line of [
        'bare = true',
        'url = "ssh://elsewhere/site"',
        'hideRefs = "refs/internal"',
      ]) {
        assert.ok(text.includes(line), text)
      }
    }
    await pause(1)
  }
  return looks
}

async function killServices(services: Service[], random: () => number): Promise<number> {
  const until = performance.now() + DURATION_MS
  let kills = 0
  while (performance.now() < until) {
    await pause(random() * MAX_LIFETIME_MS)
    const service = services[Math.floor(random() * services.length)]!
    await service.kill('SIGKILL')
    kills += 1
    await service.restart()
  }
  return kills
}

/** Releases the locks of all migrations, also of those whose response was lost. */
async function releaseAll({ services, token }: Scene): Promise<void> {
  const { call } = services[0]!
  const all: { id: number; state: string }[] = []
  await until('every migration has ended', async () => {
    all.length = 0
    for (let page = 1; ; page++) {
      const response = await call(
        token,
        `/user/migrations?exclude=repositories&per_page=100&page=${page}`,
      )
      const some = (await response.json()) as typeof all
      all.push(...some)
      if (some.length < 100) break
    }
    return all.every(({ state }) => state === 'exported' || state === 'failed')
  })
  for (const { id, state } of all) {
    if (state === 'failed') {
      const report = await call(token, `/user/migrations/${id}/report`)
      const { reason } = (await report.json()) as { reason: string }
      assert.match(String(reason), /cancelled/, `migration ${id} failed`)
    }
    await call(token, `/user/migrations/${id}/repos/site/lock`, { method: 'DELETE' })
  }
}
