import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { temporaryFolder } from '../../../test/support/archive-samples.ts'
import {
  editJson,
  entriesIn,
  type PlainEntry,
  packEntries,
} from '../../../test/support/command-line.ts'
import { gitHost } from '../../../test/support/git-host.ts'
import { archiveOfHost } from '../../../test/support/host-archive.ts'
import { createGit } from '../../git/src/git.ts'
import { checkArchive } from './formats/compare-manifest.ts'
import type { Manifest } from './tar/manifest.ts'
import { verifyArchive } from './verify-archive.ts'

interface RepositoryRecord {
  name: string
  owner: string
  collaborators: { user: string }[]
  wiki_url?: string
  private: unknown
}

const SITE = 'repositories/alice/site.git'
const MANIFEST = 'godwit-manifest.json'
const NOBODY = 'http://localhost/nobody'

let archiveBytes: Buffer
let all: PlainEntry[]

before(async () => {
  await using host = await gitHost()
  await host.repository('alice/site', {
    files: { 'index.html': '<h1>Alice</h1>' },
    wiki: { 'Home.md': '# Home\n' },
    config: { 'godwit.collaborator': 'bob:admin' },
  })
  await host.git(['repack', '-adq'], { dir: host.path('alice/site') })
  const large = Buffer.alloc(9000, 'large file ')
  const oid = createHash('sha256').update(large).digest('hex')
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 9000\n`
  const video = await host.repository('alice/video', { files: { 'a.mov': pointer } })
  const object = join(video, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid)
  await mkdir(dirname(object), { recursive: true })
  await writeFile(object, large)
  archiveBytes = await archiveOfHost(host)
  all = await entriesIn(archiveBytes)
})

const { signal } = new AbortController()

/** Returns each finding as a line. */
async function verified(t: TestContext, archive: Buffer, isKept = true): Promise<string[]> {
  const directory = await temporaryFolder(t)
  const file = join(directory, 'archive.tar.gz')
  await writeFile(file, archive)
  const git = createGit({
    program: 'git',
    searchPath: process.env.PATH ?? '',
    home: join(directory, 'home'),
  })
  const options = { git, directory, file: isKept ? file : undefined }
  const findings = await Array.fromAsync(verifyArchive(options, [archive], signal))
  return findings.flatMap((each) => ('text' in each ? [`${each.level}: ${each.text}`] : []))
}

/** A change of an archive, and the findings that are expected. */
type Fault = [name: string, make: () => Buffer, expected: RegExp]

const bytes = (edit: (copy: Buffer) => Buffer) => () => edit(Buffer.from(archiveBytes))

const flip = (copy: Buffer, at: number, bit = 1): Buffer => {
  copy[at]! ^= bit
  return copy
}

/** Returns the offset of the header of the stored block that contains the byte. Decompression ignores five bits of that header. */
function storedBlockBefore(copy: Buffer, at: number): number {
  let start = at
  while ((copy.readUInt16LE(start + 1) ^ copy.readUInt16LE(start + 3)) !== 0xffff) start -= 1
  return start
}

const entries = (change: (all: PlainEntry[]) => PlainEntry[]) => () => packEntries(change([...all]))

const manifest = (edit: (value: Manifest) => void) => entries(editJson(MANIFEST, edit))

const records = (edit: (site: RepositoryRecord) => void) =>
  entries(
    editJson<RepositoryRecord[]>('repositories_000001.json', (those) =>
      edit(those.find(({ name }) => name === 'site')!),
    ),
  )

const site = (value: Manifest) =>
  value.repositories.find((each) => each.full_name === 'alice/site')!

const fileEntry = (path: string): PlainEntry => ({
  path,
  kind: 'file',
  content: Buffer.from('hello'),
})

const content = (isIt: (path: string) => boolean, edit: (content: Buffer) => Buffer) =>
  entries((those) =>
    those.map((each) =>
      each.kind === 'file' && isIt(each.path)
        ? { ...each, content: edit(Buffer.from(each.content)) }
        : each,
    ),
  )

const FAULTS: Fault[] = [
  [
    'a truncated file',
    bytes((those) => those.subarray(0, those.length * 0.6)),
    /ends? (too early|of file)/,
  ],
  ['a flipped bit in JSON', bytes((those) => flip(those, 60)), /the archive is damaged/],
  [
    'a flipped bit in a pack',
    bytes((those) => flip(those, those.indexOf('PACK\0\0\0\x02') + 40)),
    /alice\/site: its bytes differ from the exported ones/,
  ],
  [
    'a flipped bit in the trailer',
    bytes((those) => flip(those, those.length - 6)),
    /incorrect data check/,
  ],
  ['bytes after the end', bytes((those) => Buffer.concat([those, Buffer.from('more')])), /damaged/],
  [
    'a pack whose checksum is right and whose archive is not',
    content(
      (path) => path.startsWith(SITE) && path.endsWith('.pack'),
      (pack) => flip(pack, 40),
    ),
    /alice\/site: .*(pack|inflate)/,
  ],
  [
    'another content of an LFS object',
    content(
      (path) => path.includes('/lfs/objects/'),
      (object) => flip(object, 40),
    ),
    /alice\/video: lfs\/objects\/.*does not match its LFS oid/,
  ],
  [
    'compressed bytes that differ but inflate to the same',
    bytes((those) => flip(those, storedBlockBefore(those, those.indexOf('PACK\0\0\0\x02')), 0x80)),
    /alice\/site: its compressed bytes differ from the exported ones \(SHA-256\)/,
  ],
  [
    'a missing object',
    entries((those) => those.filter(({ path }) => !/video\.git\/objects\/pack\/./.test(path))),
    /alice\/video: .*(missing|bad object)/,
  ],
  [
    'a missing repository',
    entries((those) =>
      those.filter(({ path }) => !path.startsWith('repositories/alice/video.git')),
    ),
    /alice\/video: it is in the manifest and not in the archive/,
  ],
  [
    'a missing wiki',
    entries((those) => those.filter(({ path }) => !path.includes('alice/site.wiki.git'))),
    /alice\/site: its wiki is missing/,
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
    entries((those) => [...those, fileEntry('extra.txt')]),
    /extra\.txt does not belong in an archive/,
  ],
  [
    'an extra entry beside the repositories',
    entries((those) => [...those, fileEntry('repositories/alice/extra.txt')]),
    /repositories\/alice\/extra\.txt does not belong/,
  ],
  [
    'an extra entry in a repository',
    entries((those) => [...those, fileEntry(`${SITE}/hooks/post-receive`)]),
    /alice\/site: .*hooks\/post-receive is in the archive and not in the manifest/,
  ],
  [
    'a link to someone without a record',
    records(({ collaborators }) => {
      collaborators[0]!.user = NOBODY
    }),
    /repositories_000001\.json: \[0\]\.collaborators\[0\]\.user leads to .*\/nobody, which has no record/,
  ],
  [
    'an owner without a record',
    records((record) => {
      record.owner = NOBODY
    }),
    /repositories_000001\.json: \[0\]\.owner leads to .*\/nobody, which has no record/,
  ],
  [
    'a link to a missing wiki',
    records((record) => {
      record.wiki_url = 'tarball://root/repositories/alice/other.wiki.git'
    }),
    /\[0\]\.wiki_url leads to .*other\.wiki\.git, which is not in the archive/,
  ],
  [
    'a link out of the archive',
    records((record) => {
      record.wiki_url = 'tarball://root/../../../../../etc'
    }),
    /\[0\]\.wiki_url leads to .*which is not in the archive/,
  ],
  [
    'a wrong oid in the manifest',
    manifest((value) => {
      site(value).refs[0]!.oid = '1'.repeat(40)
    }),
    /alice\/site: refs\/heads\/main is [0-9a-f]{40}, and the manifest says 1{40}/,
  ],
  [
    'a missing ref',
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
    'an invalid manifest',
    manifest((value) => {
      value.format = 5 as 4
    }),
    /godwit-manifest\.json: format 5 is not supported: this version of Godwit reads format 4/,
  ],
  [
    'metadata that was edited',
    records((site) => {
      site.private = !site.private
    }),
    /repositories_000001\.json is not the file that was exported \(SHA-256\)/,
  ],
  [
    'metadata that was added',
    entries((those) => [
      ...those,
      { ...fileEntry('users_000002.json'), content: Buffer.from('[]') },
    ]),
    /users_000002\.json is in the archive and not in the manifest/,
  ],
  [
    'metadata that was removed',
    entries((those) => those.filter(({ path }) => path !== 'users_000001.json')),
    /users_000001\.json is missing/,
  ],
]

for (const [name, make, expected] of FAULTS)
  test(`verify reports ${name}`, async (t) => {
    const lines = await verified(t, make())
    assert.match(lines.filter((line) => line.startsWith('error: ')).join('\n'), expected)
  })

test('a truncated archive still verifies the repositories before the damage', async (t) => {
  const lines = await verified(
    t,
    archiveBytes.subarray(0, archiveBytes.indexOf('PACK\0\0\0\x02') + 100),
  )
  assert.match(lines.join('\n'), /error: alice\/site: it is incomplete/)
  assert.doesNotMatch(lines.join('\n'), /verified:/)
})

test('all repositories of a complete archive are verified', async (t) => {
  assert.deepEqual(await verified(t, archiveBytes), [
    'verified: alice/site',
    'verified: alice/video',
  ])
  const directory = await temporaryFolder(t)
  await writeFile(join(directory, 'a'), archiveBytes)
  assert.equal(await checkArchive(join(directory, 'a'), signal), 'digests')
})

test('a note says what cannot be compared', async (t) => {
  const wholes = ['verified: alice/site', 'verified: alice/video']
  const notes = async (archive: Buffer, isKept = true) => {
    const lines = await verified(t, archive, isKept)
    assert.deepEqual(
      lines.filter((line) => !line.startsWith('note: ')),
      wholes,
    )
    return lines.filter((line) => line.startsWith('note: ')).join('\n')
  }
  assert.match(await notes(gzipSync(gunzipSync(archiveBytes))), /digests .* packed again/)
  assert.match(await notes(archiveBytes, false), /digests .* could be read only once/)
  const foreign = entries((those) => [
    ...those.filter(({ path }) => path !== MANIFEST),
    { ...fileEntry('issues_000001.json'), content: Buffer.from('[]') },
  ])
  assert.match(await notes(foreign()), /there is no godwit-manifest\.json/)
})

test('a repository with LFS objects that were missing on the host is partial', async (t) => {
  const oids = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(64))
  const lacking = (count: number) =>
    manifest((value) => {
      site(value).lfs_missing = oids.slice(0, count).map((oid) => ({ oid, size: 1 }))
    })()
  const one = `partial: alice/site: 1 LFS object was missing on the host when it was exported: ${oids[0]}`
  const found = await verified(t, lacking(1))
  assert.ok(found.includes(one))
  assert.ok(!found.includes('verified: alice/site'))
  const lines = (await verified(t, lacking(4))).join('\n')
  assert.match(
    lines,
    /^partial: alice\/site: 4 LFS objects were missing .*: a{64}, b{64}, c{64}, …$/m,
  )
  assert.doesNotMatch(lines, /^error/m)
})

test('skipped repositories and missing data are notes', async (t) => {
  const skipping = manifest((value) => {
    value.skipped.push({ full_name: 'alice/lost', reason: 'it is damaged' })
  })
  assert.match(
    (await verified(t, skipping())).join('\n'),
    /note: alice\/lost was skipped .*: it is/,
  )
  const isMetadata = ({ path }: PlainEntry) => !path.startsWith('repositories/')
  const bare = entries((those) =>
    those.filter((each) => isMetadata(each) && ![MANIFEST, 'repositories'].includes(each.path)),
  )
  assert.match((await verified(t, bare())).join('\n'), /note: it holds no git data/)
})

test('without git data, only links to repositories are not followed', async (t) => {
  const bare = all.filter(({ path }) => !path.startsWith('repositories') && path !== MANIFEST)
  const metadata = all.filter(({ path }) => path === 'repositories_000001.json')
  const attachment = { url: `${NOBODY}/1`, asset_url: 'tarball://root/attachments/u1/a.txt' }
  const naming = {
    ...fileEntry('attachments_000001.json'),
    content: Buffer.from(JSON.stringify([attachment])),
  }
  const lines = await verified(t, packEntries([...bare, ...metadata, naming]))
  assert.deepEqual(
    lines.filter((line) => line.startsWith('error: ')),
    [
      'error: attachments_000001.json: [0].asset_url leads to tarball://root/attachments/u1/a.txt, which is not in the archive',
    ],
  )
  const there = packEntries([...bare, ...metadata, naming, fileEntry('attachments/u1/a.txt')])
  assert.doesNotMatch((await verified(t, there)).join('\n'), /^error/m)
})
