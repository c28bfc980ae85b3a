import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  collect,
  MODIFIED_AT,
  sampleSegments,
  storeSegments,
  temporaryFolder,
} from '../../test/support/archive-samples.ts'
import { needs, runTool, type Tool } from '../../test/support/archive-tools.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import { planArchive } from './plan-archive.ts'
import { readArchive } from './read-archive.ts'

/** Paths to digests of contents; a directory's path ends in a slash. */
type Contents = Record<string, string>

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

async function expectedContents(): Promise<Contents> {
  const contents: Contents = {}
  for (const entry of sampleSegments().flat()) {
    if (entry.kind === 'directory') contents[`${entry.path}/`] = ''
    else contents[entry.path] = digest(await collect(entry.open()))
  }
  return contents
}

async function sampleArchive(t: TestContext) {
  const folder = await temporaryFolder(t)
  const blobs = createDiskBlobStore(join(folder, 'blobs'))
  const plan = planArchive(await storeSegments(blobs, sampleSegments()))
  const archive = join(folder, 'archive.tar.gz')
  await writeFile(archive, readArchive(plan, blobs))
  return { folder, archive }
}

async function contentsOf(folder: string): Promise<Contents> {
  const contents: Contents = {}
  for (const found of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const full = join(found.parentPath, found.name)
    const path = full.slice(folder.length + 1)
    if (found.isDirectory()) {
      contents[`${path}/`] = ''
    } else {
      contents[path] = digest(await readFile(full))
      assert.equal((await stat(full)).mtimeMs, MODIFIED_AT, path)
    }
  }
  return contents
}

for (const tool of ['GNU tar', 'bsdtar'] as const satisfies Tool[]) {
  test(`${tool} extracts all of it`, needs(tool), async (t) => {
    const { folder, archive } = await sampleArchive(t)
    const extracted = join(folder, 'extracted')
    await mkdir(extracted)
    await runTool(tool, ['-xzf', archive, '-C', extracted])
    assert.deepEqual(await contentsOf(extracted), await expectedContents())
  })
}

const PYTHON = `
import hashlib, json, sys, tarfile
contents = {}
with tarfile.open(sys.argv[1], sys.argv[2], encoding='utf-8', errors='strict') as archive:
    for entry in archive:
        assert entry.isfile() or entry.isdir(), entry.type
        assert (entry.mode, entry.uid, entry.gid) == (0o644 if entry.isfile() else 0o755, 0, 0)
        if entry.isfile():
            contents[entry.name] = hashlib.sha256(archive.extractfile(entry).read()).hexdigest()
        else:
            contents[entry.name + '/'] = ''
print(json.dumps(contents))
`

for (const mode of ['r:gz', 'r|gz']) {
  test(`Python's tarfile reads all of it in mode ${mode}`, needs('Python'), async (t) => {
    const { archive } = await sampleArchive(t)
    const contents = JSON.parse(await runTool('Python', ['-c', PYTHON, archive, mode]))
    assert.deepEqual(contents, await expectedContents())
  })
}

/** RubyGems' reader hands long-name records out as entries, so the script joins them to what they name. */
const RUBY = `
require 'digest'; require 'json'; require 'rubygems/package'; require 'zlib'
contents = {}
File.open(ARGV[0], 'rb') do |file|
  gzip = Zlib::GzipReader.new(file)
  long = nil
  Gem::Package::TarReader.new(gzip).each do |entry|
    content = entry.read || ''
    if entry.header.typeflag == 'L'
      long = content.delete_suffix("\\0")
      next
    end
    name = (long || entry.full_name).dup.force_encoding('utf-8')
    long = nil
    contents[name] = entry.directory? ? '' : Digest::SHA256.hexdigest(content)
  end
  gzip.read
  raise 'more after the gzip member' unless gzip.unused.nil? && file.eof?
end
puts JSON.generate(contents)
`

test("Ruby's GzipReader and RubyGems' TarReader read all of it", needs('Ruby'), async (t) => {
  const { archive } = await sampleArchive(t)
  const contents = JSON.parse(await runTool('Ruby', ['-e', RUBY, archive]))
  assert.deepEqual(contents, await expectedContents())
})

test('the DecompressionStream of browsers reads all of it', async (t) => {
  const { archive } = await sampleArchive(t)
  const plain = Readable.toWeb(createReadStream(archive)).pipeThrough(
    new DecompressionStream('gzip'),
  )
  const whole = gunzipSync(await readFile(archive))
  assert.ok((await collect(plain as AsyncIterable<Uint8Array>)).equals(whole))
})
