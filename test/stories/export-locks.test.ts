import assert from 'node:assert/strict'
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { EndState } from '../support/ended-migration.ts'
import { changeRows, rowsOf } from '../support/export-leftovers.ts'
import { type ExportStory, exportStory, type SharedStory, until } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import type { GitHost } from '../support/git-host.ts'

async function twoRepositories(host: GitHost): Promise<void> {
  await host.repository('alice/site', { files: { a: '1' }, wiki: { 'Home.md': '# Home' } })
  await host.repository('alice/blog', { files: { a: '1' } })
}

function lockStory<Story extends SharedStory>(story: Story) {
  const { host, start, untilEnded, call } = story
  let pushes = 0
  const push = (name: string) => host.push(name, { [`file-${++pushes}`]: 'new' })
  return {
    ...story,
    push,
    acceptsPushes: (name: string) =>
      push(name).then(
        () => true,
        () => false,
      ),
    assertLocked: (name: string) => assert.rejects(push(name), /deny updating a hidden ref/),
    async lock(...names: string[]) {
      const id = await start(names, { lock_repositories: true })
      return { id, ended: (expected: EndState) => untilEnded(id, expected) }
    },
    unlock: async (id: number, name: string) =>
      (await call(`/user/migrations/${id}/repos/${name}/lock`, { method: 'DELETE' })).status,
  }
}

const fileCleanup = cleanupAfterFile()
let story: ReturnType<typeof lockStory<ExportStory>>

/** A service and a git host for all tests that leave no lock behind. */
before(async () => {
  story = lockStory(await exportStory(fileCleanup, { repositories: twoRepositories }))
})

test('a locked repository can be read, and refuses pushes until it is unlocked', async () => {
  const { host, service, lock, unlock, push, assertLocked } = story
  await push('alice/site')
  const { id, ended } = await lock('site', 'blog')
  for (const name of ['alice/site', 'alice/site.wiki', 'alice/blog']) await assertLocked(name)
  await ended('exported')
  await assertLocked('alice/site')

  await service.kill('SIGKILL')
  await assertLocked('alice/site')
  await service.restartShared()
  await assertLocked('alice/site')

  const clone = join(host.root, '../clone')
  await host.git(['clone', '--quiet', '--mirror', host.path('alice/site'), clone])
  const tip = await host.commit(host.path('alice/site'), { b: 'by the operator' })
  await host.git(['fetch', '--quiet'], { dir: clone })
  assert.equal(await host.git(['rev-parse', 'main'], { dir: clone }), tip)

  assert.equal(await unlock(id, 'site'), 204)
  for (const name of ['alice/site', 'alice/site.wiki']) await push(name)
  assert.equal(await unlock(id, 'site'), 404)
  await assertLocked('alice/blog')
  assert.equal(await unlock(id, 'alice%2Fblog'), 204)
  await push('alice/blog')
  assert.equal(await unlock(id, 'alice%2Fblog'), 404)
})

test('a repository locked by two migrations accepts pushes when both have released it', async () => {
  const { lock, unlock, push, assertLocked } = story
  const first = await lock('site')
  const second = await lock('site', 'blog')
  for (const { ended } of [first, second]) await ended('exported')
  assert.equal(await unlock(first.id, 'site'), 204)
  await assertLocked('alice/site')
  assert.equal(await unlock(first.id, 'site'), 404)
  assert.equal(await unlock(first.id, 'blog'), 404)
  for (const name of ['site', 'blog']) assert.equal(await unlock(second.id, name), 204)
  await push('alice/site')
})

test('refs that the host hides from pushes stay hidden', async () => {
  const { host, lock, unlock, assertLocked } = story
  const dir = host.path('alice/site')
  await host.git(['config', 'receive.hideRefs', 'refs/heads'], { dir })
  const { id, ended } = await lock('site')
  await ended('exported')
  assert.equal(await unlock(id, 'site'), 204)
  await assertLocked('alice/site')
  assert.equal(await host.git(['config', '--get-all', 'receive.hideRefs'], { dir }), 'refs/heads')
  await host.git(['config', '--unset-all', 'receive.hideRefs'], { dir })
})

test('an expired lock is released, even if another cannot be released', async () => {
  const { host, service, lock, assertLocked, acceptsPushes, unlock } = story
  const { id, ended } = await lock('blog', 'site')
  await assertLocked('alice/site')
  await ended('exported')
  await service.stop()
  changeRows(service, 'update repository_locks set expires_at = 1')
  const config = join(host.path('alice/blog'), 'config')
  const valid = await readFile(config)
  await appendFile(config, '[unfinished')
  await service.restartShared()
  await until('the lock is released', () => acceptsPushes('alice/site'))
  assert.equal(await unlock(id, 'site'), 404)
  await writeFile(config, valid)
  await service.godwit('sync')
  const locks = () => rowsOf(service, 'select * from repository_locks')
  await until('the other lock is released', () => locks().length === 0)
})

test('a lock of a missing repository is released when it is back; a stray lock is found and released', async () => {
  const { host, service, lock, unlock, push, assertLocked } = story
  const [here, away] = [join(host.root, 'alice'), join(host.root, '../away')]
  const locks = async () => (await service.godwit('lock', 'list')).split('\n').slice(1)
  const { id, ended } = await lock('site')
  await ended('exported')
  assert.match((await locks()).join(), new RegExp(`^alice/site +${id} .* held$`))
  await rename(here, away)
  assert.equal(await unlock(id, 'site'), 204)
  assert.match(
    (await locks()).join(),
    new RegExp(`^alice/site +${id} .* released .*, not yet removed$`),
  )
  // Checked while the repository is missing, because housekeeping may release the lock as soon as it is back.
  assert.match(await readFile(join(away, 'site.git/config'), 'utf8'), /hideRefs = refs\//)
  await rename(away, here)
  await service.godwit('sync')
  assert.deepEqual(await locks(), [])
  for (const name of ['alice/site', 'alice/site.wiki']) await push(name)

  const second = await lock('site', 'blog')
  await second.ended('exported')
  // Renamed by hand with the lock in its config: no lock is known by the new name.
  for (const part of ['.git', '.wiki.git']) {
    await rename(join(here, `site${part}`), join(here, `web${part}`))
  }
  const runDoctor = () => service.godwit('doctor').catch((error) => String(error.stdout))
  assert.match(await runDoctor(), /locked by no migration: alice\/web\n/)
  await assertLocked('alice/web')
  assert.equal(await service.godwit('lock', 'remove', 'alice/web'), 'alice/web accepts pushes')
  for (const name of ['alice/web', 'alice/web.wiki']) await push(name)
  assert.doesNotMatch(await runDoctor(), /locked by no migration/)

  await assertLocked('alice/blog')
  assert.equal(await service.godwit('lock', 'remove', 'ALICE/blog'), 'ALICE/blog accepts pushes')
  await push('alice/blog')
  assert.equal(await unlock(second.id, 'blog'), 404)
  const gone = service.godwit('lock', 'remove', 'alice/site')
  await assert.rejects(gone, /is not in --repositories.*--forget/)
  for (const flags of [[], ['--forget']]) {
    const unknown = service.godwit('lock', 'remove', 'alice/never', ...flags)
    await assert.rejects(unknown, /alice\/never does not exist: check the spelling/)
  }
  assert.equal(await service.godwit('audit', '--subject', 'repository alice/never'), '')
  assert.equal((await locks()).length, 1)
  await service.godwit('lock', 'remove', 'alice/site', '--forget')
  assert.deepEqual(await locks(), [])
})
