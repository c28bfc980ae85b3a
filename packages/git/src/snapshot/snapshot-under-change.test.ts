import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import {
  commit,
  GIT_ENVIRONMENT,
  initBare,
  packedHistory,
  git as plainGit,
  UNUSUAL_REPOSITORIES,
} from '../../../../test/support/sample-repositories.ts'
import { signal, snapshotScene, writeEntries } from '../../../../test/support/snapshot-scene.ts'
import type { SharedLfs } from './lfs-objects.ts'
import { takeSnapshot } from './take-snapshot.ts'
import { verify } from './verify-snapshot.ts'

test('a borrower that gets its own objects meanwhile is examined again', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['objects borrowed from another'](here.dir)
  const stale = await here.examineRepository()
  plainGit(here.dir, ['repack', '-adq'])
  await rm(join(here.dir, 'objects/info/alternates'))
  const snapshot = await takeSnapshot(stale, here.root, { git: here.git, signal })
  assert.equal(snapshot.examination.repository.hasExternalObjects, false)
  await verify(snapshot, here.git, signal)
})

test('a borrower whose ref and objects disappear meanwhile is examined again', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['objects borrowed from another'](here.dir)
  const stale = await here.examineRepository()
  plainGit(here.dir, ['update-ref', '-d', 'refs/heads/mine'])
  plainGit(here.dir, ['prune', '--expire=now'])
  const snapshot = await takeSnapshot(stale, here.root, { git: here.git, signal })
  assert.equal(snapshot.repository.tips.length, 1)
  await verify(snapshot, here.git, signal)
})

const PUSHES: Record<string, string[][]> = {
  'a loose ref': [['update-ref', 'refs/heads/late', 'main']],
  'a ref that is packed': [
    ['update-ref', 'refs/heads/late', 'main'],
    ['pack-refs', '--all'],
  ],
  'another default branch': [['symbolic-ref', 'HEAD', 'refs/heads/late']],
}
for (const [what, commands] of Object.entries(PUSHES))
  test(`a push of ${what} is seen while objects are listed`, async (t) => {
    const here = snapshotScene(t)
    initBare(here.dir)
    commit(here.dir, 'refs/heads/main', 'a')
    // The files are old enough for a comparison of the times of directories.
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 10_000 })
    let looks = 0
    const sharedLfs = {
      async pointersOf() {
        if (looks++ === 0) for (const args of commands) plainGit(here.dir, args)
        return []
      },
      find: async () => [],
    } as unknown as SharedLfs
    const { repository } = await here.examineRepository({ sharedLfs })
    assert.equal(looks, 2)
    assert.match(JSON.stringify([repository.head, repository.refs]), /refs\/heads\/late/)
  })

test('files that cannot be linked are copied', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['packed and loose objects'](here.dir)
  const examination = await here.examineRepository()
  const link = async () => {
    throw Object.assign(new Error('cross-device link not permitted'), { code: 'EXDEV' })
  }
  const snapshot = await takeSnapshot(examination, here.root, { git: here.git, signal, link })
  const pack = examination.repository.objectFiles.find(({ path }) => path.endsWith('.pack'))!
  assert.notEqual(
    statSync(join(snapshot.repository.dir, pack.path)).ino,
    statSync(join(here.dir, pack.path)).ino,
  )
  await verify(snapshot, here.git, signal)
  await writeEntries(snapshot, join(here.root, 'out'))
  plainGit(join(here.root, 'out/repositories/Ada/Engine.git'), ['fsck', '--full', '--strict'])
})

test('a snapshot starts over when a repack removes its files', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['packed and loose objects'](here.dir)
  const stale = await here.examineRepository()
  plainGit(here.dir, ['repack', '-adq'])
  commit(here.dir, 'refs/heads/main', 'newer')
  const snapshot = await takeSnapshot(stale, here.root, { git: here.git, signal })
  const fresh = await here.examineRepository()
  assert.notEqual(fresh.fingerprint, stale.fingerprint)
  assert.equal(snapshot.examination.fingerprint, fresh.fingerprint)
  await verify(snapshot, here.git, signal)
})

test('a repository that disappears is reported and leaves no scratch files', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['packed and loose objects'](here.dir)
  const examination = await here.examineRepository()
  await rm(here.dir, { recursive: true })
  await assert.rejects(takeSnapshot(examination, here.root, { git: here.git, signal }), {
    name: 'Unreadable',
    message: 'Ada/Engine: it does not exist',
  })
  assert.deepEqual(here.leftovers(), [])
})

test('the source is not written to', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['objects borrowed from another'](here.dir)
  const list = () =>
    readdirSync(here.dir, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((path) => [path, statSync(join(here.dir, path)).mtimeMs])
  const before = list()
  await here.writeOut()
  assert.deepEqual(list(), before)
})

/** Pushes, repacks and collects garbage until a file named stop exists. */
const WRITER = `
  git clone -q "$1" "$2" && cd "$2" && git config core.hooksPath /dev/null
  n=0
  while [ ! -e stop ]; do
    n=$((n + 1))
    echo "$n" > "file-$((n % 5))" && git add . && git commit -qm "$n" && git tag "t$n"
    git push -q origin HEAD "t$n" HEAD:refs/heads/side -f || exit 1
    case $((n % 4)) in
      1) git --git-dir="$1" repack -adq ;;
      3) git --git-dir="$1" gc -q ;;
    esac || exit 1
  done`

test('every snapshot during concurrent writes is complete', { timeout: 300_000 }, async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  packedHistory(here.dir, 'refs/heads/main', 30)
  const work = join(here.root, 'work')
  const env = { ...GIT_ENVIRONMENT, HOME: here.root }
  const writer = spawn('sh', ['-c', WRITER, 'writer', here.dir, work], { env, stdio: 'ignore' })
  t.after(() => writer.kill())
  const ended = once(writer, 'exit')
  const seen = new Set<string>()
  for (let taken = 0; taken < 12 || seen.size < 5; taken++) {
    assert.equal(writer.exitCode, null, 'the writer goes on')
    const to = join(here.root, `out-${taken}`)
    const copy = join(await here.writeOut({}, to), 'Engine.git')
    const env = { ...GIT_ENVIRONMENT, GIT_DIR: copy }
    await promisify(execFile)('git', ['fsck', '--full', '--strict'], { env })
    seen.add(readFileSync(join(copy, 'packed-refs'), 'utf8'))
    await rm(to, { recursive: true })
  }
  await appendFile(join(work, 'stop'), '')
  assert.deepEqual(await ended, [0, null])
})
