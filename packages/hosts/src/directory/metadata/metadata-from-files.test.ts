import assert from 'node:assert/strict'
import { chmod, copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MIT, metadataScene } from '../../../../../test/support/metadata-scene.ts'
import { readSettings } from '../../../../git/src/files/repository-settings.ts'
import type { Git } from '../../../../git/src/git.ts'
import { readMetadataFromFiles } from './metadata-from-files.ts'
import { type GitMetadata, readMetadataWithGit } from './metadata-from-git.ts'

const { host, nextName } = await metadataScene()
after(() => host.remove())

const EVERYTHING = { oldestCommit: true, isTreeWanted: () => true }

async function readFiles(dir: string, git: Git = host.godwitGit): Promise<GitMetadata | undefined> {
  return readMetadataFromFiles(git, { dir }, await readSettings(git, dir), EVERYTHING)
}

/** Records which git commands are started. */
function recordingGit() {
  const started: string[] = []
  const git: Git = {
    ...host.godwitGit,
    start(args, call) {
      started.push(args[0]!)
      return host.godwitGit.start(args, call)
    },
  }
  return { git, started }
}

/** Asserts that the files give the same metadata as git, and that reading them runs only these git commands. */
async function assertSameMetadata(
  dir: string,
  commands: readonly string[] = [],
): Promise<GitMetadata> {
  const { git, started } = recordingGit()
  const metadata = await readFiles(dir, git)
  assert.ok(metadata, 'the files were not read')
  assert.deepEqual(started, commands)
  assert.deepEqual(metadata, await readMetadataWithGit(host.godwitGit, { dir }, EVERYTHING))
  return metadata
}

const at = (second: number) => new Date(1_500_000_000_000 + second * 1000)

test('merges, several roots and tags of all kinds', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' }, at: at(50) })
  const side = await host.commit(dir, { 'b.py': 'b' }, { branch: 'side', at: at(10) })
  const main = await host.git(['rev-parse', 'main'], { dir })
  const tree = await host.git(['rev-parse', 'main^{tree}'], { dir })
  const env = ['-c', 'user.name=A', '-c', 'user.email=a@example.com']
  const merged = await host.git(
    [...env, 'commit-tree', tree, '-p', main, '-p', side, '-m', 'merged'],
    { dir },
  )
  await host.git(['update-ref', 'refs/heads/main', merged], { dir })
  const root = await host.git([...env, 'commit-tree', tree, '-m', 'another root'], { dir })
  await host.git(['update-ref', 'refs/notes/other', root], { dir })
  await host.git([...env, 'tag', '-m', 'x', 'signed', main], { dir })
  await host.git([...env, 'tag', '-m', 'x', 'of-a-tag', 'signed'], { dir })
  await host.git(['tag', 'tree', tree], { dir })
  await host.git([...env, 'tag', '-m', 'x', 'blob', 'side:b.py'], { dir })
  await host.git(['symbolic-ref', 'refs/heads/link', 'refs/heads/side'], { dir })
  await host.git(['symbolic-ref', 'refs/heads/nowhere', 'refs/heads/gone'], { dir })
  await assertSameMetadata(dir)
  await host.git(['pack-refs', '--all'], { dir })
  await host.git(['gc', '--quiet'], { dir })
  const { oldest } = await assertSameMetadata(dir)
  assert.ok(oldest !== null && oldest <= at(50).getTime())
})

test('trees with directories, unusual names and a licence', async () => {
  const dir = await host.repository(nextName(), {
    files: {
      'LICENSE.md': MIT,
      'src/deep/er/a.py': 'a'.repeat(100),
      'src/b.rs': 'b'.repeat(50),
      'ünïcode name.c': 'c'.repeat(20),
      'vendor/x.js': 'x'.repeat(1000),
      'same/a.py': 'a'.repeat(100),
      empty: '',
    },
  })
  const { tree } = await assertSameMetadata(dir)
  assert.deepEqual(tree, { language: 'Python', license: 'MIT' })
})

test('HEAD at a commit, at a branch without commits, and an empty repository', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  const commit = await host.commit(dir, { 'a.py': 'b' }, { branch: 'side' })
  for (const oid of [commit, commit.toUpperCase()]) {
    await writeFile(join(dir, 'HEAD'), `${oid}\n`)
    assert.equal((await assertSameMetadata(dir)).refs.headCommit, commit)
  }
  await host.git(['update-ref', '-d', 'refs/heads/side'], { dir })
  await assertSameMetadata(dir)
  await host.git(['symbolic-ref', 'HEAD', 'refs/heads/gone'], { dir })
  await assertSameMetadata(dir)
  await assertSameMetadata(await host.repository(nextName()))
})

test('a default branch whose name contains or ends with a space of Unicode', async () => {
  for (const branch of ['voilà', 'a\u00a0b', '一\u3000']) {
    const dir = await host.repository(nextName())
    await host.commit(dir, { 'a.py': 'a' }, { branch })
    await host.git(['symbolic-ref', 'HEAD', `refs/heads/${branch}`], { dir })
    assert.equal((await assertSameMetadata(dir)).refs.defaultBranch, branch)
    await host.git(['pack-refs', '--all'], { dir })
    assert.equal((await assertSameMetadata(dir)).refs.defaultBranch, branch)
  }
})

test('SHA-256 objects', async () => {
  await assertSameMetadata(
    await host.repository(nextName(), {
      files: { 'a/b.py': 'a', LICENSE: MIT },
      objectFormat: 'sha256',
    }),
  )
})

test('git walks a long history', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  const commits = Array.from(
    { length: 1500 },
    (_, n) =>
      `commit refs/heads/long\ncommitter A <a@example.com> ${1_600_000_000 - n} +0000\ndata 1\nx\n\n`,
  )
  await host.git(['fast-import', '--quiet'], { dir, input: commits.join('') })
  await assertSameMetadata(dir, ['rev-list'])
})

test('damaged and unusual repositories are left to git', async () => {
  const broken = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await host.loseObjects(broken.slice(host.root.length + 1, -'.git'.length))
  assert.equal(await readFiles(broken), undefined)

  const emptied = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await host.git(['branch', 'side', 'main'], { dir: emptied })
  await writeFile(join(emptied, 'refs/heads/side'), '')
  assert.equal(await readFiles(emptied), undefined)

  const shallow = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await writeFile(
    join(shallow, 'shallow'),
    `${await host.git(['rev-parse', 'main'], { dir: shallow })}\n`,
  )
  assert.equal(await readFiles(shallow), undefined)

  const extended = await host.repository(nextName())
  await writeFile(
    join(extended, 'config'),
    '[core]\n\trepositoryformatversion = 1\n[extensions]\n\tunheardof = true\n',
  )
  assert.equal(await readFiles(extended), undefined)
})

test('deltas of every kind, in several packs beside loose objects', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a', LICENSE: MIT } })
  const text = (n: number) =>
    Array.from({ length: 400 }, (_, line) => `line ${line === n ? 'other' : line}`).join('\n')
  const folder = (n: number) =>
    Object.fromEntries(
      Array.from({ length: 60 }, (_, file) => [`src/${file}.py`, `${file}`]).concat([
        ['src/long.py', text(n)],
      ]),
    )
  for (let n = 0; n < 20; n++) await host.commit(dir, folder(n))
  for (const named of [[], ['-c', 'repack.useDeltaBaseOffset=false']]) {
    await host.git([...named, 'repack', '-adfq', '--depth=50', '--window=50'], { dir })
    await assertSameMetadata(dir)
  }
  await host.commit(dir, folder(21))
  await host.git(['repack', '-q'], { dir })
  await host.commit(dir, folder(22))
  await assertSameMetadata(dir)
})

test('an index of version 1', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a', 'b/c.py': 'c' } })
  await host.git(['-c', 'pack.indexVersion=1', 'repack', '-adq'], { dir })
  await assertSameMetadata(dir)
})

test('a pack with offsets in the table of large offsets', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a', 'b/c.py': 'c' } })
  await host.git(['repack', '-adq'], { dir })
  const folder = join(dir, 'objects/pack')
  const index = join(folder, (await readdir(folder)).find((name) => name.endsWith('.idx'))!)
  const pack = index.replace(/idx$/, 'pack')
  await rm(index)
  await host.git(['index-pack', '--index-version=2,0x40', '-o', index, pack], { dir })
  await assertSameMetadata(dir)
})

test('borrowed objects are left to git', async () => {
  const lender = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  const borrower = await host.repository(nextName())
  await writeFile(join(borrower, 'objects/info/alternates'), `${join(lender, 'objects')}\n`)
  const commit = await host.git(['rev-parse', 'main'], { dir: lender })
  await host.git(['update-ref', 'refs/heads/main', commit], { dir: borrower })
  assert.equal(await readFiles(borrower), undefined)
})

test('damaged objects are left to git', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  const other = await host.repository(nextName(), { files: { 'b.py': 'b' } })
  const [mine, theirs] = await Promise.all(
    [dir, other].map(async (each) => {
      const oid = await host.git(['rev-parse', 'main'], { dir: each })
      return join(each, 'objects', oid.slice(0, 2), oid.slice(2))
    }),
  )
  await rm(mine!)
  await copyFile(theirs!, mine!)
  assert.equal(await readFiles(dir), undefined)

  const packed = await host.repository(nextName(), { files: { 'a.py': 'a'.repeat(1000) } })
  await host.git(['repack', '-adq'], { dir: packed })
  const folder = join(packed, 'objects/pack')
  const pack = join(folder, (await readdir(folder)).find((name) => name.endsWith('.pack'))!)
  await chmod(pack, 0o644)
  const bytes = await readFile(pack)
  for (let cut = Math.floor(bytes.length / 2); cut > 0; cut = Math.floor(cut / 2)) {
    await writeFile(pack, bytes.subarray(0, cut))
    assert.equal(await readFiles(packed), undefined)
  }
})
