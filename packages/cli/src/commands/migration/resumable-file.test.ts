import assert from 'node:assert/strict'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { recordSyncs } from '../../../../../test/support/record-syncs.ts'
import { temporaryDirectory } from '../../../../../test/support/sample-repositories.ts'
import { ResumableFile } from './resumable-file.ts'

/** Returns a path to download to. If `part` is given, it is the content of the partial file of an earlier download. */
async function prepareDownload(t: TestContext, part: string | undefined) {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'archive.tar.gz')
  if (part !== undefined) await writeFile(`${file}.part`, part)
  return { folder, file }
}

test('a partial file with an ETag file is resumed, and one without is rejected', async (t) => {
  const { file } = await prepareDownload(t, 'some of it')
  await assert.rejects(ResumableFile.open(file), /exists and is not a part of this download/)
  await writeFile(`${file}.part.etag`, '"1"')
  await using resumed = await ResumableFile.open(file)
  assert.deepEqual([resumed.position, resumed.etag], [10, '"1"'])
})

test('an ETag file without a partial file starts a new download', async (t) => {
  const { file } = await prepareDownload(t, undefined)
  await writeFile(`${file}.part.etag`, '"1"')
  await using started = await ResumableFile.open(file)
  assert.deepEqual([started.position, started.etag], [0, undefined])
})

test('an unreadable ETag file or partial file is an error, and neither is removed', async (t) => {
  const unreadableEtag = await prepareDownload(t, 'some of it')
  await mkdir(`${unreadableEtag.file}.part.etag`)
  await assert.rejects(ResumableFile.open(unreadableEtag.file), { code: 'EISDIR' })
  const unreadablePart = await prepareDownload(t, undefined)
  await mkdir(`${unreadablePart.file}.part`)
  await writeFile(`${unreadablePart.file}.part.etag`, '"1"')
  await assert.rejects(ResumableFile.open(unreadablePart.file), { code: 'EISDIR' })
  for (const { folder } of [unreadableEtag, unreadablePart])
    assert.equal((await readdir(folder)).length, 2)
})

test('a download is synced before it gets its name, and its folder after', async (t) => {
  const { folder, file } = await prepareDownload(t, undefined)
  const synced = await recordSyncs(t, file)
  await using download = await ResumableFile.open(file)
  await download.begin('"1"')
  await download.write(Buffer.from('all of it'))
  await download.finish(false)
  assert.equal(synced.get((await stat(file)).ino), false)
  assert.equal(synced.get((await stat(folder)).ino), true)
})
