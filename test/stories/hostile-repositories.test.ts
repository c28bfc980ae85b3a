import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { escapeForTerminal } from '../../src/lib/terminal-text.ts'
import { boobyTraps } from '../support/booby-traps.ts'
import { storyInRow } from '../support/export-story.ts'
import { HOSTILE_NAMES, HOSTILE_REPOSITORIES } from '../support/hostile-repositories.ts'
import { bare, commit, git, temporaryDirectory } from '../support/odd-repositories.ts'
import { desk } from '../support/without-server.ts'

const SECRET = 'n0tF0rAl1ce'

interface Report {
  repositories: { full_name: string; state: string; reason: string | null }[]
}

test('hostile repositories are exported safely or skipped by name, and no program of theirs runs', async (t) => {
  const traps = boobyTraps(temporaryDirectory(t))
  let secret = ''
  const story = await storyInRow(t, {
    async repositories({ root }) {
      const another = join(root, 'bob/diary.git')
      bare(another)
      commit(another, 'refs/heads/main', SECRET)
      secret = git(another, ['rev-parse', 'main:file.txt'])
      git(another, ['config', 'gitweb.description', SECRET])
      await writeFile(join(another, 'description'), SECRET)
      const lfs = join(another, 'lfs/objects/aa/bb', `aabb${'0'.repeat(60)}`)
      await mkdir(dirname(lfs), { recursive: true })
      await writeFile(lfs, SECRET)
      for (const [name, { make }] of Object.entries(HOSTILE_REPOSITORIES))
        make(join(root, `alice/${name}.git`), { traps, another })
      for (const name of HOSTILE_NAMES) bare(join(root, 'alice', name))
    },
    flags: ['--log-level', 'trace'],
  })
  const { service, host } = story
  const names = Object.keys(HOSTILE_REPOSITORIES)

  const synced = await service.godwit('sync')
  for (const name of HOSTILE_NAMES.filter((name) => name !== '.git'))
    assert.ok(synced.includes(escapeForTerminal(name)), `${name} is not reported:\n${synced}`)

  const body = JSON.stringify({ repositories: names })
  const forecast = await story.call('/user/migrations/preflight', { method: 'POST', body })
  assert.equal(forecast.status, 200)
  // A lock that cannot be had fails the whole, so first without.
  const { id } = await story.migrate(names, { allow_partial: true })
  const report = (await (await story.call(`/user/migrations/${id}/report`)).json()) as Report
  for (const { full_name, state, reason } of report.repositories) {
    const { refusal } = HOSTILE_REPOSITORIES[full_name.split('/')[1]!]!
    assert.equal(state, refusal ? 'skipped' : 'exported', `${full_name}: ${reason}`)
    if (refusal) assert.match(reason ?? '', refusal, full_name)
    assert.ok(!reason?.includes(host.root), reason ?? '')
  }

  const archive = await story.download(id)
  const { godwit } = await desk(t)
  const verified = await godwit(['verify', archive])
  assert.equal(verified.code, 0, verified.said)
  const into = join(temporaryDirectory(t), 'restored')
  const restored = await godwit(['restore', archive, '--into', into])
  assert.equal(restored.code, 0, restored.said)
  assert.ok(existsSync(join(into, 'alice/trapped.git')))
  const again = join(dirname(into), 'again.tar.gz')
  const order = ['export', 'alice', '--repositories', host.root, '--allow-partial']
  const exported = await godwit([...order, '--output', again])
  assert.equal(exported.code, 0, exported.said)

  const trapped = names.filter((name) => name.startsWith('trapped'))
  const locked = await story.migrate(trapped, { lock_repositories: true, allow_partial: true })
  for (const name of trapped) {
    const lock = `/user/migrations/${locked.id}/repos/${name}/lock`
    assert.equal((await story.call(lock, { method: 'DELETE' })).status, 204)
  }
  await service.stop()

  assert.deepEqual(traps.sprung(), [])
  for (const file of [archive, again]) assert.ok(!gunzipSync(await readFile(file)).includes(SECRET))
  for (const name of readdirSync(join(into, 'alice'))) {
    const all = ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)']
    assert.ok(!git(join(into, 'alice', name), all).includes(secret), name)
  }
  assert.ok(!service.log().includes(SECRET))
  // Plain git springs them, so that none ran above means something.
  assert.throws(() => git(host.path('alice/trapped-promisor'), ['cat-file', '-p', 'main:file.txt']))
  git(host.path('alice/trapped'), ['update-ref', 'refs/heads/more', 'refs/heads/main'])
  assert.ok(traps.sprung().some((name) => name.startsWith('remote.origin')))
  assert.ok(traps.sprung().includes('core.hooksPath reference-transaction'))
})
