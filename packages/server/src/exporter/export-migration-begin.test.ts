import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../../../../test/support/databases.ts'
import {
  assertExported,
  endOf,
  exportScene,
  outcomesByName,
} from '../../../../test/support/export-scene.ts'
import { RepositoryBusy, Unreadable } from '../../../git/src/unreadable.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { noLongerReadable } from '../migrations/archive-store.ts'
import { cancelMigration } from '../migrations/end-migration.ts'
import { migrationById } from '../migrations/export-store.ts'
import { heldLocks, releaseLocks } from '../migrations/lock-store.ts'
import { BEGIN_EXPORT, batchOfMigration } from '../migrations/migration.ts'
import { syncAllRepositories } from '../repositories/sync.ts'
import { exportHandlers } from './export-migration.ts'

const REPOSITORIES = { 'alice/site': 'one', 'alice/blog': 'one' }
const NAMES = Object.keys(REPOSITORIES)

onEachEngine('a migration begins', (engine, testOnSqlite) => {
  testOnSqlite('with a job for each repository if none was exported before', async (t) => {
    const { db, host, start, work } = await exportScene(t, REPOSITORIES, engine)
    const id = await start(NAMES)
    await work()
    await assertExported(db, id)
    assert.deepEqual(await outcomesByName(db, id), {
      'alice/site': 'exported',
      'alice/blog': 'exported',
    })
    assert.deepEqual([host.examined, host.segmentsMade.toSorted()], [[], NAMES.toSorted()])
  })

  testOnSqlite('by finding unchanged repositories, and examines each once', async (t) => {
    const { db, host, start, work, keysInStore } = await exportScene(t, REPOSITORIES, engine)
    await start(NAMES)
    await work()
    const kept = await keysInStore()
    host.segmentsMade.length = 0
    host.contents.set('alice/blog', 'two')
    const id = await start(NAMES)
    await work()
    assert.deepEqual(await outcomesByName(db, id), {
      'alice/site': 'reused',
      'alice/blog': 'exported',
    })
    assert.deepEqual([host.examined, host.segmentsMade], [['alice/site'], ['alice/blog']])
    assert.equal((await keysInStore()).length, kept.length + 3, 'one segment, metadata, manifest')
  })

  test('with the proof of the last examination, and keeps that of a new one', async (t) => {
    const { host, start, work } = await exportScene(t, REPOSITORIES, engine)
    for (const changeToken of ['first', 'second', undefined, 'last']) {
      host.changeToken = changeToken
      await start(['alice/site'])
      await work()
    }
    assert.deepEqual(host.lastChangeTokens, ['first', 'second', undefined])
  })

  test('however often its worker dies, and then leaves repositories to their own jobs', async (t) => {
    const { db, host, start, work } = await exportScene(t, REPOSITORIES, engine)
    await start(NAMES)
    await work()
    const id = await start(NAMES)
    await db.updateTable('jobs').set({ failures: 9 }).execute()
    await work()
    await assertExported(db, id)
    assert.deepEqual(host.examined, [])
    const reused = { 'alice/site': 'reused', 'alice/blog': 'reused' }
    assert.deepEqual(await outcomesByName(db, id), reused)
  })

  testOnSqlite('with a job for a repository that changed since the last sync', async (t) => {
    const { db, host, start, work, archive } = await exportScene(t, REPOSITORIES, engine)
    await start(NAMES)
    await work()
    const id = await start(NAMES)
    host.contents.set('alice/blog', 'two')
    await work()
    assert.deepEqual(await outcomesByName(db, id), {
      'alice/site': 'reused',
      'alice/blog': 'exported',
    })
    const { files } = await archive(id)
    assert.equal(files.get('repositories/alice/blog.git/HEAD'), 'two')
  })

  test('without segments that are swept meanwhile', async (t) => {
    const { db, queue, dependencies, start, work } = await exportScene(t, REPOSITORIES, engine)
    await start(NAMES)
    await work()
    const id = await start(NAMES)
    const begin = exportHandlers(dependencies)[BEGIN_EXPORT]!
    await begin.run(
      { id: '', kind: BEGIN_EXPORT, payload: { migrationId: id }, failures: 0 },
      {
        signal: new AbortController().signal,
        async finish(write) {
          await db.deleteFrom('segments').where('fingerprint', '=', 'alice/blog one').execute()
          return db.transaction().execute(async (tx) => {
            await queue.cancel(tx, batchOfMigration(id))
            return write(tx)
          })
        },
      },
    )
    const begun = { 'alice/site': 'reused', 'alice/blog': 'waiting' }
    assert.deepEqual(await outcomesByName(db, id), begun)
    await work()
    await assertExported(db, id)
    assert.deepEqual(await outcomesByName(db, id), { ...begun, 'alice/blog': 'exported' })
  })
})

test('a repository that cannot be examined gets a job, which reports why', async (t) => {
  const { db, host, start, work } = await exportScene(t, REPOSITORIES)
  await start(NAMES)
  await work()
  const id = await start(NAMES, { allowPartial: true })
  host.onRead = async (fullName) => {
    if (fullName === 'alice/site') throw new Unreadable('alice/site: HEAD is missing')
  }
  await work()
  const expected = { 'alice/site': 'skipped: HEAD is missing', 'alice/blog': 'reused' }
  assert.deepEqual(await outcomesByName(db, id), expected)
})

test('a migration without git data examines nothing, but checks permissions', async (t) => {
  const { db, host, start, work, archive } = await exportScene(t, REPOSITORIES)
  const id = await start(NAMES, { excludeGitData: true })
  await work()
  await assertExported(db, id)
  assert.deepEqual([host.examined, host.segmentsMade], [[], []])
  const { files, manifest } = await archive(id)
  assert.deepEqual(manifest.repositories, [])
  assert.ok(files.has('repositories_000001.json'))
  assert.deepEqual(await outcomesByName(db, id), {
    'alice/site': 'exported',
    'alice/blog': 'exported',
  })
  const { owner, repositoryCount } = await migrationById(db, id)
  const migration = { id, owner, repositoryCount }
  assert.deepEqual(await noLongerReadable(db, migration, 9), [])
  const others = { owner_id: (await ensureAccount(db, 'bob', 0)).id }
  await db.updateTable('repositories').set(others).where('name', '=', 'blog').execute()
  assert.deepEqual(await noLongerReadable(db, migration, 9), ['alice/blog'])
  const next = await start(['alice/site'], { excludeGitData: true })
  await db.updateTable('repositories').set(others).execute()
  await work()
  const why = 'failed: the account that started the migration may no longer read it'
  assert.deepEqual(await outcomesByName(db, next), { 'alice/site': why })
})

test('locks are applied before anything is read', async (t) => {
  const { db, host, start, work } = await exportScene(t, REPOSITORIES)
  const seen: string[][] = []
  host.onRead = async () => void seen.push([...host.locked].sort())
  // The lock fails at the start; the export applies it.
  host.onLock = () => Promise.reject(new Unreadable('not now'))
  const id = await start(NAMES, { lockRepositories: true })
  assert.deepEqual([...host.locked], [])
  host.onLock = async () => {}
  await work()
  await assertExported(db, id)
  assert.deepEqual(seen, [NAMES.toSorted(), NAMES.toSorted()])
})

test('a refused lock fails the migration, and nothing is read or left locked', async (t) => {
  const { db, host, start, work } = await exportScene(t, REPOSITORIES)
  host.onLock = async (fullName) => {
    if (fullName === 'alice/blog') throw new Unreadable('its config cannot be written')
  }
  const id = await start(NAMES, { lockRepositories: true })
  await work()
  const reason = 'a repository cannot be locked: alice/blog: its config cannot be written'
  assert.deepEqual(await endOf(db, id), { state: 'failed', reason })
  assert.deepEqual(host.segmentsMade, [])
  assert.deepEqual(await heldLocks(db, id), [])
})

test('a lock that another process blocks is retried, and finally fails the migration', async (t) => {
  const { db, host, start, work, errors } = await exportScene(t, REPOSITORIES)
  let tries = 0
  host.onLock = async () => {
    tries += 1
    if (tries < 4) throw new RepositoryBusy('another program holds config.lock')
  }
  const free = await start(['alice/site'], { lockRepositories: true })
  await work()
  await assertExported(db, free)
  assert.equal(errors.length, 2)

  host.onLock = () => Promise.reject(new RepositoryBusy('another program holds config.lock'))
  const stuck = await start(['alice/blog'], { lockRepositories: true })
  await work()
  const reason = 'a repository cannot be locked: alice/blog: another program holds config.lock'
  assert.deepEqual(await endOf(db, stuck), { state: 'failed', reason })
  assert.equal(errors.length, 2 + 5)
  assert.deepEqual(await heldLocks(db, stuck), [])
})

test('a lock that was released meanwhile is not applied', async (t) => {
  const { db, host, start, work } = await exportScene(t, REPOSITORIES)
  host.onLock = () => Promise.reject(new Unreadable('not now'))
  const id = await start(NAMES, { lockRepositories: true })
  await releaseLocks(db, id, 0)
  host.onLock = async () => {}
  await work()
  await assertExported(db, id)
  assert.deepEqual([...host.locked], [])
})

test('an error of the host is retried, and finally fails the migration', async (t) => {
  const { db, host, start, work, errors } = await exportScene(t, REPOSITORIES)
  const hostFailure = new Error('too many open files')
  let tries = 0
  host.onLock = async () => {
    tries += 1
    if (tries < 4) throw hostFailure
  }
  const repaired = await start(['alice/site'], { lockRepositories: true })
  await work()
  await assertExported(db, repaired)
  assert.equal(errors.length, 2)

  host.onLock = () => Promise.reject(hostFailure)
  const failed = await start(['alice/blog'], { lockRepositories: true })
  await work()
  assert.equal((await endOf(db, failed)).state, 'failed')
  assert.equal(errors.length, 2 + 5)
})

test('a migration that is cancelled while it begins is not exported', async (t) => {
  const { db, host, start, work, dependencies } = await exportScene(t, REPOSITORIES)
  await start(NAMES)
  await work()
  const id = await start(NAMES)
  host.onRead = async () => {
    host.onRead = async () => {}
    await cancelMigration(dependencies, await migrationById(db, id))
  }
  await work()
  assert.deepEqual(await endOf(db, id), { state: 'failed', reason: 'cancelled' })
  assert.deepEqual(Object.values(await outcomesByName(db, id)), ['waiting', 'waiting'])
})

test('a repository that the owner of the migration may no longer read is not reused', async (t) => {
  const { db, host, start, work, dependencies } = await exportScene(t, {})
  host.collaborators = ['bob']
  for (const [fullName, content] of Object.entries(REPOSITORIES))
    host.contents.set(fullName, content)
  await syncAllRepositories(dependencies)
  await start(NAMES, {}, 'bob')
  await work()
  const id = await start(NAMES, {}, 'bob')
  await db.deleteFrom('collaborators').execute()
  await work()
  const { state, reason } = await endOf(db, id)
  assert.equal(state, 'failed')
  assert.match(String(reason), /alice\/site: the account .* may no longer read it/)
  assert.deepEqual(host.examined, [])
})
