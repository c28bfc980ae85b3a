import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/archive-samples.ts'
import { onEachEngine, onSqlite } from '../../../../test/support/databases.ts'
import {
  assertExported,
  endOf,
  exportScene,
  outcomesByName,
} from '../../../../test/support/export-scene.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import { BlobsUnavailable } from '../blobs/blob-store.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import { cancelMigration } from '../migrations/end-migration.ts'
import { migrationById } from '../migrations/export-store.ts'
import { releaseAllJobs } from '../queue/embedded.ts'
import { syncAllRepositories } from '../repositories/sync.ts'
import { sweepOrphans } from './blob-store-owner.ts'
import { exportHandlers } from './export-migration.ts'

const SITE = { 'alice/site': 'one' }
const TWO = { ...SITE, 'alice/blog': 'one' }
const NAMES = Object.keys(TWO)

onEachEngine('a repository of a migration', (engine) => {
  test('is reused if another migration has exported it meanwhile', async (t) => {
    const { db, host, start, work } = await exportScene(t, SITE, engine)
    const ids = [await start(['alice/site']), await start(['alice/site'])]
    await work()
    assert.deepEqual(await outcomesByName(db, ids[0]!), { 'alice/site': 'exported' })
    assert.deepEqual(await outcomesByName(db, ids[1]!), { 'alice/site': 'reused' })
    assert.deepEqual(host.examined, [])
  })

  test('is recorded once if another worker got its job meanwhile', async (t) => {
    const scene = await exportScene(t, SITE, engine)
    const { db, host, queue, blobs, clock, start, work, keysInStore } = scene
    const id = await start(['alice/site'])
    const other = Promise.withResolvers<void>()
    host.onMake = async () => {
      host.onMake = async () => other.resolve()
      // The job is released as if its worker had died, but the signal is not aborted yet.
      await releaseAllJobs(db, 0)
      queue.wake()
      await other.promise
    }
    await Promise.all([work(), work()])
    await assertExported(db, id)
    assert.equal(host.segmentsMade.length, 2)
    const rows = await db.selectFrom('segments').select('key').execute()
    await sweepOrphans({ db, blobs, now: () => clock.now }, 0)
    assert.deepEqual(await keysInStore(), rows.map(({ key }) => key).sort())
  })
})

test('a damaged or deleted repository is skipped with the reason', async (t) => {
  const { db, host, start, work, errors, archive } = await exportScene(t, {
    ...TWO,
    'alice/gone': 'one',
  })
  const id = await start([...NAMES, 'alice/gone'], { allowPartial: true })
  host.onMake = async (fullName) => {
    if (fullName === 'alice/blog') throw new Unreadable('alice/blog: objects/ab is damaged')
  }
  host.contents.delete('alice/gone')
  await work()
  await assertExported(db, id)
  assert.deepEqual(await outcomesByName(db, id), {
    'alice/site': 'exported',
    'alice/blog': 'skipped: objects/ab is damaged',
    'alice/gone': 'skipped: the repository no longer exists',
  })
  assert.deepEqual(errors, [])
  const { manifest } = await archive(id)
  assert.deepEqual(
    manifest.skipped.map(({ full_name }) => full_name),
    ['alice/blog', 'alice/gone'],
  )
})

test('a renamed repository is not read under its old name', async (t) => {
  const { db, host, start, work, archive } = await exportScene(t, TWO)
  const id = await start(NAMES, { allowPartial: true })
  const rename = (name: string, to: string) =>
    db
      .updateTable('repositories')
      .set({ name: to, name_key: to.toLowerCase() })
      .where('name', '=', name)
      .execute()
  await rename('site', 'shop')
  // Another spelling of the same name is not a rename.
  await rename('blog', 'Blog')
  await work()
  assert.deepEqual(await outcomesByName(db, id), {
    'alice/site': 'skipped: it is now called alice/shop',
    'alice/blog': 'exported',
  })
  assert.deepEqual(host.segmentsMade, ['alice/blog'])
  assert.ok(!(await archive(id)).files.has('repositories/alice/site.git/HEAD'))
})

test('a repository of a renamed account is not read from the account that has its login now', async (t) => {
  const { db, host, dependencies, start, work } = await exportScene(t, SITE)
  const id = await start(['alice/site'])
  const bob = { login: 'bob', login_key: 'bob' }
  await db.updateTable('accounts').set(bob).where('login', '=', 'alice').execute()
  await syncAllRepositories(dependencies)
  host.contents.set('alice/site', 'of another alice')
  await work()
  assert.deepEqual(await outcomesByName(db, id), {
    'alice/site': 'failed: it is now called bob/site',
  })
  assert.deepEqual(host.segmentsMade, [])
})

test('a repository that the owner may no longer read fails and is not examined', async (t) => {
  const { db, host, dependencies, start, work } = await exportScene(t, {})
  host.collaborators = ['bob']
  host.contents.set('alice/site', 'one')
  await syncAllRepositories(dependencies)
  const id = await start(['alice/site'], {}, 'bob')
  await db.deleteFrom('collaborators').execute()
  await work()
  const reason = 'the account that started the migration may no longer read it'
  assert.deepEqual(await outcomesByName(db, id), { 'alice/site': `failed: ${reason}` })
  assert.deepEqual([host.examined, host.segmentsMade], [[], []])
})

test('a cancelled migration stops its exports and records nothing', async (t) => {
  const { db, host, dependencies, start, work, keysInStore, errors } = await exportScene(t, TWO)
  const id = await start(NAMES)
  host.onMake = async (_fullName, signal) => {
    await cancelMigration(dependencies, await migrationById(db, id))
    assert.equal(signal.aborted, true)
  }
  await work()
  assert.deepEqual(await endOf(db, id), { state: 'failed', reason: 'cancelled' })
  assert.deepEqual(Object.values(await outcomesByName(db, id)), ['waiting', 'waiting'])
  assert.deepEqual([await keysInStore(), host.segmentsMade.length, errors], [[], 1, []])
})

test('an error of the host is retried until it succeeds', async (t) => {
  const { db, host, start, work, errors } = await exportScene(t, SITE)
  const id = await start(['alice/site'])
  host.onMake = async () => {
    if (host.segmentsMade.length < 3) throw new Error('no space left on device')
  }
  await work()
  await assertExported(db, id)
  assert.deepEqual(errors, Array(2).fill('Error: no space left on device'))
})

test('a permanent error of the host skips the repository with the reason', async (t) => {
  const { db, host, start, work } = await exportScene(t, TWO)
  const id = await start(NAMES, { allowPartial: true })
  host.onMake = async (fullName) => {
    if (fullName === 'alice/blog') throw new Error('no space left on device')
  }
  await work()
  await assertExported(db, id)
  const expected = { 'alice/site': 'exported', 'alice/blog': 'skipped: no space left on device' }
  assert.deepEqual(await outcomesByName(db, id), expected)
})

onSqlite('a disk that stays full', (engine) => {
  test('fails the migration without a path of the host', async (t) => {
    const { db, host, start, work } = await exportScene(t, SITE, engine)
    const id = await start(['alice/site'])
    const message = "ENOSPC: no space left on device, copyfile '/srv/git/a' -> '/srv/data/b'"
    host.onMake = async () => {
      throw Object.assign(new Error(message), { code: 'ENOSPC', syscall: 'copyfile' })
    }
    await work()
    const { state, reason } = await endOf(db, id)
    assert.equal(state, 'failed')
    assert.match(reason!, /^alice\/site.*: the server's disk is full$/)
    assert.deepEqual(await outcomesByName(db, id), {
      'alice/site': "failed: the server's disk is full",
    })
  })
})

test('jobs wait for an unavailable store as long as it takes', async (t) => {
  const { db, host, start, work } = await exportScene(t, SITE)
  const id = await start(['alice/site'])
  host.onMake = async () => {
    if (host.segmentsMade.length < 9) throw new BlobsUnavailable('the bucket does not respond')
  }
  await work()
  await assertExported(db, id)
  assert.equal(host.segmentsMade.length, 9)
})

test('jobs wait while the store is not mounted, and write nothing there', async (t) => {
  const { db, host, blobs, clock, errors, queue, dependencies, start, work } = await exportScene(
    t,
    TWO,
  )
  await start(['alice/site'])
  await work()
  const mountPoint = createDiskBlobStore(join(await temporaryFolder(t), 'blobs'))
  const id = await start(['alice/blog'])
  const made = host.segmentsMade.length
  const working = queue.work(exportHandlers({ ...dependencies, blobs: mountPoint }), {
    concurrency: 1,
    onError: (error) => errors.push(String(error)),
  })
  await until('the job waits', () => errors.length > 0)
  await working.stop()
  assert.match(errors[0]!, /^RetryLater: the store of archives is empty or another one: check/)
  assert.equal(host.segmentsMade.length, made)
  assert.deepEqual(await Array.fromAsync(mountPoint.list()), [])
  await releaseAllJobs(db, clock.now)
  await work({ blobs })
  await assertExported(db, id)
})

test('progress is recorded while a segment is made', async (t) => {
  const { db, host, start, work } = await exportScene(t, SITE)
  const id = await start(['alice/site'])
  const rows = db.selectFrom('repository_exports').where('migration_id', '=', id)
  const progress = rows.select(['bytes_expected', 'bytes_done'])
  let recorded = {}
  host.onMake = async () => {
    recorded = await until('progress is recorded', () => progress.executeTakeFirst())
  }
  await work()
  assert.deepEqual({ ...recorded }, { bytes_expected: 'one'.length, bytes_done: 0 })
})
