import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort } from '../../../test/support/dashboard.ts'
import { cleanupAfterFile } from '../../../test/support/file-cleanup.ts'
import { type GitHost, gitHost } from '../../../test/support/git-host.ts'
import { type SharedService, untilEnded } from '../../../test/support/service.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'

type Json = Record<string, unknown>

const fileCleanup = cleanupAfterFile()
let host: GitHost
let service: SharedService
let bob: string

/** Bob has locked a repository of alice. */
before(async () => {
  host = await gitHost()
  fileCleanup.after(host.remove)
  const config = { 'godwit.collaborator': 'bob:admin' }
  await host.repository('alice/site', { files: { a: '1' }, config })
  await host.repository('carol/own', { files: { a: '1' } })
  service = await startSharedService(fileCleanup, {
    repositories: host.root,
    port: await dashboardPort(),
  })
  await service.godwit('account', 'add', 'bob')
  bob = await service.token('bob')
  const body = JSON.stringify({ repositories: ['alice/site'], lock_repositories: true })
  await service.call(bob, '/user/migrations', { method: 'POST', body })
  await untilEnded(service, bob, 1, 'exported')
})

test('the owner of a repository that another account locked sees by whom and until when', async () => {
  await assert.rejects(
    host.push('alice/site', { b: '2' }),
    /\[remote rejected\] main -> main \(deny updating a hidden ref\)/,
    'the documentation quotes this message',
  )
  const locksOf = async (token: string) =>
    (await (await service.call(token, '/user/locks')).json()) as Json[]
  const [alice, carol] = [await service.token('alice'), await service.token('carol')]
  const [lock, ...others] = await locksOf(alice)
  assert.deepEqual(others, [])
  assert.deepEqual([lock?.full_name, lock?.migration_id, lock?.login], ['alice/site', 1, 'bob'])
  assert.ok(Date.parse(String(lock?.expires_at)) > Date.now())
  assert.deepEqual(
    await locksOf(bob),
    [lock],
    'a collaborator with admin permission sees another list',
  )
  assert.deepEqual(await locksOf(carol), [])

  const listed = await service.godwit('lock', 'list')
  assert.match(listed, /^REPOSITORY +MIGRATION +BY +LOCKED +EXPIRES +STATE$/m)
  assert.match(listed, /^alice\/site +1 +bob +.*ago|just now.* held$/m)
  const [json] = JSON.parse(await service.godwit('lock', 'list', '--json')) as Json[]
  assert.deepEqual([json?.full_name, json?.login], ['alice/site', 'bob'])
  assert.match(String(json?.expires_at), /^\d{4}-\d\d-\d\dT.*Z$/)
})

test('the dashboard of the owner shows the lock', needsChromium, async (t) => {
  const page = await visit(t, service.url, { token: await service.token('alice') })
  const notice = page.getByRole('status').filter({ hasText: 'locked by others' })
  await notice.getByText(/alice\/site is locked by migration 1 of bob/).waitFor()
  await endVisit(page)
  const own = await visit(t, service.url, { token: bob })
  await own.getByText('1 migration').waitFor()
  assert.equal(await own.getByText('locked by others').count(), 0)
})
