import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstat, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import licenses from 'spdx-license-list/full.js'
import { FIRST_COMMIT } from '../../../../../test/support/git-host.ts'
import { looseObjects } from '../../../../../test/support/loose-objects.ts'
import { MIT, metadataScene } from '../../../../../test/support/metadata-scene.ts'
import type { Git } from '../../../../git/src/git.ts'
import type { SourceMetadata } from '../../source.ts'

const { host, nextName, metadataOf, assertUnreadable } = await metadataScene()
after(() => host.remove())

test('metadata is read from files and refs', async () => {
  const dir = await host.repository(nextName(), {
    files: { 'main.go': 'package main\n', LICENSE: MIT },
    branch: 'trunk',
    description: 'Größe\nzählt 🦆\n',
    config: { 'gitweb.url': 'https://example.com/page' },
    public: true,
  })
  const later = new Date('2021-05-06T07:08:09Z')
  await host.commit(dir, { 'x.go': 'package x\n' }, { branch: 'side', at: later })
  const edited = new Date('2022-01-01T00:00:00Z')
  for (const file of ['HEAD', 'config', 'git-daemon-export-ok']) {
    await utimes(join(dir, file), later, later)
  }
  await utimes(join(dir, 'description'), edited, edited)
  assert.deepEqual(await metadataOf(dir), {
    description: 'Größe zählt 🦆',
    homepage: 'https://example.com/page',
    private: false,
    defaultBranch: 'trunk',
    sizeKib: 2,
    createdAt: FIRST_COMMIT.getTime(),
    pushedAt: later.getTime(),
    updatedAt: edited.getTime(),
    headCommit: await host.git(['rev-parse', 'trunk'], { dir }),
    language: 'Go',
    license: 'MIT',
    topics: [],
    archived: false,
    disabled: false,
    isTemplate: false,
    templateRepository: null,
    forkOf: null,
    hasIssues: false,
    hasProjects: false,
    hasWiki: false,
    hasPages: false,
    hasDownloads: false,
    allowRebaseMerge: true,
    allowSquashMerge: true,
    allowMergeCommit: true,
    deleteBranchOnMerge: false,
    collaborators: [],
    mirrorOf: null,
  } satisfies SourceMetadata)
})

test('a description behind a link, or the default of git init, counts as empty', async () => {
  const linked = await host.repository(nextName(), {
    config: { 'gitweb.description': 'from gitweb' },
  })
  await symlink('/etc/passwd', join(linked, 'description'))
  assert.equal((await metadataOf(linked)).description, 'from gitweb')
  const stock = host.path(nextName())
  await host.git(['init', '--quiet', '--bare', stock])
  await writeFile(
    join(stock, 'description'),
    "Unnamed repository; edit this file 'description' to name the repository.\n",
  )
  assert.equal((await metadataOf(stock)).description, '')
})

test('an empty repository was created when its directory was', async () => {
  const dir = await host.repository(nextName(), { branch: 'trunk' })
  const { defaultBranch, createdAt, pushedAt, headCommit, sizeKib } = await metadataOf(dir)
  const born = Math.floor((await lstat(dir)).birthtimeMs)
  assert.deepEqual([createdAt, pushedAt], [born, born])
  assert.deepEqual([defaultBranch, headCommit, sizeKib], ['trunk', null, 0])
})

test('HEAD may name a missing branch beside others', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await host.git(['symbolic-ref', 'HEAD', 'refs/heads/gone'], { dir })
  const metadata = await metadataOf(dir)
  assert.deepEqual(
    [metadata.defaultBranch, metadata.headCommit, metadata.language],
    ['gone', null, null],
  )
  assert.equal(metadata.pushedAt, FIRST_COMMIT.getTime())
})

test('HEAD may name a commit, be a link, or be invalid', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' }, branch: 'aaa' })
  const first = await host.git(['rev-parse', 'aaa'], { dir })
  await host.commit(dir, { 'a.py': 'b' }, { branch: 'main' })
  await host.git(['branch', 'zzz', first], { dir })
  await writeFile(join(dir, 'HEAD'), `${first}\n`)
  const detached = await metadataOf(dir)
  assert.deepEqual([detached.defaultBranch, detached.headCommit], ['aaa', first])
  await host.git(['branch', '-D', 'zzz'], { dir })
  await host.git(['branch', '-f', 'aaa', 'main'], { dir })
  assert.equal((await metadataOf(dir)).defaultBranch, 'main')
  await rm(join(dir, 'HEAD'))
  await symlink('refs/heads/aaa', join(dir, 'HEAD'))
  assert.equal((await metadataOf(dir)).defaultBranch, 'aaa')
  await rm(join(dir, 'HEAD'))
  await writeFile(join(dir, 'HEAD'), 'nonsense\n')
  await assertUnreadable(dir, /HEAD names neither/)
})

test('tags may point at trees and blobs', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await host.git(['tag', 'tree', 'main^{tree}'], { dir })
  await host.git(['tag', '-m', 'a blob', 'blob', 'main:a.py'], { dir })
  assert.equal((await metadataOf(dir)).pushedAt, FIRST_COMMIT.getTime())
})

test('thousands of refs, packed and loose', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  const newest = new Date('2023-03-03T03:03:03Z')
  const oid = await host.commit(dir, { 'a.py': 'b' }, { branch: 'new', at: newest })
  const refs = Array.from({ length: 5000 }, (_, n) => `create refs/heads/b${n} ${oid}\n`)
  await host.git(['update-ref', '--stdin'], { dir, input: refs.join('') })
  await host.git(['pack-refs', '--all'], { dir })
  await host.commit(dir, { 'a.py': 'c' }, { branch: 'loose' })
  const metadata = await metadataOf(dir)
  assert.deepEqual([metadata.defaultBranch, metadata.pushedAt], ['main', newest.getTime()])
})

test('a repository with SHA-256 objects', async () => {
  const dir = await host.repository(nextName(), {
    files: { 'a.py': 'a', LICENSE: MIT },
    objectFormat: 'sha256',
  })
  const metadata = await metadataOf(dir)
  assert.match(metadata.headCommit ?? '', /^[0-9a-f]{64}$/)
  assert.deepEqual([metadata.language, metadata.license], ['Python', 'MIT'])
})

test('the licence is found under its usual names in the root directory', async () => {
  const text = (id: string) => licenses[id]!.licenseText
  const lesser = text('LGPL-3.0').split(/^GNU GENERAL PUBLIC LICENSE/m)[0]!
  for (const [files, license] of [
    [{ 'LICENSE.md': MIT }, 'MIT'],
    [{ licence: text('ISC') }, 'ISC'],
    [{ UNLICENSE: text('Unlicense') }, 'Unlicense'],
    [{ COPYING: text('GPL-3.0'), 'COPYING.LESSER': lesser }, 'LGPL-3.0'],
    [{ COPYING: text('GPL-2.0'), 'LICENSE.txt': 'see COPYING' }, 'GPL-2.0'],
    [{ 'LICENSE-APACHE': text('Apache-2.0'), 'LICENSE-MIT': MIT }, 'Apache-2.0'],
    [{ 'deep/LICENSE': MIT, 'LICENSES.md': MIT }, null],
    [{ LICENSE: MIT.repeat(200) }, null],
  ] as const) {
    const dir = await host.repository(nextName(), { files })
    assert.equal((await metadataOf(dir)).license, license, Object.keys(files).join(', '))
  }
})

test('a mirror has the URL of its source without credentials; a repository that is only pushed to is not a mirror', async () => {
  const mirror = await host.repository(nextName(), {
    config: {
      'remote.origin.url': 'https://ada:secret@example.com/a.git',
      'remote.origin.fetch': '+refs/*:refs/*',
      'remote.origin.mirror': 'true',
    },
  })
  assert.equal((await metadataOf(mirror)).mirrorOf, 'https://example.com/a.git')
  const pushed = await host.repository(nextName(), {
    config: { 'remote.b.url': 'https://example.com/b.git', 'remote.b.mirror': 'true' },
  })
  assert.equal((await metadataOf(pushed)).mirrorOf, null)
})

test('commits with impossible times do not give impossible dates', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' }, at: new Date(0) })
  const far = new Date(1e14)
  await host.commit(dir, { 'a.py': 'b' }, { branch: 'far', at: far })
  const metadata = await metadataOf(dir)
  assert.ok(Number.isFinite(metadata.createdAt) && metadata.createdAt > 0)
  assert.equal(new Date(metadata.pushedAt).toISOString().length, 24)
})

test('commit times that are negative or too large are ignored', async () => {
  for (const seconds of ['-5', '99999999999999999999', '300000000000']) {
    const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
    const { tree, writeCommit, writeRef } = looseObjects(dir)
    const who = `Ada <ada@example.com> ${seconds} +0000`
    const oid = writeCommit({ tree: tree({}), who, message: 'absurd' })
    writeRef('refs/heads/absurd', oid)
    const { createdAt, pushedAt } = await metadataOf(dir)
    assert.deepEqual([createdAt, pushedAt], [FIRST_COMMIT.getTime(), FIRST_COMMIT.getTime()])
    writeRef('refs/heads/main', oid)
    const born = Math.floor((await lstat(dir)).birthtimeMs)
    assert.equal((await metadataOf(dir)).pushedAt, born, seconds)
  }
})

test('an ordinary repository, loose or packed, needs no git process', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a', LICENSE: MIT } })
  const counted = countingGit(host.godwitGit)
  const metadata = await metadataOf(dir, undefined, counted.git)
  assert.deepEqual([metadata.language, metadata.license], ['Python', 'MIT'])
  await host.git(['gc', '--quiet'], { dir })
  const packed = await metadataOf(dir, undefined, counted.git)
  assert.deepEqual(
    [packed.language, packed.license, packed.createdAt],
    ['Python', 'MIT', metadata.createdAt],
  )
  await metadataOf(await host.repository(nextName()), undefined, counted.git)
  assert.equal(counted.started(), 0)
})

test('when an operator states one of language and licence later, the other is read from the tree', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a', LICENSE: MIT } })
  const known = await metadataOf(dir)
  await host.git(['config', '--file', join(dir, 'config'), 'godwit.license', 'ISC'])
  const metadata = await metadataOf(dir, known)
  assert.deepEqual(
    [metadata.language, metadata.license, metadata.headCommit],
    ['Python', 'ISC', null],
  )
})

test('the directory may belong to another user', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can give files away')
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a', LICENSE: MIT } })
  execFileSync('chown', ['-R', '65534:65534', dir])
  const metadata = await metadataOf(dir)
  assert.deepEqual([metadata.language, metadata.license], ['Python', 'MIT'])
})

function countingGit(real: Git): { git: Git; started: () => number } {
  let started = 0
  const counted =
    <A extends unknown[], R>(act: (...args: A) => R) =>
    (...args: A) => {
      started++
      return act(...args)
    }
  const git = { run: counted(real.run), text: counted(real.text), start: counted(real.start) }
  return { git, started: () => started }
}
