import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { collect } from '../../test/support/archive-samples.ts'
import { damageBlob, flipBit } from '../../test/support/damage-blob.ts'
import { exportScene } from '../../test/support/export-scene.ts'
import { startForge } from '../../test/support/forge/fake-forge.ts'
import { fillForge } from '../../test/support/forge/filled-forge.ts'
import { readArchive } from '../archive/copy-archive.ts'
import { readEntries } from '../archive/read-entries.ts'
import { factsForViewer } from '../repositories/facts-for-viewer.ts'
import { listCatalogue } from '../repositories/repository-store.ts'
import { forgeDiscussions } from '../sources/forge/discussions/forge-discussions.ts'
import { Unreadable } from '../sources/unreadable.ts'
import {
  type ArchiveParts,
  archiveBytes,
  ExportFailed,
  exportArchive,
  formatRepositoryResult,
} from './export-archive.ts'

const OF_ALICE = { 'alice/blog': 'one', 'alice/site': 'one' }

async function scene(
  t: TestContext,
  contents: Record<string, string> = OF_ALICE,
  forge?: ArchiveParts['forge'],
) {
  const exported = await exportScene(t, contents)
  const { db } = exported
  const parts = { ...exported.parts, forge }
  const entries = await listCatalogue(db)
  const owner = entries[0]!.owner
  const repositories = await factsForViewer(db, { account: owner }, entries)
  const said: string[] = []
  const make = (allowPartial = false, signal = new AbortController().signal) => {
    const onEnd = (end: Parameters<typeof formatRepositoryResult>[0]) =>
      void said.push(formatRepositoryResult(end))
    const order = { owner, repositories, allowPartial, concurrency: 1, onEnd }
    return exportArchive(parts, order, signal)
  }
  return { ...exported, said, make }
}

test('an archive is made without a migration, and its segments can be reused', async (t) => {
  const { blobs, make, said, keysInStore } = await scene(t)
  {
    await using archive = await make()
    const paths: string[] = []
    for await (const { path, kind, content } of readEntries(readArchive(archive.plan, blobs))) {
      if (kind === 'file') paths.push(path)
      await collect(content)
    }
    assert.ok(paths.includes('repositories/alice/site.git/HEAD'))
    assert.equal(paths.at(-1), 'godwit-manifest.json')
  }
  assert.equal((await keysInStore()).length, 2, 'metadata and manifest are gone')
  assert.equal(said.length, 2)
  await using _again = await make()
  assert.match(said[2]!, /^alice\/blog: reused$/)
})

test('a damaged segment fails the export, and the next export makes it again', async (t) => {
  const { blobs, parts, make, said, keysInStore } = await scene(t)
  const { signal } = new AbortController()
  const bytesOf = async () => {
    await using archive = await make()
    return await collect(archiveBytes(parts, archive.plan, signal))
  }
  await bytesOf()
  const [key] = await keysInStore()
  await damageBlob(blobs, key!, flipBit)
  await assert.rejects(bytesOf(), /its checksum is wrong\. Run the command again/)
  assert.ok(await bytesOf())
  const ends = said.slice(-2).map((line) => line.split(': ')[1])
  assert.deepEqual(ends.sort(), ['exported', 'reused'])
})

test('an unreadable repository fails the export, or is skipped if that is allowed', async (t) => {
  const { host, make, said, keysInStore } = await scene(t)
  host.onMake = async (fullName) => {
    if (fullName === 'alice/blog') throw new Unreadable('alice/blog: it is damaged')
  }
  await assert.rejects(
    () => make(),
    (error) => error instanceof ExportFailed && error.message === 'alice/blog: it is damaged',
  )
  assert.equal((await keysInStore()).length, 1)
  assert.match(said[0]!, /^failed: alice\/blog: it is damaged$/)
  await using archive = await make(true)
  assert.ok(archive.plan.length > 0)
  assert.match(said[2]!, /^skipped: alice\/blog: it is damaged$/)
})

test('a failure that concerns no repository stops the export, and so does an abort', async (t) => {
  const { host, make } = await scene(t)
  host.onMake = () => Promise.reject(new Error('no space left on device'))
  await assert.rejects(() => make(true), /no space left on device/)
  assert.deepEqual(host.makes, ['alice/blog'])
  const stopping = new AbortController()
  host.onMake = async () => stopping.abort(new Error('stopped'))
  await assert.rejects(() => make(true, stopping.signal), /stopped/)
})

test('the result of a repository has the notes and the time of its records', async (t) => {
  const forge = await startForge()
  t.after(() => forge.stop())
  const { site } = fillForge(forge)
  const { uuid } = site.issues.get(1)!.assets[0]!
  forge.faultFor = ({ path }) =>
    path === `/attachments/${uuid}` ? { answer: { status: 404, body: {} } } : undefined
  const discussions = forgeDiscussions({ url: forge.url, token: 'admin-token', pauseMs: 1 })
  const { make, said } = await scene(t, { 'ann/site': 'one' }, { url: forge.url, discussions })
  await using _archive = await make()
  const [line, read, ...notes] = said[0]!.split('\n')
  assert.equal(line, 'ann/site: exported')
  assert.match(read!, /^ {2}20 issues and pull requests as of 20\d\d-\S+Z$/)
  assert.deepEqual(notes, [`  attachments/${uuid}/a picture.png: missing on the forge`])
})
