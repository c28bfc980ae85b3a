import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  commit,
  commitZeros,
  incompressible,
  initBare,
  makeWiki,
  git as plainGit,
  UNUSUAL_REPOSITORIES,
} from '../../../../test/support/sample-repositories.ts'
import { signal, snapshotScene } from '../../../../test/support/snapshot-scene.ts'
import type { RepositoryLocation } from '../snapshot.ts'
import { exceededLimits, GITHUB_LIMITS } from './importer-limits.ts'
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

test('a symbolic ref to a ref that does not exist is named in a warning', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  commit(here.dir, 'refs/heads/main', 'one')
  plainGit(here.dir, ['symbolic-ref', 'refs/heads/latest', 'refs/heads/main'])
  assert.equal(await warningOf(here), null)
  plainGit(here.dir, ['symbolic-ref', 'refs/heads/old', 'refs/heads/gone'])
  assert.equal(
    await warningOf(here),
    'symbolic refs to missing refs are not exported: refs/heads/old',
  )
})

test('a symbolic ref is followed over as many others as git follows', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  commit(here.dir, 'refs/heads/c0', 'one')
  for (const n of [1, 2, 3, 4])
    plainGit(here.dir, ['symbolic-ref', `refs/heads/c${n}`, `refs/heads/c${n - 1}`])
  assert.equal(await warningOf(here), null)
  plainGit(here.dir, ['symbolic-ref', 'refs/heads/c5', 'refs/heads/c4'])
  assert.doesNotMatch(plainGit(here.dir, ['for-each-ref', '--format=%(refname)']), /c5/)
  assert.equal(
    await warningOf(here),
    'symbolic refs to missing refs are not exported: refs/heads/c5',
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

const MIB = 2 ** 20

test("files beyond GitHub's limits are named with path and commit, in all refs and in the wiki", async (t) => {
  const within = snapshotScene(t)
  initBare(within.dir)
  commitZeros(within.dir, 'refs/heads/main', 'exactly.bin', 100 * MIB)
  assert.equal(await warningOf(within), null)

  const here = snapshotScene(t)
  initBare(here.dir)
  const wikiDir = here.dir.replace('.git', '.wiki.git')
  makeWiki(wikiDir)
  const refused = commitZeros(here.dir, 'refs/heads/main', 'data/größer als 400.bin', 400 * MIB + 1)
  // The file is only in the history of the branch.
  commit(here.dir, 'refs/heads/main', 'removed')
  const rejected = commitZeros(here.dir, 'refs/pull/7/head', 'large file.bin', 100 * MIB + 1)
  const ofWiki = commitZeros(wikiDir, 'refs/heads/master', 'video.mp4', 100 * MIB + 1)
  assert.deepEqual((await warningOf(here, { wikiDir }))?.split('; '), [
    `GitHub's importers refuse files of more than 400 MiB: data/größer als 400.bin in ${refused} (419 MB)`,
    `GitHub rejects files of more than 100 MiB after an import: large file.bin in ${rejected} (105 MB)`,
    `wiki: GitHub rejects files of more than 100 MiB after an import: video.mp4 in ${ofWiki} (105 MB)`,
  ])
})

test('a large file of a lender is not attributed to a repository that does not use it', async (t) => {
  const here = snapshotScene(t)
  const lender = join(here.root, 'lender.git')
  initBare(lender)
  const used = commitZeros(lender, 'refs/heads/main', 'used.bin', 100 * MIB + 1)
  commitZeros(lender, 'refs/heads/main', 'other.bin', 101 * MIB)
  initBare(here.dir)
  await writeFile(join(here.dir, 'objects/info/alternates'), `${lender}/objects\n`)
  assert.equal(await warningOf(here), null)
  await writeRef(here.dir, 'refs/heads/main', used)
  const text = 'GitHub rejects files of more than 100 MiB after an import'
  assert.equal(await warningOf(here), `${text}: used.bin in ${used} (105 MB)`)
})

test('commits and pushes are measured as they are stored; names by their bytes', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  const first = commit(here.dir, 'refs/heads/main', incompressible(3000))
  // The second commit adds a tree alone, and the third too little.
  for (const text of ['small', 'smaller']) commit(here.dir, 'refs/heads/main', text)
  const long = `refs/pull/${'ä'.repeat(40)}/${'b'.repeat(164)}`
  await writeRef(here.dir, long, first)
  const warnings = async (push = GITHUB_LIMITS.push) => {
    const { repository } = await here.examineRepository()
    const limits = { ...GITHUB_LIMITS, push }
    return exceededLimits(repository, { git: here.git, dir: here.dir, signal, limits })
  }
  assert.deepEqual(await warnings(), [])
  await writeRef(here.dir, `${long}c`, first)
  assert.deepEqual(await warnings(2000), [
    `GitHub's importers refuse names of more than 255 bytes: refs/pull/${'ä'.repeat(40)}/${'b'.repeat(9)}… (256 bytes)`,
    `GitHub's importers refuse commits that add more than ${2000 / 2 ** 30} GiB: ${first} (4.7 kB)`,
    `GitHub refuses pushes of more than ${2000 / 2 ** 30} GiB: import the repository, or push its history in parts: 5.2 kB`,
  ])
})
