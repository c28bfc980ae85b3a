import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  type CommandLine,
  commandLine,
  editJson,
  type PlainEntry,
  writeChangedArchive,
} from '../support/command-line.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory, UNUSUAL_REPOSITORIES } from '../support/sample-repositories.ts'

interface RepositoryRecord {
  name: string
  private: unknown
}

const MANIFEST = 'godwit-manifest.json'

let archive: string

const fileCleanup = cleanupAfterFile()

before(async () => {
  await using host = await gitHost()
  await host.repository('alice/site', {
    files: { 'index.html': '<h1>Alice</h1>' },
    wiki: { 'Home.md': '# Home\n' },
    config: { 'godwit.collaborator': 'bob:admin' },
  })
  await host.git(['repack', '-adq'], { dir: host.path('alice/site') })
  UNUSUAL_REPOSITORIES['LFS objects'](host.path('alice/video'))
  const { godwit } = await commandLine(fileCleanup)
  archive = join(temporaryDirectory(fileCleanup), 'whole.tar.gz')
  const command = ['export', 'alice', '--repositories', host.root, '--output', archive]
  const { code, output } = await godwit(command)
  assert.equal(code, 0, output)
})

/** A change of an archive, with its error message. Unit tests beside the code cover all messages. */
type Change = [name: string, make: (to: string) => Promise<void>, message: RegExp]

const editBytes = (edit: (whole: Buffer) => Buffer) => async (to: string) =>
  writeFile(to, edit(readFileSync(archive)))

const flipBit = (whole: Buffer, at: number): Buffer => {
  whole[at]! ^= 1
  return whole
}

const fileEntry = (path: string): PlainEntry => ({
  path,
  kind: 'file',
  content: Buffer.from('hello'),
})

const CHANGES: Change[] = [
  [
    'a truncated file',
    editBytes((all) => all.subarray(0, all.length * 0.6)),
    /ends? (too early|of file)/,
  ],
  [
    'a flipped bit in a pack',
    editBytes((all) => flipBit(all, all.indexOf('PACK\0\0\0\x02') + 40)),
    /alice\/site: its bytes differ from the exported ones/,
  ],
  [
    'metadata that was edited',
    (to) =>
      writeChangedArchive(
        archive,
        to,
        editJson<RepositoryRecord[]>('repositories_000001.json', (all) => {
          all[0]!.private = !all[0]!.private
        }),
      ),
    /repositories_000001\.json is not the file that was exported \(SHA-256\)/,
  ],
]

test('errors are named and counted, and nothing is left behind', { concurrency: 2 }, async (t) => {
  const commands = await commandLine(t)
  const cases = CHANGES.map(([name, make, message], number) =>
    t.test(name, async () => {
      const file = join(commands.folder, `${number}.tar.gz`)
      await make(file)
      const { code, output, stderr } = await commands.godwit(['verify', file])
      assert.equal(code, 1, output)
      assert.match(output, message)
      assert.match(stderr, /tar\.gz has (1 error|\d+ errors)\n$/)
    }),
  )
  await Promise.all(cases)
  assert.deepEqual(await commands.leftovers(), [])
})

test('an archive that was repacked or made by others is verified as far as possible', async (t) => {
  const { godwit, folder, leftovers }: CommandLine = await commandLine(t)
  const again = join(folder, 'again.tar.gz')
  await writeFile(again, gzipSync(gunzipSync(await readFile(archive)), { level: 9 }))
  const recompressed = await godwit(['verify', again])
  assert.equal(recompressed.code, 0, recompressed.output)
  assert.match(recompressed.output, /^note: the digests .* not compared: it was packed again/m)

  const piped = await godwit(['verify', '-'], await readFile(archive))
  assert.equal(piped.code, 0, piped.output)
  assert.match(piped.output, /^note: the digests .* not compared: it could be read only once/m)

  const untouched = await godwit(['verify', archive])
  assert.equal(untouched.code, 0, untouched.output)
  assert.doesNotMatch(untouched.output, /^note/m)

  const plain = await godwit(['verify', '-'], gunzipSync(await readFile(archive)))
  assert.equal(plain.code, 0, plain.output)

  const foreign = join(folder, 'foreign.tar.gz')
  await writeChangedArchive(archive, foreign, (all) => [
    ...all.filter(({ path }) => path !== MANIFEST),
    { ...fileEntry('issues_000001.json'), content: Buffer.from('[]') },
  ])
  const { code, output } = await godwit(['verify', foreign])
  assert.equal(code, 0, output)
  assert.match(output, /^note: there is no godwit-manifest\.json/m)
  assert.match(output, /: 2 repositories verified; no manifest, so the bytes were not compared$/m)
  assert.deepEqual(await leftovers(), [])
})
