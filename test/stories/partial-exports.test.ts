import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type ClientCommandLine, clientCommandLine } from '../support/client-command-line.ts'
import { DAMAGED_REPOSITORIES } from '../support/export-damage.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'

const INTACT = ['alice/atlas', 'alice/birds']
const PARTIAL =
  /migration 2 is partly exported: 2 of 3 repositories, 1 skipped\n +skipped: alice\/grafted: .*grafts/

const OID = 'c'.repeat(64)
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${OID}\nsize 9\n`
const INCOMPLETE = /migration 3 is partly exported: 1 of 1 repositories, 1 with missing LFS objects/
const NAMED = / +incomplete: alice\/large: 1 LFS object is missing: c{64}$/m

const NONE = { reused: 0, incomplete: 0, skipped: 0, failed: 0, remaining: 0 }

let story: SharedStory
let client: ClientCommandLine

const fileCleanup = cleanupAfterFile()

before(async () => {
  story = await sharedExportStory(fileCleanup, {
    async repositories(host) {
      for (const name of INTACT) await host.repository(name, { files: { a: name } })
      await host.repository('alice/large', { files: { 'a.bin': POINTER } })
      DAMAGED_REPOSITORIES.grafted!.make(host.path('alice/grafted'))
    },
  })
  await story.migrate(INTACT)
  await story.migrate([...INTACT, 'alice/grafted'], { allow_partial: true })
  await story.migrate(['alice/large'])
  const token = await story.service.token('alice')
  client = await clientCommandLine(fileCleanup, { url: story.service.url, token })
})

test('watching a partial export ends with the missing repositories, and exit code 5', async () => {
  const { err } = await client.migration(5, 'watch', '2')
  assert.match(err, /^migration 2 is partly exported: 2 of 3 repositories, 1 skipped$/m)
  assert.match(err, PARTIAL)
  const whole = await client.migration(0, 'watch', '1')
  assert.match(whole.err, /^migration 1 is exported: 2 of 2 repositories$/m)
})

test('downloading a partial export lists them too, and keeps the archive', async () => {
  const to = await client.migration(5, 'download', '2', '--output', 'partial.tar.gz')
  assert.match(to.out, /^partial\.tar\.gz: .*every repository matches its digest$/)
  assert.match(to.err, PARTIAL)
  assert.equal((await client.godwit(['verify', 'partial.tar.gz'])).code, 0)
  const toJson = await client.migration(5, 'download', '2', '--output', 'again.tar.gz', '--json')
  assert.equal(JSON.parse(toJson.out).checked_by, 'digests')
  const whole = await client.migration(0, 'download', '1', '--output', 'whole.tar.gz')
  assert.doesNotMatch(whole.err, /skipped|part/)
})

test('an export with missing LFS objects is partial, also for the client and the operator', async () => {
  const { err } = await client.migration(5, 'watch', '3')
  assert.match(err, INCOMPLETE)
  assert.match(err, NAMED)
  const to = await client.migration(5, 'download', '3', '--output', 'large.tar.gz')
  assert.match(to.err, INCOMPLETE)
  const { out: list } = await client.migration(0, 'list')
  assert.match(list, /^3 +partial +1 of 1, 1 with missing LFS objects /m)
  const { out: shown } = await client.migration(0, 'show', '3')
  assert.match(shown, /^Migration 3 is partly exported\.$/m)
  assert.match(shown, NAMED)
})

test('list, show and report of a partial export have the counts', async () => {
  const { out: list } = await client.migration(0, 'list')
  assert.match(list, /^2 +partial +2 of 3, 1 skipped /m)
  assert.match(list, /^1 +exported +2 /m)
  const { out: shown } = await client.migration(0, 'show', '2')
  assert.match(shown, /^Migration 2 is partly exported\.$/m)
  assert.match(shown, /^repositories +2 of 3, 1 skipped$/m)
  assert.match(shown, /skipped: alice\/grafted: .*grafts/)
  const { out: report } = await client.migration(0, 'report', '2')
  assert.match(report, /^Migration 2 .* was partly exported on /)
  assert.match(report, /^skipped +alice\/grafted: /m)
  // GitHub's paths report it as GitHub does.
  const wire = (await (await story.call('/user/migrations/2')).json()) as { state: string }
  assert.equal(wire.state, 'exported')
})

test('partial exports are among the failures that the operator sees', async () => {
  await story.service.godwit('account', 'add', 'olga', '--site-admin')
  const operatorToken = await story.service.token('olga')
  const response = await story.service.call(operatorToken, '/admin/service')
  const { failures } = (await response.json()) as { failures: Record<string, unknown>[] }
  assert.deepEqual(
    failures.map(({ id, state, counts }) => [id, state, counts]),
    [
      [3, 'exported', { ...NONE, total: 1, exported: 1, incomplete: 1 }],
      [2, 'exported', { ...NONE, total: 3, exported: 2, reused: 2, skipped: 1 }],
    ],
  )
  const [{ full_name, reason }] = failures[1]!.repositories as [Record<string, string>]
  assert.equal(full_name, 'alice/grafted')
  assert.match(reason!, /grafts/)
})
