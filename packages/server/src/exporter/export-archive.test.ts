import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { collect } from '../../../../test/support/archive-samples.ts'
import { damageBlob, flipBit } from '../../../../test/support/damage-blob.ts'
import { exportScene } from '../../../../test/support/export-scene.ts'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import { fillForge } from '../../../../test/support/forge/filled-forge.ts'
import { listIndex } from '../../../../test/support/list-index.ts'
import { readArchive } from '../../../archive/src/tar/copy-archive.ts'
import { readEntries } from '../../../archive/src/tar/read-entries.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import { forgeDiscussions } from '../../../hosts/src/forge/discussions/forge-discussions.ts'
import { metadataForViewer } from '../repositories/visible-repository.ts'
import {
  type ArchiveDependencies,
  archiveBytes,
  ExportFailed,
  exportArchive,
  formatRepositoryResult,
} from './export-archive.ts'

const ALICES_REPOSITORIES = { 'alice/blog': 'one', 'alice/site': 'one' }

async function setUp(
  t: TestContext,
  contents: Record<string, string> = ALICES_REPOSITORIES,
  forge?: ArchiveDependencies['forge'],
) {
  const exported = await exportScene(t, contents)
  const { db } = exported
  const dependencies = { ...exported.dependencies, forge }
  const entries = await listIndex(db)
  const owner = entries[0]!.owner
  const repositories = await metadataForViewer(db, { account: owner }, entries)
  const results: string[] = []
  const runExport = (allowPartial = false, signal = new AbortController().signal) => {
    const onResult = (result: Parameters<typeof formatRepositoryResult>[0]) =>
      void results.push(formatRepositoryResult(result))
    const order = { owner, repositories, allowPartial, concurrency: 1, onResult }
    return exportArchive(dependencies, order, signal)
  }
  return { ...exported, results, runExport }
}

test('exports an archive without a migration, and the next export reuses its segments', async (t) => {
  const { blobs, runExport, results, keysInStore } = await setUp(t)
  {
    await using archive = await runExport()
    const paths: string[] = []
    for await (const { path, kind, content } of readEntries(readArchive(archive.plan, blobs))) {
      if (kind === 'file') paths.push(path)
      await collect(content)
    }
    assert.ok(paths.includes('repositories/alice/site.git/HEAD'))
    assert.equal(paths.at(-1), 'godwit-manifest.json')
  }
  assert.equal((await keysInStore()).length, 2, 'metadata and manifest are deleted')
  assert.equal(results.length, 2)
  await using _secondArchive = await runExport()
  assert.match(results[2]!, /^alice\/blog: reused$/)
})

test('a damaged segment fails the export, and the next export replaces it', async (t) => {
  const { blobs, dependencies, runExport, results, keysInStore } = await setUp(t)
  const { signal } = new AbortController()
  const exportBytes = async () => {
    await using archive = await runExport()
    return await collect(archiveBytes(dependencies, archive.plan, signal))
  }
  await exportBytes()
  const [key] = await keysInStore()
  await damageBlob(blobs, key!, flipBit)
  await assert.rejects(exportBytes(), /its checksum is wrong\. Run the command again/)
  assert.ok(await exportBytes())
  const outcomes = results.slice(-2).map((line) => line.split(': ')[1])
  assert.deepEqual(outcomes.sort(), ['exported', 'reused'])
})

test('an unreadable repository fails the export, or is skipped if partial exports are allowed', async (t) => {
  const { host, runExport, results, keysInStore } = await setUp(t)
  host.onMake = async (fullName) => {
    if (fullName === 'alice/blog') throw new Unreadable('alice/blog: it is damaged')
  }
  await assert.rejects(
    () => runExport(),
    (error) => error instanceof ExportFailed && error.message === 'alice/blog: it is damaged',
  )
  assert.equal((await keysInStore()).length, 1)
  assert.match(results[0]!, /^failed: alice\/blog: it is damaged$/)
  await using archive = await runExport(true)
  assert.ok(archive.plan.length > 0)
  assert.match(results[2]!, /^skipped: alice\/blog: it is damaged$/)
})

test('an error that is not about a repository stops the export, and so does an abort', async (t) => {
  const { host, runExport } = await setUp(t)
  host.onMake = () => Promise.reject(new Error('no space left on device'))
  await assert.rejects(() => runExport(true), /no space left on device/)
  assert.deepEqual(host.segmentsMade, ['alice/blog'])
  const controller = new AbortController()
  host.onMake = async () => controller.abort(new Error('stopped'))
  await assert.rejects(() => runExport(true, controller.signal), /stopped/)
})

test('the result of a repository shows the time and the notes of its records', async (t) => {
  const forge = await startForge()
  t.after(() => forge.stop())
  const { site } = fillForge(forge)
  const { uuid } = site.issues.get(1)!.assets[0]!
  forge.faultFor = ({ path }) =>
    path === `/attachments/${uuid}` ? { response: { status: 404, body: {} } } : undefined
  const discussions = forgeDiscussions({ url: forge.url, token: 'admin-token', pauseMs: 1 })
  const { runExport, results } = await setUp(
    t,
    { 'ann/site': 'one' },
    { url: forge.url, discussions },
  )
  await using _archive = await runExport()
  const [repositoryLine, recordsLine, ...notes] = results[0]!.split('\n')
  assert.equal(repositoryLine, 'ann/site: exported')
  assert.match(recordsLine!, /^ {2}20 issues and pull requests as of 20\d\d-\S+Z$/)
  assert.deepEqual(notes, [`  attachments/${uuid}/a picture.png: missing on the forge`])
})
