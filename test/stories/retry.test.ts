import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { before, test } from 'node:test'
import { type ClientCommandLine, clientCommandLine } from '../support/client-command-line.ts'
import { DAMAGED_REPOSITORIES } from '../support/export-damage.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'

let story: SharedStory
let client: ClientCommandLine
const broken = DAMAGED_REPOSITORIES['lost-blob']!

const fileCleanup = cleanupAfterFile()

before(async () => {
  story = await sharedExportStory(fileCleanup, {
    async repositories(host) {
      await host.repository('alice/intact', { files: { a: '1' } })
      broken.make(host.path('alice/broken'))
      DAMAGED_REPOSITORIES.grafted!.make(host.path('alice/grafted'))
    },
  })
  const token = await story.service.token('alice')
  client = await clientCommandLine(fileCleanup, { url: story.service.url, token })
})

interface RetryPreview {
  broken: { full_name: string; reason: string; gone: boolean; changed: boolean | null }[]
  unchanged: boolean
}

const previewRetry = async (id: number) =>
  (await (await story.call(`/user/migrations/${id}/retry`)).json()) as RetryPreview

test('a retry of an unchanged failure says so before it starts, and offers to skip the broken repository', async () => {
  const names = ['alice/intact', 'alice/broken', 'alice/grafted']
  const { id } = await story.migrate(names, {}, 'failed')
  const preview = await previewRetry(id)
  assert.equal(preview.unchanged, true)
  assert.deepEqual(
    preview.broken.map(({ full_name, changed }) => [full_name, changed]),
    [
      ['alice/broken', false],
      ['alice/grafted', false],
    ],
  )
  assert.match(preview.broken[0]!.reason, broken.reason)

  const same = await client.migration(0, 'retry', String(id))
  assert.match(same.err, /^failed: alice\/broken: .*; it has not changed since$/m)
  assert.match(same.err, /^nothing has changed since migration 1: .*--allow-partial skips these/m)
  await story.untilEnded(Number(same.out), 'failed')

  const partial = await client.migration(0, 'retry', String(id), '--allow-partial')
  assert.match(partial.err, /^skipped if it fails again: alice\/grafted: /m)
  await story.untilEnded(Number(partial.out), 'exported')
  await client.migration(5, 'watch', partial.out)
  assert.equal((await previewRetry(Number(partial.out))).broken.length, 2)
})

test('a retry after the repair starts without a warning', async () => {
  const { id } = await story.migrate(['alice/intact', 'alice/broken'], {}, 'failed')
  await story.host.recreate('alice/broken', { a: '1' })
  const preview = await previewRetry(id)
  assert.deepEqual([preview.unchanged, preview.broken[0]?.changed], [false, true])
  const { out, err } = await client.migration(0, 'retry', String(id))
  assert.doesNotMatch(err, /nothing has changed/)
  await story.untilEnded(Number(out), 'exported')
  assert.deepEqual(await previewRetry(Number(out)), { broken: [], unchanged: false })
})

test('a repository that is gone is named, and a partial retry counts it as skipped', async () => {
  await story.host.repository('alice/gone', { files: { a: '1' } })
  const { id } = await story.migrate(['alice/intact', 'alice/gone'])
  await rm(story.host.path('alice/gone'), { recursive: true })
  const retry = (body: object) =>
    story.call(`/user/migrations/${id}/retry`, { method: 'POST', body: JSON.stringify(body) })
  const refused = await retry({})
  assert.equal(refused.status, 422)
  const { errors } = (await refused.json()) as { errors: object[] }
  const message = 'alice/gone no longer exists, or may no longer be migrated.'
  const [field, code, value] = ['repositories', 'missing', 'alice/gone']
  assert.deepEqual(errors, [{ resource: 'Migration', field, code, value, message }])
  const reason = 'it no longer exists, or may no longer be migrated'
  const gone = { full_name: 'alice/gone', reason, gone: true, changed: null }
  assert.deepEqual(await previewRetry(id), { broken: [gone], unchanged: false })

  const partial = await retry({ allow_partial: true })
  assert.equal(partial.status, 201)
  const started = (await partial.json()) as { id: number; repositories: { full_name: string }[] }
  assert.deepEqual(
    started.repositories.map(({ full_name }) => full_name),
    ['alice/intact', 'alice/gone'],
  )
  await story.untilEnded(started.id, 'exported')
  const report = await (await story.call(`/user/migrations/${started.id}/report`)).json()
  const { totals, repositories } = report as Report
  assert.deepEqual([totals.exported, totals.skipped, totals.remaining], [1, 1, 0])
  assert.deepEqual(
    repositories.map((each) => [each.full_name, each.state, each.reason]),
    [
      ['alice/intact', 'exported', null],
      ['alice/gone', 'skipped', reason],
    ],
  )
  await client.migration(5, 'watch', String(started.id))

  const again = await client.migration(0, 'retry', String(id), '--allow-partial')
  assert.match(
    again.err,
    /^skipped: alice\/gone: it no longer exists, or may no longer be migrated$/m,
  )
  await story.untilEnded(Number(again.out), 'exported')
})

interface Report {
  totals: { exported: number; skipped: number; remaining: number }
  repositories: { full_name: string; state: string; reason: string | null }[]
}

test('a site admin retries a migration for its owner as the account is now', async () => {
  const { service } = story
  const { id } = await story.migrate(['alice/intact'])
  await service.godwit('account', 'add', 'operator', '--site-admin')
  await service.godwit('account', 'edit', 'alice', '--type', 'Organization')
  const operator = await service.token('operator')
  const init = { method: 'POST' }
  const started = await service.call(operator, `/admin/migrations/${id}/retry`, init)
  const retry = (await started.json()) as { id: number }
  assert.equal(started.status, 201)
  const response = await service.call(operator, `/orgs/alice/migrations/${retry.id}`)
  const { owner } = (await response.json()) as { owner: { type: string } }
  assert.equal(owner.type, 'Organization')
  await service.godwit('account', 'edit', 'alice', '--type', 'User')
  await story.untilEnded(retry.id)
})
