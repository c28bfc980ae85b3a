import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { ARCHIVE_READERS, type Contents } from '../../../../test/support/archive-readers.ts'
import {
  collect,
  MODIFIED_AT,
  sampleSegments,
  storeSegments,
  temporaryFolder,
} from '../../../../test/support/archive-samples.ts'
import { needs, runTool } from '../../../../test/support/archive-tools.ts'
import { cleanupAfterFile } from '../../../../test/support/file-cleanup.ts'
import { createDiskBlobStore } from '../../../server/src/blobs/disk.ts'
import { readArchive } from './copy-archive.ts'
import { planArchive } from './plan-archive.ts'

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

async function expectedContents(): Promise<Contents> {
  const contents: Contents = {}
  for (const entry of sampleSegments().flat()) {
    if (entry.kind === 'directory') contents[`${entry.path}/`] = ''
    else contents[entry.path] = digest(await collect(entry.open()))
  }
  return contents
}

const fileCleanup = cleanupAfterFile()
let archive: string
let expected: Contents

before(async () => {
  const folder = await temporaryFolder(fileCleanup)
  const blobs = createDiskBlobStore(join(folder, 'blobs'))
  const plan = planArchive(await storeSegments(blobs, sampleSegments()))
  archive = join(folder, 'archive.tar.gz')
  await writeFile(archive, readArchive(plan, blobs))
  expected = await expectedContents()
})

for (const [name, { tool, read }] of Object.entries(ARCHIVE_READERS)) {
  test(`${name} reads every entry`, needs(tool), async (t) => {
    const folder = await temporaryFolder(t)
    assert.deepEqual(await read(archive, join(folder, 'extracted')), expected)
  })
}

test('extracted files have the times that were written', needs('GNU tar'), async (t) => {
  const extracted = await temporaryFolder(t)
  await runTool('GNU tar', ['-xzf', archive, '-C', extracted])
  for (const found of await readdir(extracted, { recursive: true, withFileTypes: true })) {
    const path = join(found.parentPath, found.name)
    if (found.isFile()) assert.equal((await stat(path)).mtimeMs, MODIFIED_AT, path)
  }
})

test('the DecompressionStream of browsers decompresses the archive', async () => {
  const plain = Readable.toWeb(createReadStream(archive)).pipeThrough(
    new DecompressionStream('gzip'),
  )
  const whole = gunzipSync(await readFile(archive))
  assert.ok((await collect(plain as AsyncIterable<Uint8Array>)).equals(whole))
})
