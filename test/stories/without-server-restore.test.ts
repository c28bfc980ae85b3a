import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import { git, temporaryDirectory } from '../support/odd-repositories.ts'
import {
  changed,
  desk,
  editing,
  type ForgedEntry,
  type PlainEntry,
} from '../support/without-server.ts'

const SITE = 'repositories/alice/site.git'

let archive: string

before(async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' }, wiki: { 'Home.md': '# Home\n' } })
  await host.repository('alice/notes', { files: { b: 'b' } })
  const { godwit } = await desk(t as never)
  archive = join(temporaryDirectory(t as never), 'whole.tar.gz')
  const order = ['export', 'alice', '--repositories', host.root, '--output', archive]
  const { code, said } = await godwit(order)
  assert.equal(code, 0, said)
})

const aFile = (path: string, text = 'hello'): PlainEntry => ({
  path,
  kind: 'file',
  content: Buffer.from(text),
})

/** What is put into an archive, and what must be said of it before anything is written. */
const HOSTILE: [name: string, entry: PlainEntry | ForgedEntry, says: RegExp][] = [
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
  ['a path twice', aFile(`${SITE}/HEAD`), /site\.git\/HEAD is in it twice/],
  ['a directory twice', { name: 'repositories', type: '5' }, /repositories is in it twice/],
  ['a file where a directory must be', aFile(`${SITE}/HEAD/x`), /would lie inside the file .*HEAD/],
  ['an absurd size', { name: `${SITE}/objects/x`, size: 2 ** 50 }, /has room for \d+/],
  [
    'a text of absurd size',
    { name: 'users_000009.json', size: 2 ** 33 },
    /too many for what it is/,
  ],
  ['a name that is not UTF-8', { name: 'caf\xe9' }, /not supported: a path in it is not UTF-8/],
]

test('a hostile archive is refused before anything is written', { concurrency: 2 }, async (t) => {
  const { godwit, folder, leftovers } = await desk(t)
  const cases = HOSTILE.map(([name, entry, says], number) =>
    t.test(name, async () => {
      const file = join(folder, `${number}.tar.gz`)
      await changed(archive, file, (all) => [...all, entry])
      const { code, said, stderr } = await godwit(['restore', file, '--into', `into-${number}`])
      assert.equal(code, 1, said)
      assert.match(stderr, says)
      assert.ok(!existsSync(join(folder, `into-${number}`)))
    }),
  )
  await Promise.all(cases)
  assert.deepEqual(await leftovers(), [])
})

test('what is there stays, and then nothing is restored', async (t) => {
  const { godwit, folder, leftovers } = await desk(t)
  const taken: [path: string, says: RegExp][] = [
    ['alice/site.git', /alice\/site\.git is there already; move it away/],
    ['alice/site.wiki.git', /alice\/site\.wiki\.git is there already/],
    ['alice/SITE.git', /alice\/SITE\.git is there already/],
    ['ALICE/other.git', /alice differs only in case from ALICE/],
  ]
  for (const [number, [path, says]] of taken.entries()) {
    const into = join(folder, String(number))
    await mkdir(join(into, path), { recursive: true })
    const before = readdirSync(into, { recursive: true }).sort()
    const { code, stderr } = await godwit(['restore', archive, '--into', into])
    assert.equal(code, 1)
    assert.match(stderr, says)
    assert.deepEqual(readdirSync(into, { recursive: true }).sort(), before)
  }
  await mkdir(join(folder, 'linked'))
  await symlink(join(folder, '0'), join(folder, 'linked/alice'))
  const linked = await godwit(['restore', archive, '--into', 'linked'])
  assert.equal(linked.code, 1)
  assert.match(linked.stderr, /linked\/alice is there and is no directory/)
  assert.deepEqual(readdirSync(join(folder, 'linked')), ['alice'])
  assert.deepEqual(await leftovers(), [])
})

test('a repository that is not whole is left out, and the others are restored', async (t) => {
  const { godwit, folder, leftovers } = await desk(t)
  const without: [name: string, isBad: (all: PlainEntry[]) => PlainEntry[], says: RegExp][] = [
    [
      'objects',
      (all) => all.filter(({ path }) => !path.startsWith(`${SITE}/objects/`)),
      /not restored: alice\/site: /,
    ],
    [
      'objects of its own',
      (all) => [...all, aFile(`${SITE}/objects/info/alternates`, '/srv/git/secret/objects\n')],
      /not restored: alice\/site: .*borrows objects from elsewhere/,
    ],
    [
      'a config of its own',
      (all) =>
        all.map((each) =>
          each.path === `${SITE}/config`
            ? aFile(each.path, '[include]\n\tpath = /etc/passwd\n')
            : each,
        ),
      /not restored: alice\/site: .*its config includes other files/,
    ],
  ]
  for (const [number, [, change, says]] of without.entries()) {
    const file = join(folder, `${number}.tar.gz`)
    await changed(archive, file, (all) =>
      change(all.filter(({ path }) => path !== 'godwit-manifest.json')),
    )
    const { code, said } = await godwit(['restore', file, '--into', String(number)])
    assert.equal(code, 1, said)
    assert.match(said, says)
    assert.deepEqual(readdirSync(join(folder, String(number), 'alice')), ['notes.git'])
    git(join(folder, String(number), 'alice/notes.git'), ['fsck', '--full', '--strict'])
  }
  assert.deepEqual(await leftovers(), [])
})

test('nothing of a repository comes along but refs and objects', async (t) => {
  const { godwit, folder } = await desk(t)
  const file = join(folder, 'a.tar.gz')
  await changed(archive, file, (all) => [
    ...all.filter(({ path }) => path !== 'godwit-manifest.json'),
    aFile(`${SITE}/hooks/post-receive`, '#!/bin/sh\n'),
  ])
  const { code, said } = await godwit(['restore', file, '--into', 'back'])
  assert.equal(code, 0, said)
  const restored = readdirSync(join(folder, 'back/alice/site.git')).sort()
  const expected = ['HEAD', 'config', 'description', 'info', 'objects', 'packed-refs', 'refs']
  assert.deepEqual(restored, expected)
})

test('a repository that points at another is not restored, and what it points at is not read', async (t) => {
  const { godwit, folder } = await desk(t)
  const file = join(folder, 'a.tar.gz')
  await changed(archive, file, (all) => [
    ...all.filter(({ path }) => path !== 'godwit-manifest.json'),
    aFile(`${SITE}/commondir`, '/srv/git/secret.git\n'),
  ])
  const { code, said } = await godwit(['restore', file, '--into', 'back'])
  assert.equal(code, 1, said)
  assert.match(said, /^not restored: alice\/site: it is a worktree of another repository/m)
  assert.deepEqual(readdirSync(join(folder, 'back/alice')), ['notes.git'])
})

test('metadata that was edited is not applied: the archive is refused, and nothing is written', async (t) => {
  const { folder, godwit } = await desk(t)
  const edited = join(folder, 'edited.tar.gz')
  const open = editing<{ private: boolean }[]>('repositories_000001.json', (all) => {
    for (const each of all) each.private = false
  })
  await changed(archive, edited, open)
  const { code, said } = await godwit(['restore', edited, '--into', join(folder, 'host')])
  assert.equal(code, 1, said)
  assert.match(said, /refused: repositories_000001\.json: is not the file that was exported/)
  assert.ok(!existsSync(join(folder, 'host')))
})
