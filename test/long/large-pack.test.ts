import { test } from 'node:test'
import { assertArchiveHolds, refStateOf } from '../support/export-proof.ts'
import { largePack } from '../support/export-sources.ts'
import { exportStory } from '../support/export-story.ts'

test('an incompressible pack of 120 MB is exported intact', async (t) => {
  const { host, migrate, unpack } = await exportStory(t, {
    repositories: (host) => largePack(host.path('alice/large'), 120),
  })
  const { id } = await migrate(['large'])
  assertArchiveHolds(await unpack(id), { 'alice/large': refStateOf(host.path('alice/large')) })
})
