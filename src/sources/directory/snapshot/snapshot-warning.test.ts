import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  commit,
  initBare,
  makeWiki,
  git as plainGit,
  UNUSUAL_REPOSITORIES,
} from '../../../../test/support/sample-repositories.ts'
import { signal, snapshotScene } from '../../../../test/support/snapshot-scene.ts'
import type { RepositoryLocation } from '../../snapshot.ts'
import { warningOfExamination } from './snapshot-warning.ts'

/** Returns the warning, and asserts that an export and a preflight give the same. */
async function warningOf(
  here: ReturnType<typeof snapshotScene>,
  change?: Partial<RepositoryLocation>,
) {
  const snapshot = await here.take(change)
  for await (const entry of snapshot.entries()) for await (const _ of entry.open());
  const { warning } = await snapshot.report()
  const { examination } = snapshot
  assert.equal(await warningOfExamination(examination, { git: here.git, signal }), warning)
  await snapshot.remove()
  return warning
}

test('branches and tags of 40 hex digits are named in a warning; other names are not', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  const oid = commit(here.dir, 'refs/heads/main', 'one')
  const hex = 'deadbeef'.repeat(5)
  for (const name of [`heads/x/${hex}`, `heads/${hex.slice(1)}`, `heads/${hex}0`, `pull/${hex}`])
    await writeRef(here.dir, `refs/${name}`, oid)
  assert.equal(await warningOf(here), null)
  await writeRef(here.dir, `refs/heads/${hex}`, oid)
  for (const digit of ['1', '2', 'A'])
    await writeRef(here.dir, `refs/tags/${digit.repeat(40)}`, oid)
  const names = `refs/heads/${hex}, refs/tags/${'1'.repeat(40)}, refs/tags/${'2'.repeat(40)}`
  assert.equal(
    await warningOf(here),
    `GitHub's importers refuse names of 40 hex digits: ${names} and 1 more`,
  )
})

test('SHA-256 and LFS objects are in the warning, also those of a wiki', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir, 'sha256')
  commit(here.dir, 'refs/heads/main', 'one')
  const sha256 = "GitHub's importers do not take repositories with SHA-256 objects"
  assert.equal(await warningOf(here), sha256)

  const other = snapshotScene(t)
  UNUSUAL_REPOSITORIES['LFS objects'](other.dir)
  const lfs = "GitHub's importers do not take LFS objects: push 1 LFS object after the import"
  assert.equal((await warningOf(other))?.split('; ').at(-1), lfs)

  const third = snapshotScene(t)
  initBare(third.dir)
  const wikiDir = third.dir.replace('.git', '.wiki.git')
  makeWiki(wikiDir)
  assert.equal(await warningOf(third, { wikiDir }), null)
  const oid = plainGit(wikiDir, ['rev-parse', 'HEAD'])
  await writeRef(wikiDir, `refs/heads/${'a'.repeat(40)}`, oid)
  assert.match(String(await warningOf(third, { wikiDir })), /names of 40 hex digits/)
})

test('attributes that are not exported are in the warning', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  await mkdir(join(here.dir, 'info'), { recursive: true })
  await symlink('/etc/hostname', join(here.dir, 'info/attributes'))
  assert.equal(await warningOf(here), 'info/attributes is not a regular file: not exported')
})

/** Newer versions of git refuse to create such a branch; older ones and other programs do not. */
async function writeRef(dir: string, name: string, oid: string): Promise<void> {
  await mkdir(join(dir, name, '..'), { recursive: true })
  await writeFile(join(dir, name), `${oid}\n`)
}
