import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Manifest } from '../../src/archive/manifest.ts'
import { gitHost } from '../support/git-host.ts'
import { ODD_REPOSITORIES, temporaryDirectory } from '../support/odd-repositories.ts'
import { changed, type Desk, desk, editing, type PlainEntry } from '../support/without-server.ts'

interface RepositoryRecord {
  name: string
  owner: string
  collaborators: { user: string }[]
  wiki_url?: string
  private: unknown
}

const SITE = 'repositories/alice/site.git'
const MANIFEST = 'godwit-manifest.json'
const NOBODY = 'http://127.0.0.1:3000/nobody'

let archive: string

before(async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', {
    files: { 'index.html': '<h1>Alice</h1>' },
    wiki: { 'Home.md': '# Home\n' },
    config: { 'godwit.collaborator': 'bob:admin' },
  })
  await host.git(['repack', '-adq'], { dir: host.path('alice/site') })
  ODD_REPOSITORIES['LFS objects'](host.path('alice/video'))
  const { godwit } = await desk(t as never)
  archive = join(temporaryDirectory(t as never), 'whole.tar.gz')
  const order = ['export', 'alice', '--repositories', host.root, '--output', archive]
  const { code, said } = await godwit(order)
  assert.equal(code, 0, said)
})

/** A change to an archive, and what must be said of it. */
type Fault = [name: string, make: (to: string) => Promise<void>, says: RegExp]

const bytes = (edit: (whole: Buffer) => Buffer) => async (to: string) =>
  writeFile(to, edit(readFileSync(archive)))

const flip = (whole: Buffer, at: number, bit = 1): Buffer => {
  whole[at]! ^= bit
  return whole
}

/** Where the header of the stored block begins that holds the byte: five of its bits mean nothing to who inflates. */
function storedBlockBefore(whole: Buffer, at: number): number {
  let start = at
  while ((whole.readUInt16LE(start + 1) ^ whole.readUInt16LE(start + 3)) !== 0xffff) start -= 1
  return start
}

const entries = (change: (all: PlainEntry[]) => PlainEntry[]) => (to: string) =>
  changed(archive, to, change)

const manifest = (edit: (value: Manifest) => void) => entries(editing(MANIFEST, edit))

const records = (edit: (site: RepositoryRecord) => void) =>
  entries(
    editing<RepositoryRecord[]>('repositories_000001.json', (all) =>
      edit(all.find(({ name }) => name === 'site')!),
    ),
  )

const site = (value: Manifest) =>
  value.repositories.find((each) => each.full_name === 'alice/site')!

const aFile = (path: string): PlainEntry => ({ path, kind: 'file', content: Buffer.from('hello') })

const content = (isIt: (path: string) => boolean, edit: (content: Buffer) => Buffer) =>
  entries((all) =>
    all.map((each) =>
      each.kind === 'file' && isIt(each.path) ? { ...each, content: edit(each.content) } : each,
    ),
  )

const FAULTS: Fault[] = [
  [
    'a truncated file',
    bytes((all) => all.subarray(0, all.length * 0.6)),
    /ends? (too early|of file)/,
  ],
  ['a flipped bit in JSON', bytes((all) => flip(all, 60)), /the archive is damaged/],
  [
    'a flipped bit in a pack',
    bytes((all) => flip(all, all.indexOf('PACK\0\0\0\x02') + 40)),
    /alice\/site: its bytes are not those it was exported with/,
  ],
  [
    'a flipped bit in the trailer',
    bytes((all) => flip(all, all.length - 6)),
    /incorrect data check/,
  ],
  ['bytes after the end', bytes((all) => Buffer.concat([all, Buffer.from('more')])), /damaged/],
  [
    'a pack whose checksum is right and whose archive is not',
    content(
      (path) => path.startsWith(SITE) && path.endsWith('.pack'),
      (pack) => flip(Buffer.from(pack), 40),
    ),
    /alice\/site: .*(pack|inflate)/,
  ],
  [
    'another content of an LFS object',
    content(
      (path) => path.includes('/lfs/objects/'),
      (object) => flip(Buffer.from(object), 40),
    ),
    /alice\/video: lfs\/objects\/.*not that of its LFS oid/,
  ],
  [
    'other bytes that inflate to the same',
    bytes((all) => flip(all, storedBlockBefore(all, all.indexOf('PACK\0\0\0\x02')), 0x80)),
    /alice\/site: its stored bytes are not those it was exported as \(SHA-256\)/,
  ],
  [
    'a missing object',
    entries((all) => all.filter(({ path }) => !/video\.git\/objects\/..\/./.test(path))),
    /alice\/video: .*(missing|bad object)/,
  ],
  [
    'a missing repository',
    entries((all) => all.filter(({ path }) => !path.startsWith('repositories/alice/video.git'))),
    /alice\/video: the manifest names it, and it is not in the archive/,
  ],
  [
    'a repository that the manifest does not name',
    manifest((value) => {
      value.repositories = value.repositories.filter((each) => each.full_name !== 'alice/video')
    }),
    /alice\/video: it is in the archive and not in the manifest/,
  ],
  [
    'an extra entry at the top',
    entries((all) => [...all, aFile('extra.txt')]),
    /extra\.txt does not belong in an archive/,
  ],
  [
    'an extra entry beside the repositories',
    entries((all) => [...all, aFile('repositories/alice/extra.txt')]),
    /repositories\/alice\/extra\.txt does not belong/,
  ],
  [
    'an extra entry in a repository',
    entries((all) => [...all, aFile(`${SITE}/hooks/post-receive`)]),
    /alice\/site: it has \d+ bytes of tar, not \d+/,
  ],
  [
    'a link to someone without a record',
    records(({ collaborators }) => {
      collaborators[0]!.user = NOBODY
    }),
    /a collaborator of .*\/alice\/site links to .*\/nobody, who has no record/,
  ],
  [
    'an owner without a record',
    records((record) => {
      record.owner = NOBODY
    }),
    /the owner of .*\/alice\/site links to .*\/nobody/,
  ],
  [
    'a link to a wiki that is not there',
    records((record) => {
      record.wiki_url = 'tarball://root/repositories/alice/other.wiki.git'
    }),
    /wiki_url of .* leads to .*other\.wiki\.git, which is not in the archive/,
  ],
  [
    'a link out of the archive',
    records((record) => {
      record.wiki_url = 'tarball://root/../../../../../etc'
    }),
    /wiki_url of .*which is not in the archive/,
  ],
  [
    'a record of another shape',
    records((record) => {
      record.private = 'maybe'
    }),
    /repositories_000001\.json: \[\d\]\.private is not true or false: 'maybe'/,
  ],
  [
    'a wrong oid in the manifest',
    manifest((value) => {
      site(value).refs[0]!.oid = '1'.repeat(40)
    }),
    /alice\/site: refs\/heads\/main is [0-9a-f]{40}, and the manifest says 1{40}/,
  ],
  [
    'a ref that is not there',
    manifest((value) => {
      site(value).refs.push({ name: 'refs/heads/lost', oid: '1'.repeat(40) })
    }),
    /alice\/site: the ref refs\/heads\/lost is missing/,
  ],
  [
    'another HEAD',
    manifest((value) => {
      site(value).wiki!.head = 'refs/heads/other'
    }),
    /alice\/site: wiki: HEAD is refs\/heads\/main, and the manifest says refs\/heads\/other/,
  ],
  [
    'a manifest that is none',
    manifest((value) => {
      value.format = 3 as 2
    }),
    /godwit-manifest\.json: format is not 1 or 2: 3/,
  ],
  [
    'metadata that was edited',
    records((site) => {
      site.private = !site.private
    }),
    /repositories_000001\.json: is not the file that was exported \(SHA-256\)/,
  ],
  [
    'metadata that was added',
    entries((all) => [...all, { ...aFile('users_000002.json'), content: Buffer.from('[]') }]),
    /users_000002\.json: is in the archive and not in the manifest/,
  ],
  [
    'metadata that was removed',
    entries((all) => all.filter(({ path }) => path !== 'users_000001.json')),
    /users_000001\.json: is missing/,
  ],
]

test('an archive of an older version is verified but for its metadata, and that is said', async (t) => {
  const { folder, godwit } = await desk(t)
  const file = join(folder, 'older.tar.gz')
  await manifest((value) => {
    value.format = 1
    delete value.metadata
  })(file)
  const { code, said } = await godwit(['verify', file])
  assert.equal(code, 0, said)
  assert.match(
    said,
    /^note: the metadata was not compared: older manifests have no digests of it$/m,
  )
})

test('every fault is named, and nothing is left behind', { concurrency: 2 }, async (t) => {
  const table = await desk(t)
  const cases = FAULTS.map(([name, make, says], number) =>
    t.test(name, async () => {
      const file = join(table.folder, `${number}.tar.gz`)
      await make(file)
      const { code, said, stderr } = await table.godwit(['verify', file])
      assert.equal(code, 1, said)
      assert.match(said, says)
      assert.match(stderr, /tar\.gz has (a fault|\d+ faults)\n$/)
    }),
  )
  await Promise.all(cases)
  assert.deepEqual(await table.leftovers(), [])
})

test('an archive that others packed again, or made, is verified as far as it goes', async (t) => {
  const { godwit, folder, leftovers }: Desk = await desk(t)
  const again = join(folder, 'again.tar.gz')
  await writeFile(again, gzipSync(gunzipSync(await readFile(archive)), { level: 9 }))
  const recompressed = await godwit(['verify', again])
  assert.equal(recompressed.code, 0, recompressed.said)
  assert.match(recompressed.said, /^note: the digests .* not compared: it was packed again/m)

  const piped = await godwit(['verify', '-'], await readFile(archive))
  assert.equal(piped.code, 0, piped.said)
  assert.match(piped.said, /^note: the digests .* not compared: it could be read only once/m)

  const untouched = await godwit(['verify', archive])
  assert.equal(untouched.code, 0, untouched.said)
  assert.doesNotMatch(untouched.said, /^note/m)

  const plain = await godwit(['verify', '-'], gunzipSync(await readFile(archive)))
  assert.equal(plain.code, 0, plain.said)

  const foreign = join(folder, 'foreign.tar.gz')
  await changed(archive, foreign, (all) => [
    ...all.filter(({ path }) => path !== MANIFEST),
    aFile('issues_000001.json'),
  ])
  const { code, said } = await godwit(['verify', foreign])
  assert.equal(code, 0, said)
  assert.match(said, /^note: there is no godwit-manifest\.json/m)
  assert.match(said, /is whole: 2 repositories/)
  assert.deepEqual(await leftovers(), [])
})
