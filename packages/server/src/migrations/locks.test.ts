import assert from 'node:assert/strict'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { until } from '../../../../test/support/export-story.ts'
import { type GitHost, gitHost } from '../../../../test/support/git-host.ts'
import type { Git } from '../../../git/src/git.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import { InvalidRequest, NotFound } from '../../../lib/src/request-errors.ts'
import { ownScope, type Viewer } from '../accounts/account.ts'
import { ensureAccount, upsertAccount } from '../accounts/account-store.ts'
import { putMembership } from '../accounts/membership-store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import { syncAllRepositories } from '../repositories/sync.ts'
import { deleteArchive } from './archive-store.ts'
import { type CancelDependencies, cancelMigration } from './end-migration.ts'
import { changeState } from './export-store.ts'
import { locksOnOwn, releaseExpiredLocks } from './lock-store.ts'
import { reconcileLocksOf, reconcileReleasedLocks, removeLocks, unlockRepository } from './locks.ts'
import { DEFAULT_OPTIONS } from './migration.ts'
import { type StartDependencies, startMigration } from './start-migration.ts'

const OPTIONS = { ...DEFAULT_OPTIONS, lockRepositories: true }

async function scene(t: TestContext, engine: 'sqlite' | 'postgres') {
  const { db } = await openDatabase(t, engine)
  const host = await gitHost()
  t.after(host.remove)
  for (const name of ['alice/site', 'bob/site']) {
    await host.repository(name, { files: { a: '1' }, wiki: { 'Home.md': '1' } })
  }
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const dependencies = {
    db,
    queue: embeddedQueue({ db }),
    source,
    now: Date.now,
    maxUnfinished: 100,
    lockTtlMs: 60_000,
    log: { info() {}, warn() {}, error() {} },
  } satisfies StartDependencies & CancelDependencies
  const viewer = async (login: string): Promise<Viewer> => ({
    account: await ensureAccount(db, login, 0),
    tokenId: 1,
  })
  const start = async (login: string, with_: Partial<StartDependencies> = {}) =>
    startMigration({ ...dependencies, ...with_ }, ownScope(await viewer(login)), {
      repositories: ['site'],
      options: OPTIONS,
    })
  const rows = () => db.selectFrom('repository_locks').selectAll().execute()
  return { db, host, dependencies, viewer, start, rows }
}

const isLocked = async (host: GitHost, name: string) =>
  (await readFile(join(host.path(name), 'config'), 'utf8')).includes('hideRefs = refs/')

/** Returns a git that calls `happening` once, before it reads the settings of receive-pack. */
function interrupted(git: Git, happening: () => Promise<void>): Git {
  let isOver = false
  return {
    ...git,
    async run(args, call) {
      if (!isOver && args.includes('--get-regexp')) {
        isOver = true
        await happening()
      }
      return git.run(args, call)
    },
  }
}

onEachEngine('locks', (engine, testOnSqlite) => {
  test('are listed for owners of the organization of the repository, but for no other members', async (t) => {
    const { db, viewer, start } = await scene(t, engine)
    const [alice, carol, dave] = await Promise.all(['alice', 'carol', 'dave'].map(viewer))
    const { id } = await start('alice')
    const alices = await upsertAccount(db, 'alice', { type: 'Organization' }, 0)
    await putMembership(db, alices, { accountId: carol!.account.id, role: 'owner' }, 'manual')
    await putMembership(db, alices, { accountId: dave!.account.id, role: 'member' }, 'manual')
    const listed = async (to: Viewer) => (await locksOnOwn(db, to)).map((lock) => lock.migrationId)
    assert.deepEqual(await listed(carol!), [id])
    assert.deepEqual(await listed(dave!), [])
    await upsertAccount(db, 'alice', { type: 'User' }, 0)
    assert.deepEqual([await listed(alice!), await listed(carol!)], [[id], []])
  })

  test('a lock that is released while it is applied is not applied, and does not fail', async (t) => {
    const { host, dependencies, viewer, start, rows } = await scene(t, engine)
    const alice = await viewer('alice')
    const { id } = await start('alice')
    const git = interrupted(host.godwitGit, () =>
      unlockRepository(dependencies, ownScope(alice), id, 'site'),
    )
    await reconcileLocksOf({ ...dependencies, source: gitDirectory({ root: host.root, git }) }, id)
    for (const name of ['alice/site', 'alice/site.wiki']) {
      assert.equal(await isLocked(host, name), false, name)
    }
    assert.deepEqual(await rows(), [])
  })

  test('a repository stays locked while another migration holds a lock on it', async (t) => {
    const { host, dependencies, viewer, start, rows } = await scene(t, engine)
    // It is quoted in the config, so that git has to parse it.
    await host.git(['config', 'quoted.value', 'a; b'], { dir: host.path('alice/site') })
    const alice = await viewer('alice')
    const first = await start('alice')
    // The second migration starts after the release of the first has read the locks, and before it unlocks the repository.
    let second = 0
    const git: Git = {
      ...host.godwitGit,
      async run(args, call) {
        if (second === 0 && args.includes('--list')) {
          second = -1
          second = (await start('alice')).id
        }
        return host.godwitGit.run(args, call)
      },
    }
    const late = { ...dependencies, source: gitDirectory({ root: host.root, git }) }
    await unlockRepository(late, ownScope(alice), first.id, 'site')
    assert.ok(second > first.id)
    assert.deepEqual(
      (await rows()).map((row) => row.migration_id),
      [second],
    )
    await host.push('bob/site', { a: '2' })
    for (const name of ['alice/site', 'alice/site.wiki']) {
      await assert.rejects(host.push(name, { a: '2' }), /hidden ref/)
    }
  })

  testOnSqlite(
    'the lock of a missing repository stays recorded until it was removed',
    async (t) => {
      const { host, dependencies, viewer, start, rows } = await scene(t, engine)
      const [here, away] = [join(host.root, 'alice'), join(host.root, '../away')]
      const { id } = await start('alice')
      await rename(here, away)
      await unlockRepository(dependencies, ownScope(await viewer('alice')), id, 'site')
      await reconcileReleasedLocks(dependencies)
      assert.equal((await rows()).length, 1)
      await rename(away, here)
      assert.equal(await isLocked(host, 'alice/site'), true)
      await reconcileReleasedLocks(dependencies)
      assert.deepEqual(await rows(), [])
      await host.push('alice/site', { a: '2' })
      await host.push('alice/site.wiki', { 'Home.md': '2' })
    },
  )

  testOnSqlite(
    'the lock of a repository that is no longer served is removed, and stays recorded until then',
    async (t) => {
      const { host, dependencies, viewer, start, rows } = await scene(t, engine)
      const withdrawn = {
        ...dependencies,
        source: { ...dependencies.source, find: async () => undefined },
      }
      await start('alice', { lockTtlMs: -1 })
      await reconcileReleasedLocks(withdrawn)
      assert.deepEqual(await rows(), [])
      assert.equal(await isLocked(host, 'alice/site'), false)
      const { id } = await start('alice')
      assert.equal(await isLocked(host, 'alice/site'), true)
      const site = { owner: 'ALICE', name: 'Site' }
      assert.equal(await removeLocks(withdrawn, site, { forget: true }), true)
      assert.equal(await isLocked(host, 'alice/site'), false)
      const unlocking = unlockRepository(dependencies, ownScope(await viewer('alice')), id, 'site')
      await assert.rejects(unlocking, NotFound)
    },
  )

  test('an operator can forget the lock of a missing repository, but not while the source is unreadable', async (t) => {
    const { host, dependencies, start, rows } = await scene(t, engine)
    const site = { owner: 'alice', name: 'site' }
    await start('alice')
    await rename(host.root, `${host.root}.away`)
    await assert.rejects(removeLocks(dependencies, site, { forget: true }), Unreadable)
    assert.equal((await rows()).length, 1)
    await rename(`${host.root}.away`, host.root)
    await rm(join(host.root, 'alice'), { recursive: true })
    assert.equal(await removeLocks(dependencies, site), false)
    assert.equal((await rows()).length, 1)
    assert.equal(await removeLocks(dependencies, site, { forget: true }), false)
    assert.deepEqual(await rows(), [])
  })

  testOnSqlite(
    'the lock of a repository whose name changed its case on disk is removed',
    async (t) => {
      const { host, dependencies, start, rows } = await scene(t, engine)
      await start('alice')
      for (const part of ['.git', '.wiki.git'])
        await rename(join(host.root, `alice/site${part}`), join(host.root, `alice/Site${part}`))
      assert.equal(await removeLocks(dependencies, { owner: 'alice', name: 'site' }), true)
      assert.deepEqual(await rows(), [])
      assert.equal(await isLocked(host, 'alice/Site'), false)
    },
  )

  testOnSqlite(
    'the end of a migration removes the lock of a repository whose name changed its case',
    async (t) => {
      const { host, dependencies, viewer, start, rows } = await scene(t, engine)
      const { id } = await start('alice')
      const path = (name: string, part: string) => join(host.root, `alice/${name}${part}`)
      for (const part of ['.git', '.wiki.git']) await rename(path('site', part), path('Site', part))
      await unlockRepository(dependencies, ownScope(await viewer('alice')), id, 'site')
      assert.deepEqual(await rows(), [])
      for (const name of ['alice/Site', 'alice/Site.wiki'])
        assert.equal(await isLocked(host, name), false, name)
    },
  )

  test('a lock that is taken while another is released is not deleted with it', async (t) => {
    const { host, dependencies, start, rows } = await scene(t, engine)
    await start('alice')
    await rename(join(host.root, 'alice/site.git'), join(host.root, 'alice/Site.git'))
    const { source } = dependencies
    let second = 0
    const reconcileLock: typeof source.reconcileLock = async (repository, isWanted) => {
      await source.reconcileLock(repository, isWanted)
      second ||= (await start('alice', { lockTtlMs: -1 })).id
      await releaseExpiredLocks(dependencies.db, Date.now())
    }
    const site = { owner: 'alice', name: 'site' }
    await removeLocks({ ...dependencies, source: { ...source, reconcileLock } }, site)
    assert.deepEqual(
      (await rows()).map((row) => row.migration_id),
      [second],
    )
  })

  test('the lock of a wiki without its repository is removed, unless the wiki itself is locked', async (t) => {
    const { db, host, dependencies, start, rows, viewer } = await scene(t, engine)
    await start('alice', { lockTtlMs: -1 })
    await rm(host.path('alice/site'), { recursive: true })
    await reconcileReleasedLocks(dependencies)
    assert.equal(await isLocked(host, 'alice/site.wiki'), false)
    assert.equal((await rows()).length, 1, 'the repository may be restored with its lock')

    await syncAllRepositories({ db, source: dependencies.source, now: Date.now })
    const request = { repositories: ['site.wiki'], options: OPTIONS }
    await startMigration(dependencies, ownScope(await viewer('alice')), request)
    await reconcileReleasedLocks(dependencies)
    assert.equal(await isLocked(host, 'alice/site.wiki'), true)
  })

  testOnSqlite('are applied without a request to the forge', async (t) => {
    const { host, dependencies, start } = await scene(t, engine)
    const { source } = dependencies
    const { id } = await start('alice')
    await source.reconcileLock({ owner: 'alice', name: 'site' }, async () => false)
    const find = () => Promise.reject(new Error('the forge is unavailable'))
    await reconcileLocksOf({ ...dependencies, source: { ...source, find } }, id)
    assert.equal(await isLocked(host, 'alice/site'), true)
  })

  test('of several repositories with the same name, only the one of the migration’s owner needs no owner', async (t) => {
    const { db, host, dependencies, viewer } = await scene(t, engine)
    const bob = await viewer('bob')
    const shared = ['godwit.collaborator', 'bob:admin']
    await host.repository('carol/site', { files: { a: '1' } })
    for (const name of ['alice/site', 'carol/site'])
      await host.git(['config', ...shared], { dir: host.path(name) })
    await syncAllRepositories({ db, source: dependencies.source, now: Date.now })
    const repositories = ['alice/site', 'bob/site', 'carol/site']
    const { id } = await startMigration(dependencies, ownScope(bob), {
      repositories,
      options: OPTIONS,
    })
    const locked = () => Promise.all(repositories.map((name) => isLocked(host, name)))
    const unlock = (name: string) => unlockRepository(dependencies, ownScope(bob), id, name)
    assert.deepEqual(await locked(), [true, true, true])
    await unlock('SITE')
    assert.deepEqual(await locked(), [true, false, true])
    await assert.rejects(unlock('site'), NotFound, 'repeated')
    await unlock('carol/site')
    await assert.rejects(unlock('site'), NotFound, 'not the only one that is still locked')
    await unlock('Alice/Site')
    assert.deepEqual(await locked(), [false, false, false])
  })

  testOnSqlite(
    'a lock that is released while its repository is unreadable is removed later',
    async (t) => {
      const { host, dependencies, start, rows } = await scene(t, engine)
      await start('alice', { lockTtlMs: -1 })
      const config = join(host.path('alice/site'), 'config')
      await rename(config, `${config}.away`)
      await writeFile(config, '[unfinished hideRefs')
      await assert.rejects(
        reconcileReleasedLocks(dependencies),
        /^Unreadable: alice\/site: bad config/,
      )
      assert.equal((await rows()).length, 1)
      await rename(`${config}.away`, config)
      await reconcileReleasedLocks(dependencies)
      assert.deepEqual(await rows(), [])
      assert.equal(await isLocked(host, 'alice/site'), false)
    },
  )

  testOnSqlite(
    'a failure to unlock names the repository, and the other locks are removed',
    async (t) => {
      const { host, dependencies, start, rows } = await scene(t, engine)
      for (const login of ['alice', 'bob']) await start(login, { lockTtlMs: -1 })
      const { source } = dependencies
      const reconcileLock: typeof source.reconcileLock = (repository, isWanted) =>
        repository.owner === 'alice'
          ? Promise.reject(new Error('too many open files'))
          : source.reconcileLock(repository, isWanted)
      await assert.rejects(
        reconcileReleasedLocks({ ...dependencies, source: { ...source, reconcileLock } }),
        {
          message: 'locks could not be updated: alice/site: too many open files',
        },
      )
      assert.equal((await rows()).length, 1)
      assert.equal(await isLocked(host, 'bob/site'), false)
      await reconcileReleasedLocks(dependencies)
      assert.deepEqual(await rows(), [])
    },
  )

  testOnSqlite(
    'a repository that cannot be locked is named, and the migration is not started',
    async (t) => {
      const { db, host, start } = await scene(t, engine)
      const dir = host.path('alice/site')
      await host.git(['config', 'extensions.worktreeConfig', 'true'], { dir })
      await host.write(dir, 'config.worktree', '[receive]\n\thideRefs = !refs/\n')
      await assert.rejects(start('alice'), (error) => {
        assert.ok(error instanceof InvalidRequest)
        const message =
          'alice/site cannot be locked: its config.worktree shows refs again that a lock hides'
        const fault = { field: 'repositories', code: 'unprocessable', index: 0, message }
        assert.deepEqual(error.errors, [fault])
        return true
      })
      assert.deepEqual(await db.selectFrom('migrations').select('id').execute(), [])
      assert.equal(await isLocked(host, 'alice/site'), false)
    },
  )

  test('a cancel succeeds although a repository cannot be unlocked, even its own', async (t) => {
    const { host, dependencies, start, rows } = await scene(t, engine)
    const mine = await start('alice')
    const theirs = await start('bob')
    const stuck = join(host.path('alice/site'), 'config.lock')
    await writeFile(stuck, '')
    const committed: string[] = []
    const cancel = (migration: typeof mine, who: string) =>
      cancelMigration(dependencies, migration, async () => void committed.push(who))
    assert.equal((await cancel(mine, 'alice')).state, 'failed')
    assert.equal((await cancel(theirs, 'bob')).state, 'failed')
    assert.deepEqual(committed, ['alice', 'bob'])
    await until('the other repository is unlocked', async () => !(await isLocked(host, 'bob/site')))
    await until(
      'only the lock of the stuck repository is left',
      async () => (await rows()).length === 1,
    )
    assert.equal(await isLocked(host, 'alice/site'), true)
    await rm(stuck)
    await reconcileReleasedLocks(dependencies)
    assert.deepEqual(await rows(), [])
    assert.equal(await isLocked(host, 'alice/site'), false)
  })

  test('a committed change is reported as successful, even if the database or the store fails afterwards', async (t) => {
    const { db, dependencies, viewer, start } = await scene(t, engine)
    const alice = await viewer('alice')
    const archived = await start('alice')
    await changeState(db, archived.id, 'exporting', { now: 1 })
    const archive = {
      bytes: 1,
      expiresAt: Date.now() + 60_000,
      metadataKey: 'm',
      manifestKey: 'n',
      key: 'archive',
    }
    await changeState(db, archived.id, 'exported', { now: 2, archive })
    const committed: string[] = []
    const blobs = {
      async delete() {
        throw Object.assign(new Error('the bucket is unavailable'), { code: 'ECONNREFUSED' })
      },
    } as unknown as BlobStore
    await deleteArchive({ ...dependencies, blobs }, ownScope(alice), archived.id, async () => {
      committed.push('deleted')
    })

    const { id } = await start('alice')
    const { fail, ...dying } = dyingAfterCommit(dependencies)
    assert.ok((await startAt(dying, alice)).id > id)
    assert.deepEqual(committed, ['deleted', 'started'])

    function startAt(those: StartDependencies, who: Viewer) {
      const request = { repositories: ['site'], options: OPTIONS }
      return startMigration(those, ownScope(who), request, async () => {
        committed.push('started')
        fail()
      })
    }
  })
})

/** The database fails after the commit, while the start waits for a worker in another process. `fail` is called before the commit. */
function dyingAfterCommit(
  dependencies: StartDependencies,
): StartDependencies & { fail: () => void } {
  let isFailing = false
  const db = new Proxy(dependencies.db, {
    get(target, name) {
      if (isFailing && name === 'selectFrom') throw new Error('Connection terminated unexpectedly')
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const fail = () => {
    isFailing = true
  }
  return { ...dependencies, db, source: undefined, fail }
}
