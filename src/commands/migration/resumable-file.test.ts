import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryDirectory } from '../../../test/support/sample-repositories.ts'
import { ResumableFile } from './resumable-file.ts'

async function downloadWith(t: TestContext, part: string | undefined) {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'archive.tar.gz')
  if (part !== undefined) await writeFile(`${file}.part`, part)
  return { folder, file }
}

test('a part with an ETag file is resumed, and a part without one is rejected', async (t) => {
  const { file } = await downloadWith(t, 'some of it')
  await assert.rejects(ResumableFile.open(file), /exists and is not a part of this download/)
  await writeFile(`${file}.part.etag`, '"1"')
  await using resumed = await ResumableFile.open(file)
  assert.deepEqual([resumed.position, resumed.etag], [10, '"1"'])
})

test('an ETag file without a part starts a new download', async (t) => {
  const { file } = await downloadWith(t, undefined)
  await writeFile(`${file}.part.etag`, '"1"')
  await using begun = await ResumableFile.open(file)
  assert.deepEqual([begun.position, begun.etag], [0, undefined])
})

test('an unreadable ETag file or part is an error, and nothing is removed', async (t) => {
  const validator = await downloadWith(t, 'some of it')
  await mkdir(`${validator.file}.part.etag`)
  await assert.rejects(ResumableFile.open(validator.file), { code: 'EISDIR' })
  const part = await downloadWith(t, undefined)
  await mkdir(`${part.file}.part`)
  await writeFile(`${part.file}.part.etag`, '"1"')
  await assert.rejects(ResumableFile.open(part.file), { code: 'EISDIR' })
  for (const { folder } of [validator, part]) assert.equal((await readdir(folder)).length, 2)
})
