import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { appendFile, chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  commit,
  initBare,
  makeWiki,
  git as plainGit,
  UNUSUAL_REPOSITORIES,
} from '../../../../test/support/sample-repositories.ts'
import { signal, snapshotScene } from '../../../../test/support/snapshot-scene.ts'
import { Damaged, Unsupported } from '../files/repository-errors.ts'
import type { Git } from '../git.ts'
import { examine } from './examine.ts'

/** Makes a repository with one commit on main. */
function sceneWithCommit(t: TestContext) {
  const here = snapshotScene(t)
  initBare(here.dir)
  return { ...here, oid: commit(here.dir, 'refs/heads/main', 'one') }
}

test('refs are the same as in git, in the same order', async (t) => {
  for (const [kind, make] of Object.entries(UNUSUAL_REPOSITORIES)) {
    const { dir, examineRepository } = snapshotScene(t)
    make(dir)
    const { repository } = await examineRepository()
    const listed = plainGit(dir, ['for-each-ref', '--format=%(refname) %(objectname) %(symref)'])
    const plain = listed.split('\n').flatMap((line) => {
      const [name, oid, target] = line.split(' ')
      return name === '' ? [] : [target ? { name, target } : { name, oid }]
    })
    const resolved = repository.refs.filter(({ name }) => name !== 'refs/remotes/origin/HEAD')
    assert.deepEqual(resolved, plain, kind)
  }
})

test('the fingerprint changes with everything that determines the content, and with nothing else', async (t) => {
  const { root, dir, oid, examineRepository } = sceneWithCommit(t)
  const seen = new Set<string>()
  const assertFingerprint = async (what: string, isNew: boolean, change = {}) => {
    const { fingerprint } = await examineRepository(change)
    assert.match(fingerprint, /^[0-9a-f]{64}$/)
    assert.equal(!seen.has(fingerprint), isNew, what)
    seen.add(fingerprint)
  }
  await assertFingerprint('first examination', true)
  await assertFingerprint('second examination', false)
  await assertFingerprint('the case of the name', true, { fullName: 'ada/Engine' })
  plainGit(dir, ['update-ref', 'refs/heads/other', oid])
  await assertFingerprint('a ref', true)
  plainGit(dir, ['pack-refs', '--all'])
  await assertFingerprint('how refs are stored', false)
  plainGit(dir, ['symbolic-ref', 'HEAD', 'refs/heads/other'])
  await assertFingerprint('HEAD', true)
  plainGit(dir, ['hash-object', '-w', '--stdin'], 'reached by no ref')
  await assertFingerprint('a loose object', true)
  plainGit(dir, ['repack', '-adq'])
  await assertFingerprint('a pack', true)
  plainGit(dir, ['config', 'receive.hideRefs', 'refs/'])
  await assertFingerprint('config', false)
  plainGit(dir, ['config', 'receive.denyDeletes', 'true'])
  await assertFingerprint('what is refused of pushes', true)
  await mkdir(join(dir, 'info'), { recursive: true })
  await writeFile(join(dir, 'info/attributes'), '*.txt text\n')
  await assertFingerprint('attributes', true)
  await assertFingerprint('the origin', true, { origin: 'https://a.example.test/Ada/Engine.git' })
  await assertFingerprint('another origin', true, {
    origin: 'https://b.example.test/Ada/Engine.git',
  })
  await writeFile(join(dir, 'description'), 'Analytical\n')
  await assertFingerprint('the description', true)
  const lfs = join(dir, 'lfs/objects/ab/cd')
  await mkdir(lfs, { recursive: true })
  await writeFile(join(lfs, 'abcd'.padEnd(64, '0')), 'content')
  await assertFingerprint('an LFS object', true)
  const wikiDir = join(root, 'Ada/Engine.wiki.git')
  makeWiki(wikiDir)
  await assertFingerprint('a wiki', true, { wikiDir })
  commit(wikiDir, 'refs/heads/main', 'more')
  await assertFingerprint('a change in the wiki', true, { wikiDir })
})

test('an export of an older version has another fingerprint', async (t) => {
  const { oid, examineRepository } = sceneWithCommit(t)
  const { fingerprint, repository } = await examineRepository()
  const files = repository.objectFiles.map(({ path, size }) => [path, size])
  const refs = [['refs/heads/main', oid]]
  const content = ['sha1', 'ref: refs/heads/main', refs, repository.description, false, files, []]
  const older = [3, 'Ada/Engine', content, null]
  assert.notEqual(fingerprint, hash('sha256', JSON.stringify(older)))
})

test('bytes count objects and LFS objects', async (t) => {
  const { dir, examineRepository } = sceneWithCommit(t)
  const { bytes } = await examineRepository()
  const loose = readdirSync(join(dir, 'objects'), { recursive: true, encoding: 'utf8' })
    .map((path) => statSync(join(dir, 'objects', path)))
    .filter((entry) => entry.isFile())
  assert.equal(
    bytes,
    loose.reduce((sum, { size }) => sum + size, 0),
  )
  const lfs = join(dir, 'lfs/objects/ab/cd')
  await mkdir(lfs, { recursive: true })
  await writeFile(join(lfs, 'abcd'.padEnd(64, '0')), Buffer.alloc(1234))
  assert.equal((await examineRepository()).bytes, bytes + 1234)
})

const REFUSED: Record<string, [(dir: string, oid: string) => Promise<void>, RegExp]> = {
  shallow: [(dir, oid) => writeFile(join(dir, 'shallow'), `${oid}\n`), /shallow clone/],
  grafted: [(dir, oid) => writeFile(join(dir, 'info/grafts'), `${oid}\n`), /grafts/],
  'a promisor pack': [
    (dir) => writeFile(join(dir, `objects/pack/pack-${'1'.repeat(40)}.promisor`), ''),
    /partial clone/,
  ],
  'a promisor remote': [
    (dir) => appendFile(join(dir, 'config'), '[remote "origin"]\n\tpromisor\n'),
    /partial clone/,
  ],
  'a partial clone': [
    (dir) => appendFile(join(dir, 'config'), '[extensions]\n\tpartialClone = origin\n'),
    /partial clone/,
  ],
  reftable: [
    (dir) => appendFile(join(dir, 'config'), '[extensions]\n\trefStorage = reftable\n'),
    /refstorage = reftable is not supported/,
  ],
  'an unknown extension': [
    (dir) => appendFile(join(dir, 'config'), '[extensions]\n\ttimeTravel = on\n'),
    /timetravel = on is not supported/,
  ],
  'a format from the future': [
    (dir) => appendFile(join(dir, 'config'), '[core]\n\trepositoryformatversion = 2\n'),
    /version 2 is not supported/,
  ],
  'a ref outside the repository': [
    (dir) => symlink('/etc/hostname', join(dir, 'refs/heads/link')),
    /symbolic link/,
  ],
  'a pack behind a broken link': [
    async (dir) => {
      for (const end of ['idx', 'pack'])
        await symlink('/nonexistent', join(dir, `objects/pack/pack-${'1'.repeat(40)}.${end}`))
    },
    /objects\/pack\/pack-1+\.pack is a broken symbolic link$/,
  ],
}

for (const [kind, [change, reason]] of Object.entries(REFUSED))
  test(`${kind} is refused by name`, async (t) => {
    const { dir, oid, examineRepository, root } = sceneWithCommit(t)
    await change(dir, oid)
    await assert.rejects(examineRepository(), (error: Error) => {
      assert.ok(error instanceof Unsupported)
      assert.match(error.message, reason)
      assert.match(error.message, /^Ada\/Engine: /)
      assert.ok(!error.message.includes(root))
      return true
    })
  })

test('a program named in the config of a promisor source never runs', async (t) => {
  const { root, dir, examineRepository } = sceneWithCommit(t)
  const program = join(root, 'program')
  await writeFile(program, `#!/bin/sh\ntouch '${root}/ran'\n`)
  await chmod(program, 0o755)
  for (const [key, value] of [
    ['remote.origin.url', root],
    ['remote.origin.uploadpack', program],
    ['core.fsmonitor', program],
    ['core.sshCommand', program],
    ['remote.origin.promisor', 'true'],
  ] as const)
    plainGit(dir, ['config', key, value])
  await rm(join(dir, 'objects'), { recursive: true })
  await mkdir(join(dir, 'objects'))
  await assert.rejects(examineRepository(), Unsupported)
  assert.ok(!existsSync(join(root, 'ran')))
  // Plain git does run it, so its absence above is significant.
  assert.throws(() => plainGit(dir, ['rev-list', '--objects', '--all']))
  assert.ok(existsSync(join(root, 'ran')))
})

for (const [what, content] of [
  ['emptied by a crash', ''],
  ['of zeros', `${'0'.repeat(40)}\n`],
  ['with half a name', '1234abcd\n'],
  ['that leads out of refs', 'ref: ../../HEAD\n'],
] as const)
  test(`a ref ${what} is reported, not skipped`, async (t) => {
    const { dir, examineRepository } = sceneWithCommit(t)
    await writeFile(join(dir, 'refs/heads/wip'), content)
    await assert.rejects(
      examineRepository(),
      new Damaged('Ada/Engine', 'refs/heads/wip points to no object (broken ref)'),
    )
  })

for (const [what, change, reason] of [
  ['is truncated', (text: string) => text.slice(0, -1), 'unterminated line in packed-refs'],
  [
    'has half a peeled name',
    (text: string) => `${text}^12\n`,
    'unexpected line in packed-refs: ^12',
  ],
  [
    'has a comment between refs',
    (text: string) => `${text}#refs\n`,
    'unexpected line in packed-refs: #refs',
  ],
] as const)
  test(`a packed-refs file that ${what} is reported, as by git`, async (t) => {
    const { dir, examineRepository } = sceneWithCommit(t)
    plainGit(dir, ['tag', '-m', 'one', 'v1', 'main'])
    plainGit(dir, ['pack-refs', '--all'])
    await examineRepository()
    const file = join(dir, 'packed-refs')
    await writeFile(file, change(await readFile(file, 'utf8')))
    await assert.rejects(examineRepository(), new Damaged('Ada/Engine', reason))
    assert.throws(() => plainGit(dir, ['for-each-ref']), /fatal: (?:unterminated|unexpected) line/)
  })

test('object names in upper case are read, as by git', async (t) => {
  const { dir, examineRepository, oid } = sceneWithCommit(t)
  const upper = oid.toUpperCase()
  await writeFile(join(dir, 'HEAD'), `${upper}\n`)
  await writeFile(join(dir, 'refs/heads/loose'), `${upper}\n`)
  await writeFile(join(dir, 'packed-refs'), `${upper} refs/heads/packed\n`)
  const { head, refs } = (await examineRepository()).repository
  const names = ['loose', 'main', 'packed'].map((name) => `refs/heads/${name}`)
  assert.deepEqual(head, { oid })
  assert.deepEqual(
    refs,
    names.map((name) => ({ name, oid })),
  )
  const listed = plainGit(dir, ['for-each-ref', '--format=%(refname) %(objectname)'])
  assert.equal(listed, names.map((name) => `${name} ${oid}`).join('\n'))
})

test('a symbolic ref to HEAD has the value of HEAD', async (t) => {
  const { dir, examineRepository, oid } = sceneWithCommit(t)
  plainGit(dir, ['symbolic-ref', 'refs/heads/alias', 'HEAD'])
  const name = 'refs/heads/alias'
  const alias = async () => (await examineRepository()).repository.refs.find((r) => r.name === name)
  assert.deepEqual(await alias(), { name, target: 'refs/heads/main' })
  await writeFile(join(dir, 'HEAD'), `${oid}\n`)
  assert.deepEqual(await alias(), { name, oid })
  await writeFile(join(dir, 'HEAD'), 'ref: HEAD\n')
  await assert.rejects(alias(), /HEAD points to no object/)
})

test('a symbolic ref may be a symbolic link, as old versions of git wrote it', async (t) => {
  const { dir, examineRepository } = sceneWithCommit(t)
  await rm(join(dir, 'HEAD'))
  await symlink('refs/heads/main', join(dir, 'HEAD'))
  assert.deepEqual((await examineRepository()).repository.head, { target: 'refs/heads/main' })
})

test('files that are not refs to git are ignored', async (t) => {
  const { dir, examineRepository, oid } = sceneWithCommit(t)
  for (const name of ['main.lock', '.hidden', 'conflicted copy', 'a..b', 'end.', 'what?'])
    await writeFile(join(dir, 'refs/heads', name), `${oid}\n`)
  assert.equal(readdirSync(join(dir, 'refs/heads')).length, 7)
  assert.deepEqual((await examineRepository()).repository.refs, [{ name: 'refs/heads/main', oid }])
})

test('a plain config is read without git', async (t) => {
  const { dir } = snapshotScene(t)
  initBare(dir, 'sha256')
  commit(dir, 'refs/heads/main', 'one')
  plainGit(dir, ['config', 'lfs.storage', 'large'])
  const failOnGit = () => assert.fail('git was started')
  const noGit = { start: failOnGit, run: failOnGit, text: failOnGit } as unknown as Git
  const found = await examine({ dir, fullName: 'Ada/Engine' }, { git: noGit, signal })
  assert.equal(found.repository.objectFormat, 'sha256')
})

test('a missing repository and an invalid config give messages for a user', async (t) => {
  const { dir, examineRepository } = sceneWithCommit(t)
  await appendFile(join(dir, 'config'), '[broken\n')
  await assert.rejects(examineRepository(), {
    name: 'Damaged',
    message: /^Ada\/Engine: bad config .*in file config$/,
  })
  await rm(dir, { recursive: true })
  await assert.rejects(examineRepository(), {
    name: 'Unreadable',
    message: 'Ada/Engine: it does not exist',
  })
})
