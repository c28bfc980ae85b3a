import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { commit, git, initBare } from '../../../../test/support/sample-repositories.ts'
import {
  type ExamineOptions,
  signal,
  snapshotScene,
} from '../../../../test/support/snapshot-scene.ts'
import { SharedLfs } from './lfs-objects.ts'
import { parsePointer } from './lfs-pointers.ts'
import { warningOfExamination } from './snapshot-warning.ts'

const oidOf = (content: string) => createHash('sha256').update(content).digest('hex')

function pointerTo(content: string, size = content.length): string {
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(content)}\nsize ${size}\n`
}

async function put(folder: string, content: string, name = oidOf(content)): Promise<string> {
  const oid = oidOf(content)
  const path = join(folder, oid.slice(0, 2), oid.slice(2, 4), name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
  return path
}

/** Omits the warnings about importers. */
function ofPointers(warning: string | null): string | null {
  const lines = warning?.split('; ').filter((line) => /^\d+ LFS objects? /.test(line)) ?? []
  return lines.length === 0 ? null : lines.join('; ')
}

function lfsScene(t: TestContext, format = 'sha1') {
  const here = snapshotScene(t)
  initBare(here.dir, format)

  /** Returns the warning, and asserts that an export and a preflight give the same. */
  async function warning(change?: ExamineOptions): Promise<string | null> {
    const snapshot = await here.take(change)
    try {
      for await (const entry of snapshot.entries()) for await (const _ of entry.open());
      const report = await snapshot.report()
      const dependencies = { git: here.git, signal }
      assert.equal(await warningOfExamination(snapshot.examination, dependencies), report.warning)
      return ofPointers(report.warning)
    } finally {
      await snapshot.remove()
    }
  }
  return { ...here, warning }
}

for (const format of ['sha1', 'sha256'])
  test(`missing LFS objects are counted and named, loose or packed (${format})`, async (t) => {
    const { dir, warning } = lfsScene(t, format)
    commit(dir, 'refs/heads/main', 'no pointer')
    assert.equal(await warning(), null)
    commit(dir, 'refs/heads/main', pointerTo('gone from every head'))
    commit(dir, 'refs/heads/main', pointerTo('one'))
    commit(dir, 'refs/heads/other', pointerTo('one'))
    assert.equal(await warning(), `1 LFS object is missing: ${oidOf('one')}`)
    for (const text of ['two', 'three', 'four']) {
      const oid = commit(dir, `refs/heads/${text}`, pointerTo(text))
      if (text !== 'four') continue
      git(dir, ['tag', '-a', '-m', text, 'v4', oid])
      git(dir, ['update-ref', '-d', 'refs/heads/four'])
    }
    const oids = ['one', 'two', 'three', 'four'].map(oidOf).sort()
    const allMissing = `4 LFS objects are missing: ${oids.slice(0, 3).join(', ')} and 1 more`
    assert.equal(await warning(), allMissing)
    git(dir, ['repack', '-adfq'])
    assert.equal(await warning(), allMissing)
    for (const text of ['one', 'two', 'three']) await put(join(dir, 'lfs/objects'), text)
    assert.equal(await warning(), `1 LFS object is missing: ${oidOf('four')}`)
    await put(join(dir, 'lfs/objects'), 'four')
    assert.equal(await warning(), null)
  })

test('a pointer with another size than its object is reported', async (t) => {
  const { dir, warning } = lfsScene(t)
  commit(dir, 'refs/heads/main', pointerTo('content', 99))
  await put(join(dir, 'lfs/objects'), 'content')
  assert.equal(
    await warning(),
    `1 LFS object differs in size from its pointer: ${oidOf('content')}`,
  )
})

test('missing LFS objects of a wiki are reported', async (t) => {
  const { dir, warning } = lfsScene(t)
  const wikiDir = dir.replace(/\.git$/, '.wiki.git')
  initBare(wikiDir)
  commit(wikiDir, 'refs/heads/main', pointerTo('picture'))
  assert.equal(await warning({ wikiDir }), `1 LFS object is missing: ${oidOf('picture')}`)
})

test('a pointer among thousands of small files is found with git', async (t) => {
  const { dir, warning } = lfsScene(t)
  const files = Array.from({ length: 11_000 }, (_, n) => {
    const text = `${n} ${oidOf(String(n))} ${'.'.repeat(60)}`
    return `M 100644 inline small/${n}\ndata ${text.length}\n${text}\n`
  })
  const start = 'commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 1\nx\n'
  // Finding deltas would take git longer than the rest of this test.
  const plainly = ['-c', 'core.compression=0', '-c', 'pack.window=0']
  git(dir, [...plainly, 'fast-import', '--quiet', '--depth=0'], [start, ...files].join(''))
  assert.equal(await warning(), null)
  commit(dir, 'refs/heads/lfs', pointerTo('one'))
  git(dir, [...plainly, 'repack', '-adq'])
  assert.equal(await warning(), `1 LFS object is missing: ${oidOf('one')}`)
})

test('lfs.storage is followed only within the repository', async (t) => {
  const { root, dir, writeOut, warning } = lfsScene(t)
  commit(dir, 'refs/heads/main', pointerTo('one'))
  const missing = `1 LFS object is missing: ${oidOf('one')}`
  await put(join(dir, 'large/files/objects'), 'one')
  assert.equal(await warning(), missing)
  git(dir, ['config', 'lfs.storage', 'large/files'])
  assert.equal(await warning(), null)
  const path = `lfs/objects/${oidOf('one').slice(0, 2)}/${oidOf('one').slice(2, 4)}/${oidOf('one')}`
  const out = await writeOut()
  assert.equal(readFileSync(join(out, 'Engine.git', path), 'utf8'), 'one')

  await rename(join(dir, 'large/files'), join(root, 'elsewhere'))
  for (const storage of [join(root, 'elsewhere'), '../../../elsewhere', '.', '..']) {
    git(dir, ['config', 'lfs.storage', storage])
    assert.equal(await warning(), missing, storage)
  }
  git(dir, ['config', 'lfs.storage', 'large/files'])
  await symlink(join(root, 'elsewhere'), join(dir, 'large/files'))
  await assert.rejects(warning, /^Unsupported: Ada\/Engine: large\/files is a symbolic link$/)
})

test('LFS objects that the repository lacks are taken from the shared directory, in either layout', async (t) => {
  const { root, dir, examineRepository, writeOut, warning } = lfsScene(t)
  for (const text of ['own', 'one', 'two', 'three', 'four', 'five'])
    commit(dir, `refs/heads/${text}`, pointerTo(text))
  const shared = join(root, 'shared')
  await put(join(dir, 'lfs/objects'), 'own')
  await put(shared, 'one')
  await put(shared, 'two', oidOf('two').slice(4))
  await put(shared, 'of somebody else')
  const sharedLfs = new SharedLfs(shared)
  const dependencies = { sharedLfs }
  const missing = ['three', 'four', 'five'].map(oidOf).sort()
  assert.equal(await warning(dependencies), `3 LFS objects are missing: ${missing.join(', ')}`)

  // A link, or a file of another size, is not the object.
  const before = (await examineRepository(dependencies)).fingerprint
  const elsewhere = await put(join(root, 'elsewhere'), 'three')
  await rm(await put(shared, 'three'))
  await symlink(
    elsewhere,
    join(shared, oidOf('three').slice(0, 2), oidOf('three').slice(2, 4), oidOf('three')),
  )
  await writeFile(await put(shared, 'four'), 'of another size')
  assert.equal((await examineRepository(dependencies)).fingerprint, before)
  await put(shared, 'five')
  const { fingerprint, repository } = await examineRepository(dependencies)
  assert.notEqual(fingerprint, before)
  assert.equal(
    fingerprint,
    (await examineRepository({ sharedLfs: new SharedLfs(shared) })).fingerprint,
  )
  assert.equal(repository.lfsObjects.length, 4)

  const out = join(await writeOut(dependencies), 'Engine.git/lfs/objects')
  for (const text of ['own', 'one', 'two', 'five']) {
    const oid = oidOf(text)
    assert.equal(readFileSync(join(out, oid.slice(0, 2), oid.slice(2, 4), oid), 'utf8'), text)
  }
  const others = oidOf('of somebody else')
  assert.ok(!existsSync(join(out, others.slice(0, 2), others.slice(2, 4), others)))
})

test('an lfs.storage within the shared directory is searched too, and its objects are checked', async (t) => {
  const { root, dir, check, warning } = lfsScene(t)
  const shared = join(root, 'shared')
  commit(dir, 'refs/heads/main', pointerTo('one'))
  git(dir, ['config', 'lfs.storage', join(shared, 'engine')])
  const path = await put(join(shared, 'engine/objects'), 'one')
  const sharedLfs = new SharedLfs(shared)
  assert.equal(await warning({ sharedLfs }), null)
  assert.match(String(await warning()), /^1 LFS object is missing/)
  await writeFile(path, 'eno')
  assert.match(
    String((await check({ sharedLfs })).bytes),
    /the content does not match its LFS oid$/,
  )
})

test('pointers are recognised as git-lfs does', () => {
  const oid = 'a'.repeat(64)
  const found = { oid, size: 5 }
  const v1 = 'version https://git-lfs.github.com/spec/v1\n'
  assert.deepEqual(parsePointer(`${v1}oid sha256:${oid}\nsize 5\n`), found)
  assert.deepEqual(parsePointer(`${v1}oid sha256:${oid}\nsize 5`), found)
  assert.deepEqual(
    parsePointer(`${v1}ext-0-case sha256:${oid}\noid sha256:${oid}\nsize 5\n`),
    found,
  )
  assert.deepEqual(
    parsePointer(`version https://hawser.github.com/spec/v1\noid sha256:${oid}\nsize 5\n`),
    found,
  )
  assert.equal(parsePointer(`oid sha256:${oid}\nsize 5\n`), undefined)
  assert.equal(parsePointer(`${v1}oid sha256:${oid.slice(1)}\nsize 5\n`), undefined)
  assert.equal(parsePointer('version 2 of this text\n'), undefined)
})
