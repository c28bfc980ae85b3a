import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { commit, initBare, git as plainGit } from '../../../../test/support/sample-repositories.ts'
import { signal, snapshotScene } from '../../../../test/support/snapshot-scene.ts'
import type { Git } from '../git.ts'
import { newestCommit } from './small-repository.ts'

/** Returns the newest commit, and asserts that reading files and git give the same. */
async function newestOf(
  t: TestContext,
  format: 'sha1' | 'sha256',
  make: (dir: string) => string[],
) {
  const { dir, git } = snapshotScene(t)
  initBare(dir, format)
  const tips = make(dir)
  const named = { dir, objectFormat: format, tips }
  const noGit: Git = {
    run: () => assert.fail('git was run'),
    text: () => assert.fail('git was run'),
    start: () => assert.fail('git was run'),
  }
  const own = await newestCommit(named, noGit, signal)
  const many = Array.from({ length: 1001 }, () => tips).flat()
  assert.equal(await newestCommit({ ...named, tips: many }, git, signal), own)
  return { own, git, named }
}

const LATE = '1900000000'

for (const format of ['sha1', 'sha256'] as const)
  test(`the newest commit is found in loose objects, packs and behind tags (${format})`, async (t) => {
    const { own } = await newestOf(t, format, (at) => {
      const one = commit(at, 'refs/heads/a', 'one')
      const tree = plainGit(at, ['rev-parse', `${one}^{tree}`])
      const late = `tree ${tree}\nauthor A <a@b> 5 +0000\ncommitter A <a@b> ${LATE} +0000\n\nx\n`
      const two = plainGit(at, ['hash-object', '-t', 'commit', '-w', '--stdin'], late)
      plainGit(at, ['tag', '-a', '-m', 't', 't1', two])
      plainGit(at, ['tag', '-a', '-m', 't', 't2', 't1'])
      plainGit(at, ['repack', '-adq'])
      const blob = plainGit(at, ['hash-object', '-w', '--stdin'], 'no commit')
      const three = commit(at, 'refs/heads/c', 'three')
      return [one, plainGit(at, ['rev-parse', 't2']), blob, three]
    })
    assert.equal(own, LATE)
  })

test('the newest commit is unknown without commits, and where an object is missing', async (t) => {
  const { own, named, git } = await newestOf(t, 'sha1', (dir) => [
    plainGit(dir, ['hash-object', '-w', '--stdin'], 'no commit'),
  ])
  assert.equal(own, undefined)
  assert.equal(await newestCommit({ ...named, tips: [] }, git, signal), undefined)
  assert.equal(await newestCommit({ ...named, tips: ['1'.repeat(40)] }, git, signal), undefined)
})
