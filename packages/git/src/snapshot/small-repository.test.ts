import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  commit,
  git,
  incompressible,
  initBare,
  makeWiki,
  packedHistory,
} from '../../../../test/support/sample-repositories.ts'
import {
  packedAndLooseScene,
  signal,
  snapshotScene,
} from '../../../../test/support/snapshot-scene.ts'
import type { Git } from '../git.ts'
import type { Snapshot } from '../snapshot.ts'
import { readSmallRepository } from './small-repository.ts'
import { takeSmallSnapshot } from './take-snapshot.ts'

const fail = () => assert.fail('git was started')
const noGit: Git = { run: fail, text: fail, start: fail }

async function read(snapshot: Snapshot) {
  const verified = await snapshot.verify(undefined, signal)
  const entries: string[] = []
  for await (const { path, kind, open } of snapshot.entries())
    entries.push(
      `${kind} ${path} ${Buffer.concat(await Array.fromAsync(open())).toString('latin1')}`,
    )
  return { verified, entries, report: await snapshot.report() }
}

for (const format of ['sha1', 'sha256'])
  test(`a small repository is read without git, with the same result (${format})`, async (t) => {
    const here = snapshotScene(t)
    initBare(here.dir, format)
    packedHistory(here.dir, 'refs/heads/main', 20)
    const first = commit(here.dir, 'refs/heads/main', 'loose')
    const blob = git(here.dir, ['hash-object', '-w', '--stdin'], 'target')
    const tree = `120000 blob ${blob}\tlink\n160000 commit ${first}\tmodule\n`
    git(here.dir, ['update-ref', 'refs/tags/tree', git(here.dir, ['mktree', '--missing'], tree)])
    git(here.dir, ['tag', '-a', '-m', 'one', 'tag', 'main'])
    git(here.dir, ['tag', '-a', '-m', 'two', 'tag-of-a-tag', 'tag'])
    const wikiDir = here.dir.replace('.git', '.wiki.git')
    makeWiki(wikiDir)
    const examination = await here.examineRepository({ wikiDir })
    const small = await takeSmallSnapshot(examination, here.root, { git: noGit, signal })
    assert.deepEqual(here.leftovers(), [])
    const onDisk = await here.take({ wikiDir })
    assert.deepEqual(await read(small), await read(onDisk))
    await onDisk.remove()
  })

test('loose objects that are larger in a pack are read from memory', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  // What repeats is too far away for the window that Godwit deflates with.
  const text = incompressible(12_000).repeat(6)
  for (const end of ['a', 'b', 'c']) git(here.dir, ['hash-object', '-w', '--stdin'], text + end)
  const examination = await here.examineRepository()
  const small = await takeSmallSnapshot(examination, here.root, { git: noGit, signal })
  const onDisk = await here.take()
  assert.deepEqual(await read(small), await read(onDisk))
  await onDisk.remove()
})

test('a repository that lacks any object is left to git', async (t) => {
  const { dir, examineRepository } = snapshotScene(t)
  initBare(dir)
  commit(dir, 'refs/heads/main', 'one')
  commit(dir, 'refs/heads/main', 'two')
  git(dir, ['tag', '-a', '-m', 'tag', 'tag', 'main'])
  const { repository } = await examineRepository()
  assert.ok(await readSmallRepository(repository))
  assert.equal(repository.objectFiles.length, 7)
  for (const { path } of repository.objectFiles) {
    await rename(join(dir, path), join(dir, 'hidden'))
    assert.equal(await readSmallRepository((await examineRepository()).repository), undefined, path)
    await rename(join(dir, 'hidden'), join(dir, path))
  }
})

test('objects of other types than those that refer to them say are left to git', async (t) => {
  const { dir, examineRepository } = snapshotScene(t)
  initBare(dir)
  const first = commit(dir, 'refs/heads/main', 'one')
  const tree = git(dir, ['rev-parse', `${first}^{tree}`])
  const people = 'author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nmessage\n'
  const tagged = `type tree\ntag t\ntagger A <a@b> 1 +0000\n\nmessage\n`
  const unusual: [type: string, object: string][] = [
    ['commit', `tree ${first}\n${people}`],
    ['commit', `tree ${tree}\nparent ${tree}\n${people}`],
    ['commit', `tree ${tree}\nparent ${first.toUpperCase()}\n${people}`],
    ['tag', `object ${first}\n${tagged}`],
    ['tag', `\nobject ${tree}\n${tagged}`],
  ]
  for (const [type, object] of unusual) {
    const args = ['hash-object', '-w', '--literally', '--stdin', '-t', type]
    writeFileSync(join(dir, 'refs/heads/odd'), `${git(dir, args, object)}\n`)
    assert.equal(await readSmallRepository((await examineRepository()).repository), undefined)
  }
})

test('the search for LFS pointers runs git on a copy of what was read', async (t) => {
  const here = packedAndLooseScene(t)
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'1'.repeat(64)}\nsize 5\n`
  commit(here.dir, 'refs/heads/main', pointer)
  const dependencies = { git: here.git, signal }
  const small = await takeSmallSnapshot(await here.examineRepository(), here.root, dependencies)
  assert.deepEqual(here.leftovers(), [])
  await rename(here.dir, join(here.root, 'moved'))
  const { report } = await read(small)
  assert.deepEqual(report.missingLfs, [{ oid: '1'.repeat(64), size: 5 }])
  assert.deepEqual(here.leftovers(), [])
  assert.ok(readdirSync(here.root).includes('moved'))
})
