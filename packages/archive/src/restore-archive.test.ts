import assert from 'node:assert/strict'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/archive-samples.ts'
import {
  editJson,
  entriesIn,
  type ForgedEntry,
  type PlainEntry,
  packEntries,
} from '../../../test/support/command-line.ts'
import { gitHost } from '../../../test/support/git-host.ts'
import { archiveOfHost } from '../../../test/support/host-archive.ts'
import { recordSyncs } from '../../../test/support/record-syncs.ts'
import { git } from '../../../test/support/sample-repositories.ts'
import { createGit } from '../../git/src/git.ts'
import { lockFile } from '../../lib/src/file-lock.ts'
import { restoreArchive } from './restore-archive.ts'
import type { Manifest } from './tar/manifest.ts'

const SITE = 'repositories/alice/site.git'
const MANIFEST = 'godwit-manifest.json'

let archiveBytes: Buffer
let all: PlainEntry[]

before(async () => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' }, wiki: { 'Home.md': '# Home\n' } })
  await host.repository('alice/notes', { files: { b: 'b' } })
  archiveBytes = await archiveOfHost(host)
  all = await entriesIn(archiveBytes)
})

/** Restores into `name` of a new temporary folder. */
async function scene(t: TestContext) {
  const folder = await temporaryFolder(t)
  const searchPath = process.env.PATH ?? ''
  const locked = createGit({ program: 'git', searchPath, home: join(folder, 'git-home') })
  const { signal } = new AbortController()
  const into = join(folder, 'host')
  const warnings: string[] = []
  const onNote = (line: string) => {
    if (line.startsWith('warning: ')) warnings.push(line.slice('warning: '.length))
  }
  const restore = (archive: Buffer, ...repositories: string[]) => {
    const options = { git: locked, open: () => [archive], into, repositories, onNote }
    return Array.fromAsync(restoreArchive(options, signal))
  }
  const restoring = () => restoreArchive({ git: locked, open: () => [archiveBytes], into }, signal)
  return { into, restore, restoring, warnings }
}

const fileEntry = (path: string, text = 'hello'): PlainEntry => ({
  path,
  kind: 'file',
  content: Buffer.from(text),
})

/** Removes the manifest, as in archives of other programs. */
const foreign = (change: (those: PlainEntry[]) => PlainEntry[]): Buffer =>
  packEntries(change(all.filter(({ path }) => path !== MANIFEST)))

/** An entry of an archive, and the error that is expected before anything is written. */
const HOSTILE: [name: string, entry: PlainEntry | ForgedEntry, expected: RegExp][] = [
  ['a way up', { name: '../evil' }, /the path "\.\.\/evil" has a part that is "\.\."/],
  ['a way up from inside', { name: `${SITE}/../../../../evil` }, /has a part that is "\.\."/],
  ['an absolute path', { name: '/tmp/evil' }, /"\/tmp\/evil" is not relative/],
  [
    'a symbolic link',
    { name: `${SITE}/refs/x`, type: '2', link: '/etc' },
    /not supported: it holds a symbolic link/,
  ],
  [
    'a hard link',
    { name: `${SITE}/x`, type: '1', link: '/etc/passwd' },
    /not supported: it holds a hard link/,
  ],
  ['a device', { name: `${SITE}/x`, type: '3' }, /not supported: it holds a character device/],
  ['a path twice', fileEntry(`${SITE}/HEAD`), /site\.git\/HEAD is in it twice/],
  ['a directory twice', { name: 'repositories', type: '5' }, /repositories is in it twice/],
  [
    'a file where a directory must be',
    fileEntry(`${SITE}/HEAD/x`),
    /would lie inside the file .*HEAD/,
  ],
  ['an absurd size', { name: `${SITE}/objects/x`, size: 2 ** 50 }, /has space for \d+/],
  ['a text of absurd size', { name: 'users_000009.json', size: 2 ** 33 }, /file too large/],
  ['a name that is not UTF-8', { name: 'caf\xe9' }, /not supported: a path in it is not UTF-8/],
]

for (const [name, entry, expected] of HOSTILE)
  test(`${name} is refused before anything is written`, async (t) => {
    const { into, restore } = await scene(t)
    await assert.rejects(restore(packEntries([...all, entry])), expected)
    assert.ok(!existsSync(into))
  })

test('every file is synced before its repository gets its name, and the folders after', async (t) => {
  const { into, restore } = await scene(t)
  const target = join(into, 'alice/site.git')
  const synced = await recordSyncs(t, target)
  await restore(archiveBytes)
  const files = readdirSync(target, { recursive: true, encoding: 'utf8' })
  assert.ok(files.length > 5)
  for (const file of ['', ...files])
    assert.equal(synced.get(statSync(join(target, file)).ino), false, file)
  for (const folder of [join(into, 'alice'), into])
    assert.equal(synced.get(statSync(folder).ino), true, folder)
})

test('an existing repository stays, and then nothing is restored', async (t) => {
  const taken: [path: string, expected: RegExp][] = [
    ['alice/site.git', /alice\/site\.git already exists; move it away/],
    ['alice/site.wiki.git', /alice\/site\.wiki\.git already exists/],
    ['alice/SITE.git', /alice\/SITE\.git already exists/],
    ['ALICE/other.git', /alice differs only in case from ALICE/],
  ]
  for (const [path, expected] of taken) {
    const { into, restore } = await scene(t)
    await mkdir(join(into, path), { recursive: true })
    await assert.rejects(restore(archiveBytes), expected)
    assert.deepEqual(readdirSync(into, { recursive: true }).sort(), [path.split('/')[0], path])
  }
})

test('an owner directory that is a symbolic link is not followed', async (t) => {
  const { into, restore } = await scene(t)
  await mkdir(join(into, 'elsewhere'), { recursive: true })
  await symlink(join(into, 'elsewhere'), join(into, 'alice'))
  await assert.rejects(restore(archiveBytes), /host\/alice already exists and is not a directory/)
  assert.deepEqual(readdirSync(join(into, 'elsewhere')), [])
})

test('nothing is written from an empty or truncated archive', async (t) => {
  const { into, restore } = await scene(t)
  const bare = all.filter(({ path }) => !path.startsWith('repositories/'))
  await assert.rejects(restore(packEntries(bare)), /it holds no repositories/)
  await assert.rejects(restore(archiveBytes.subarray(0, archiveBytes.length - 40)), /damaged/)
  await assert.rejects(restore(Buffer.from('hello')), /damaged/)
  assert.ok(!existsSync(into))
})

test('only named repositories are restored, with their wikis, even beside others that exist', async (t) => {
  const { into, restore } = await scene(t)
  await mkdir(join(into, 'alice/notes.git'), { recursive: true })
  await assert.rejects(restore(archiveBytes, 'alice/site', 'alice/x'), /does not hold alice\/x$/)
  assert.deepEqual(await restore(archiveBytes, 'Alice/Site'), [
    { fullName: 'alice/site', errors: [] },
  ])
  assert.deepEqual(readdirSync(join(into, 'alice')).sort(), [
    ...['notes.git', 'site.git', 'site.wiki.git'],
  ])
  assert.deepEqual(readdirSync(join(into, 'alice/notes.git')), [])
})

test('a complete archive is restored completely', async (t) => {
  const { into, restore } = await scene(t)
  const restored = await restore(archiveBytes)
  assert.deepEqual(restored, [
    { fullName: 'alice/notes', errors: [] },
    { fullName: 'alice/site', errors: [] },
  ])
  const names = ['notes.git', 'site.git', 'site.wiki.git']
  assert.deepEqual(readdirSync(join(into, 'alice')).sort(), names)
  assert.deepEqual(readdirSync(into), ['alice'])
  for (const name of names) git(join(into, 'alice', name), ['fsck', '--full', '--strict'])
})

test('a detached HEAD stays, because no other ref may reach its commits', async (t) => {
  await using host = await gitHost()
  const dir = await host.repository('alice/site', { files: { a: 'a' } })
  const alone = await host.git(['commit-tree', '-m', 'alone', 'main^{tree}'], { dir })
  await writeFile(join(dir, 'HEAD'), `${alone}\n`)
  const { into, restore } = await scene(t)
  await restore(await archiveOfHost(host))
  assert.equal(git(join(into, 'alice/site.git'), ['rev-parse', 'HEAD']), alone)
})

const BROKEN: [what: string, change: (those: PlainEntry[]) => PlainEntry[], expected: RegExp][] = [
  [
    'lacks objects',
    (those) => those.filter(({ path }) => !path.startsWith(`${SITE}/objects/`)),
    /./,
  ],
  [
    'uses objects of others',
    (those) => [
      ...those,
      fileEntry(`${SITE}/objects/info/alternates`, '/srv/git/secret/objects\n'),
    ],
    /uses objects of other repositories/,
  ],
  [
    'includes other files',
    (those) =>
      those.map((each) =>
        each.path === `${SITE}/config`
          ? fileEntry(each.path, '[include]\n\tpath = /etc/passwd\n')
          : each,
      ),
    /its config includes other files/,
  ],
  [
    'points at another',
    (those) => [...those, fileEntry(`${SITE}/commondir`, '/srv/git/secret.git\n')],
    /it is a worktree of another repository/,
  ],
]

for (const [what, change, expected] of BROKEN)
  test(`a repository that ${what} is not restored, and the others are`, async (t) => {
    const { into, restore } = await scene(t)
    const restored = await restore(foreign(change))
    const faults = new Map(restored.map((each) => [each.fullName, each.errors.join()]))
    assert.match(faults.get('alice/site')!, expected)
    assert.equal(faults.get('alice/notes'), '')
    assert.deepEqual(readdirSync(join(into, 'alice')), ['notes.git'])
    git(join(into, 'alice/notes.git'), ['fsck', '--full', '--strict'])
  })

test('a repository that is missing in the manifest or differs from it is not restored', async (t) => {
  const { into, restore } = await scene(t)
  const edit = editJson<{ repositories: { full_name: string; head: string }[] }>(
    MANIFEST,
    (manifest) => {
      manifest.repositories = manifest.repositories.filter(
        ({ full_name }) => full_name !== 'alice/notes',
      )
      manifest.repositories[0]!.head = 'refs/heads/other'
    },
  )
  const restored = await restore(packEntries(edit(all)))
  const faults = Object.fromEntries(restored.map((each) => [each.fullName, each.errors.join()]))
  assert.deepEqual(faults, {
    'alice/notes': 'it is in the archive and not in the manifest',
    'alice/site': 'HEAD is refs/heads/main, and the manifest says refs/heads/other',
  })
  assert.ok(!existsSync(into))
})

test('the work directory of a killed restore is removed, and other directories stay', async (t) => {
  const { into, restore } = await scene(t)
  for (const name of ['.godwit-restore-dead', '.godwit-restore-busy', '.godwit-restore-old', 'bob'])
    await mkdir(join(into, name, 'unpacked'), { recursive: true })
  for (const name of ['.godwit-restore-dead', 'bob']) await writeFile(join(into, name, 'lock'), '')
  const unlock = lockFile(join(into, '.godwit-restore-busy/lock'))
  t.after(() => unlock?.())
  await restore(archiveBytes)
  const left = ['.godwit-restore-busy', '.godwit-restore-old', 'alice', 'bob']
  assert.deepEqual(readdirSync(into).sort(), left)
})

test('the work directory of a running restore stays', async (t) => {
  const { into, restoring } = await scene(t)
  const first = restoring()
  assert.deepEqual((await first.next()).value, { fullName: 'alice/notes', errors: [] })
  await assert.rejects(Array.fromAsync(restoring()), /notes\.git already exists/)
  assert.deepEqual(await Array.fromAsync(first), [{ fullName: 'alice/site', errors: [] }])
  assert.deepEqual(readdirSync(into), ['alice'])
})

test('only refs and objects of a repository are restored', async (t) => {
  const { into, restore } = await scene(t)
  const hook = fileEntry(`${SITE}/hooks/post-receive`, '#!/bin/sh\n')
  await restore(foreign((those) => [...those, hook]))
  const expected = ['HEAD', 'config', 'description', 'info', 'objects', 'packed-refs', 'refs']
  assert.deepEqual(readdirSync(join(into, 'alice/site.git')).sort(), expected)
})

test('repositories that were skipped by the export are a warning', async (t) => {
  const { restore, warnings } = await scene(t)
  const edit = editJson<Manifest>(MANIFEST, ({ repositories, skipped }) => {
    repositories[0]!.lfs_missing = [{ oid: 'a'.repeat(64), size: 1 }]
    skipped.push({ full_name: 'alice/lost', reason: 'it is damaged' })
  })
  await restore(packEntries(edit(all)))
  assert.deepEqual(warnings, [
    'alice/lost was skipped when the archive was made: it is damaged',
    `alice/notes: 1 LFS object was missing on the host when it was exported: ${'a'.repeat(64)}`,
  ])
})

test('LFS objects that the archive lacks are a warning', async (t) => {
  const oid = 'b'.repeat(64)
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 9\n`
  await using host = await gitHost()
  await host.repository('alice/video', { files: { 'a.mov': pointer } })
  const entries = await entriesIn(await archiveOfHost(host))
  const { restore, warnings } = await scene(t)
  await restore(packEntries(entries.filter(({ path }) => path !== MANIFEST)))
  assert.deepEqual(warnings, [`alice/video: 1 LFS object is not in the archive: ${oid}`])
})

test('an archive with edited metadata is refused', async (t) => {
  const { into, restore } = await scene(t)
  const open = editJson<{ private: boolean }[]>('repositories_000001.json', (those) => {
    for (const each of those) each.private = false
  })
  const expected = /refused: repositories_000001\.json is not the file that was exported/
  await assert.rejects(restore(packEntries(open(all))), expected)
  assert.ok(!existsSync(into))
})
