import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/archive-samples.ts'
import { onSqlite, openDatabase } from '../../../../test/support/databases.ts'
import { exportScene } from '../../../../test/support/export-scene.ts'
import { until } from '../../../../test/support/export-story.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import { noLongerReadable } from '../migrations/archive-store.ts'
import { migrationById } from '../migrations/export-store.ts'
import { DEFAULT_OPTIONS } from '../migrations/migration.ts'
import { notExportedFrom } from '../migrations/outcome-store.ts'
import { startMigration } from '../migrations/start-migration.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import { addressesFrom } from '../repositories/addresses.ts'
import { readChecks } from '../repositories/repository-check-store.ts'
import { syncAllRepositories } from '../repositories/sync.ts'
import { exportHandlers } from './export-migration.ts'
import { createSegmentMaker } from './make-segment.ts'

const URL_BASE = 'http://localhost'

/** Sets up a host where bob administers a private and a public repository of alice, and an exporter for his migrations. */
async function scene(t: TestContext, engine: 'sqlite' | 'postgres') {
  const { db } = await openDatabase(t, engine)
  const host = await gitHost()
  t.after(host.remove)
  const config = { 'godwit.collaborator': 'bob:admin' }
  await host.repository('alice/secret', { files: { a: '1' }, config })
  await host.repository('alice/open', { files: { a: '1' }, config, public: true })
  const folder = await temporaryFolder(t)
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const blobs = createDiskBlobStore(join(folder, 'blobs'))
  const queue = embeddedQueue({ db })
  const dependencies = { db, source, now: Date.now, blobs, queue }
  const handlers = exportHandlers({
    ...dependencies,
    segments: createSegmentMaker({ source, blobs, scratchDirectory: folder }),
    addresses: addressesFrom({
      baseUrl: URL_BASE,
      webUrl: URL_BASE,
      cloneUrl: URL_BASE,
      sshUrl: '',
    }),
    generator: 'godwit test',
    scratch: folder,
    forge: undefined,
    permissionsRefresher: undefined,
    archiveTtlMs: 60_000,
    segmentCheckAgeMs: 60_000,
    isComposed: false,
    log: { info() {}, warn() {}, error() {} },
  })
  await syncAllRepositories(dependencies)
  const stateOf = async (id: number) => (await migrationById(db, id)).state
  const bob = { owner: await ensureAccount(db, 'bob', 0) }
  return {
    db,
    async start() {
      const repositories = ['alice/secret', 'alice/open']
      const options = { ...DEFAULT_OPTIONS, allowPartial: true }
      const order = { maxUnfinished: 9, lockTtlMs: 60_000 }
      return (await startMigration({ ...dependencies, ...order }, bob, { repositories, options }))
        .id
    },
    async untilExported(id: number) {
      const working = queue.work(handlers, {
        concurrency: 1,
        onError: (error) => assert.fail(`${error}`),
      })
      queue.wake()
      await until('the migration is exported', async () => (await stateOf(id)) === 'exported')
      await working.stop()
      return migrationById(db, id)
    },
    /** Removes bob from the collaborators. */
    async dismissBob() {
      for (const name of ['alice/secret', 'alice/open'])
        await host.git(['config', '--unset-all', 'godwit.collaborator'], { dir: host.path(name) })
      await syncAllRepositories(dependencies)
    },
  }
}

onSqlite('a repository that the owner of a migration may no longer read', (engine) => {
  const REASON = 'the account that started the migration may no longer read it'

  for (const [how, isExportedBefore] of [
    ['exported', false],
    ['reused', true],
  ] as const)
    test(`is skipped with that reason if it would be ${how}`, async (t) => {
      const { db, start, untilExported, dismissBob } = await scene(t, engine)
      if (isExportedBefore) await untilExported(await start())
      const waiting = await start()
      await dismissBob()
      await untilExported(waiting)
      const skipped = [{ fullName: 'alice/secret', reason: REASON }]
      assert.deepEqual(await notExportedFrom(db, { id: waiting }, 9), skipped)
    })

  test('has no archive link any more', async (t) => {
    const { db, start, untilExported, dismissBob } = await scene(t, engine)
    const migration = await untilExported(await start())
    assert.deepEqual(await noLongerReadable(db, migration, 3), [])
    await dismissBob()
    assert.deepEqual(await noLongerReadable(db, migration, 3), ['alice/secret'])
  })
})

onSqlite('a repository that cannot be exported', (engine) => {
  test('is known like one that failed its check, until it is exported', async (t) => {
    const { db, host, start, work } = await exportScene(t, { 'alice/site': '1' }, engine)
    const known = async () =>
      (await readChecks(db, 9)).problems.map(({ fullName, reason }) => [fullName, reason])
    await start(['site'])
    host.contents.delete('alice/site')
    await work()
    assert.deepEqual(await known(), [['alice/site', 'the repository no longer exists']])
    host.contents.set('alice/site', '2')
    await start(['site'])
    await work()
    assert.deepEqual(await known(), [])
  })
})
