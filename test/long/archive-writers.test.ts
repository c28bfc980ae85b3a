import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { needs } from '../support/archive-tools.ts'
import { ARCHIVE_WRITERS } from '../support/archive-writers.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { REAL_ARCHIVE } from '../support/real-archive.ts'
import {
  errorsIn,
  fileOf,
  notesIn,
  packedRefsOf,
  type RestoreScene,
  refsOf,
  restoreScene,
  verifiedIn,
} from '../support/restore-scene.ts'

const t = cleanupAfterFile()
let scene: RestoreScene

before(async () => {
  scene = await restoreScene(t)
})

describe('an archive of github.com', { ...REAL_ARCHIVE.needed, concurrency: 2 }, () => {
  // The path of the pack is too long for the oldest format.
  for (const [name, { tool, write }] of Object.entries(ARCHIVE_WRITERS))
    if (!name.includes('v7'))
      test(`is verified after it was packed again by ${name}`, needs(tool), async () => {
        const archive = join(mkdtempSync(join(scene.base, 'packed-')), 'archive')
        await write(scene.real, archive)
        // Restoring the archives of every writer is tested below, with an archive of Godwit.
        const findings = await scene.verified(fileOf(archive))
        assert.deepEqual(errorsIn(findings), [])
        assert.deepEqual(verifiedIn(findings), ['go-gitea/test_repo'])
        assert.deepEqual(findings.at(-1), { compared: false })
      })
})

describe('an archive of Godwit that was unpacked and packed again', { concurrency: 2 }, () => {
  const REPOSITORIES = ['alice/site.git', 'alice/site.wiki.git', 'alice/notes.git']
  const first = new Map<string, string[]>()
  before(async () => {
    const { into } = await scene.restored(fileOf(scene.oursPacked))
    for (const repository of REPOSITORIES) first.set(repository, refsOf(join(into, repository)))
  })

  for (const [name, { tool, write }] of Object.entries(ARCHIVE_WRITERS))
    test(`by ${name} is verified and restored with the same refs`, needs(tool), async () => {
      const archive = join(mkdtempSync(join(scene.base, 'packed-')), 'archive')
      await write(scene.ours, archive)
      const findings = await scene.verified(fileOf(archive), archive)
      assert.deepEqual(errorsIn(findings), [])
      assert.deepEqual(verifiedIn(findings), ['alice/notes', 'alice/site'])
      assert.deepEqual(findings.at(-1), { compared: true })
      assert.match(notesIn(findings).join('\n'), /not compared: it was packed again/)
      const again = await scene.restored(fileOf(archive))
      for (const repository of REPOSITORIES)
        assert.deepEqual(packedRefsOf(join(again.into, repository)), first.get(repository))
    })
})
