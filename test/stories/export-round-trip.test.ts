import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { ARCHIVE_READERS, contentsOfFolder } from '../support/archive-readers.ts'
import { needs } from '../support/archive-tools.ts'
import { assertNoErrors, assertNothingLeftOver } from '../support/export-leftovers.ts'
import { assertArchiveHolds, refStateOf } from '../support/export-proof.ts'
import { largePack } from '../support/export-sources.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import {
  makeWiki,
  temporaryDirectory,
  UNUSUAL_REPOSITORIES,
} from '../support/sample-repositories.ts'

const fullNameOf = (kind: string): string => `alice/${kind.replace(/[^\w]+/g, '-').toLowerCase()}`
const BORROWER = fullNameOf('objects borrowed from another')
const WITH_WIKI = fullNameOf('packed and loose objects')

const fileCleanup = cleanupAfterFile()
let story: SharedStory

before(async () => {
  story = await sharedExportStory(fileCleanup, {
    async repositories(host) {
      for (const [kind, make] of Object.entries(UNUSUAL_REPOSITORIES))
        make(host.path(fullNameOf(kind)))
      makeWiki(host.path(`${WITH_WIKI}.wiki`))
      await largePack(host.path('alice/large'), 30)
    },
    flags: ['--concurrency', '2'],
  })
})

test('an incompressible pack of 30 MB is exported intact', async () => {
  const { host, migrate, unpack } = story
  const { id } = await migrate(['large'])
  assertArchiveHolds(await unpack(id), { 'alice/large': refStateOf(host.path('alice/large')) })
})

// The last test, because it stops the service and reads its whole log.
test('repositories of every unusual kind are unchanged after a round trip', async (t) => {
  const names = Object.keys(UNUSUAL_REPOSITORIES).map(fullNameOf)
  const { host, service, migrate, download, unpack } = story
  const { id } = await migrate(names)
  const sources = [...names, `${WITH_WIKI}.wiki`]
  const folder = await unpack(id)
  const manifest = assertArchiveHolds(
    folder,
    Object.fromEntries(sources.map((name) => [name, refStateOf(host.path(name))])),
  )
  assert.deepEqual(manifest.skipped, [])
  assert.ok(!existsSync(join(folder, `repositories/${BORROWER}.git/objects/info/alternates`)))
  const [lfs, ...more] = manifest.repositories.flatMap((repository) => repository.lfs)
  assert.deepEqual([lfs?.size, more], [3 << 20, []])
  assertNothingLeftOver(service)

  const archive = await download(id)
  await assertNoErrors(service)
  const contents = await contentsOfFolder(folder)
  for (const [reader, { tool, read }] of Object.entries(ARCHIVE_READERS))
    await t.test(`${reader} reads the whole archive`, needs(tool), async (t) => {
      assert.deepEqual(await read(archive, join(temporaryDirectory(t), 'out')), contents)
    })
})
