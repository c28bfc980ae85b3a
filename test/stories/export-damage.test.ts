import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { DAMAGED_REPOSITORIES } from '../support/export-damage.ts'
import {
  assertNothingLeftOver,
  blobsOf,
  repositorySegments,
  rowsOf,
} from '../support/export-leftovers.ts'
import { assertArchiveHolds, refStateOf } from '../support/export-proof.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'

const GOOD = ['alice/site', 'alice/blog']
const DAMAGED = Object.keys(DAMAGED_REPOSITORIES).map((kind) => `alice/${kind}`)

const fileCleanup = cleanupAfterFile()
let story: SharedStory

before(async () => {
  story = await sharedExportStory(fileCleanup, {
    async repositories(host) {
      for (const name of GOOD) await host.repository(name, { files: { 'a.txt': name } })
      for (const [kind, { make }] of Object.entries(DAMAGED_REPOSITORIES))
        make(host.path(`alice/${kind}`))
    },
  })
})

test('an incomplete repository is rejected by name, and the others are exported', async () => {
  const { host, service, migrate, unpack } = story
  const sources = Object.fromEntries(GOOD.map((name) => [name, refStateOf(host.path(name))]))

  const first = await migrate([...GOOD, ...DAMAGED], {}, 'failed')
  assert.equal(first.archive_url, undefined)
  assertReasons(omissionsOf(story, first.id))
  const reasons = reasonOf(story, first.id).split('\n')
  for (const [index, name] of DAMAGED.entries())
    assert.match(reasons[index]!, new RegExp(`^${name}: (?!${name})(?!hint)`))
  assertNothingLeftOver(service)
  const kept = blobsOf(service)
  assert.equal(kept.length, GOOD.length)

  const second = await migrate(GOOD)
  assertArchiveHolds(await unpack(second.id), sources)
  assert.deepEqual(repositorySegments(service), kept)
  assert.equal(
    blobsOf(service).length,
    kept.length + 2,
    'only its own metadata and manifest are new',
  )

  const third = await migrate([...DAMAGED, ...GOOD], { allow_partial: true })
  const { skipped } = assertArchiveHolds(await unpack(third.id), sources)
  assertReasons(new Map(skipped.map(({ full_name, reason }) => [full_name, reason])))
  assert.deepEqual(repositorySegments(service), kept)
  assertNothingLeftOver(service)
})

test('a repaired repository is exported the next time', async () => {
  const { host, migrate, unpack } = story
  await migrate(['grafted'], {}, 'failed')
  const dir = host.path('alice/grafted')
  await host.git(['repack', '-adq'], { dir })
  await rm(join(dir, 'info/grafts'))
  const { id } = await migrate(['grafted'])
  assertArchiveHolds(await unpack(id), { 'alice/grafted': refStateOf(dir) })
})

function assertReasons(skipped: ReadonlyMap<string, string>): void {
  assert.deepEqual([...skipped.keys()].sort(), DAMAGED.toSorted())
  for (const [kind, { reason }] of Object.entries(DAMAGED_REPOSITORIES))
    assert.match(skipped.get(`alice/${kind}`)!, reason)
}

function omissionsOf({ service }: SharedStory, id: number): Map<string, string> {
  const sql = `select full_name, reason from repository_exports as exported
    join repository_lists on repository_lists.migration_id = exported.migration_id and part = 0
    join repository_metadata on repository_metadata.id = json_extract(metadata_ids, '$[' || position || ']')
    where exported.migration_id = ? and outcome = 'failed'`
  const rows = rowsOf<{ full_name: string; reason: string }>(service, sql, id)
  return new Map(rows.map(({ full_name, reason }) => [full_name, reason]))
}

function reasonOf({ service }: SharedStory, id: number): string {
  const [row] = rowsOf<{ reason: string }>(
    service,
    'select reason from migrations where id = ?',
    id,
  )
  return row!.reason
}
