import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { type GitHost, gitHost } from '../../../../test/support/git-host.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import { InvalidRequest } from '../../../lib/src/request-errors.ts'
import type { Viewer } from '../accounts/account.ts'
import { ownScope } from '../accounts/account.ts'
import { ensureAccount, findAccount, upsertAccount } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import { syncAllRepositories } from '../repositories/sync.ts'
import { organizationsIn } from './export-store.ts'
import { DEFAULT_OPTIONS } from './migration.ts'
import { findMigration } from './migration-store.ts'
import { repositoriesOf } from './repository-list-store.ts'
import { type StartDependencies, startMigration } from './start-migration.ts'

async function scene(t: TestContext, engine: 'sqlite' | 'postgres') {
  const { db } = await openDatabase(t, engine)
  const host = await gitHost()
  t.after(host.remove)
  const dependencies: StartDependencies = {
    db,
    queue: embeddedQueue({ db }),
    source: gitDirectory({ root: host.root, git: host.godwitGit }),
    now: Date.now,
    maxUnfinished: 3,
    lockTtlMs: 60_000,
  }
  return { db, host, dependencies }
}

async function viewer(db: Db, login: string): Promise<Viewer> {
  return { account: await ensureAccount(db, login, 0), tokenId: 1 }
}

const start = (dependencies: StartDependencies, who: Viewer, ...repositories: string[]) =>
  startMigration(dependencies, ownScope(who), { repositories, options: DEFAULT_OPTIONS })

async function sync({ db, source, now }: StartDependencies): Promise<void> {
  await syncAllRepositories({ db, source: source!, now })
}

onEachEngine('starting a migration', (engine, testOnSqlite) => {
  test('is refused beyond the limit of each account, also for concurrent requests', async (t) => {
    const { db, host, dependencies } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    await host.repository('bob/site', { files: { a: '1' } })
    const alice = await viewer(db, 'alice')
    const tries = await Promise.allSettled(
      Array.from({ length: 8 }, () => start(dependencies, alice, 'site')),
    )
    assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 3)
    for (const each of tries) {
      if (each.status === 'rejected') assert.ok(each.reason instanceof InvalidRequest)
    }
    await start(dependencies, await viewer(db, 'bob'), 'site')
    await db.updateTable('migrations').set({ state: 'failed' }).where('id', '=', 1).execute()
    await start(dependencies, alice, 'site')
  })

  testOnSqlite(
    'for an organization covers only its own repositories, and counts for its limit',
    async (t) => {
      const { db, host, dependencies } = await scene(t, engine)
      for (const name of ['octo/a', 'octo/b', 'octo/c']) await host.repository(name)
      await host.repository('alice/site', { config: { 'godwit.collaborator': 'octo:admin' } })
      await host.repository('other/a', { config: { 'godwit.private': 'false' } })
      await sync(dependencies)
      for (const login of ['octo', 'other'])
        await upsertAccount(db, login, { type: 'Organization' }, 0)
      const scope = { owner: (await findAccount(db, 'octo'))! }
      const startThere = (repositories: string[], more = {}) =>
        startMigration(dependencies, scope, {
          repositories,
          options: { ...DEFAULT_OPTIONS, ...more },
        })
      const migration = await startThere(['a', 'Octo/B'])
      const repositories = await repositoriesOf(db, migration)
      assert.deepEqual(
        [
          migration.owner.login,
          ...repositories.map(({ name, permissions }) => [name, permissions.admin]),
        ],
        ['octo', ['a', true], ['b', true]],
      )
      for (const foreign of ['alice/site', 'other/a', 'nobody/none', 'none'])
        await assert.rejects(startThere(['c', foreign]), ({ errors }: InvalidRequest) => {
          assert.deepEqual(errors, [{ field: 'repositories', code: 'missing', index: 1 }], foreign)
          return true
        })
      const { id } = await startThere(['a'], { orgMetadataOnly: true })
      const { organizations } = await db
        .selectFrom('migrations')
        .select('organizations')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      const named = JSON.parse(organizations!) as { login: string }[]
      assert.deepEqual(
        named.map(({ login }) => login),
        ['octo'],
      )
      await startThere(['c'])
      await assert.rejects(startThere(['c']), ({ errors }: InvalidRequest) => {
        assert.match(errors[0]!.message!, /^octo already has 3 unfinished migrations/)
        return true
      })
      await start(dependencies, await viewer(db, 'alice'), 'site')
    },
  )

  test('is one transaction with its job', async (t) => {
    const { db, host, dependencies } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    const enqueue = async () => {
      throw new Error('no room in the queue')
    }
    const failing = { ...dependencies, queue: { ...dependencies.queue, enqueue } }
    await assert.rejects(start(failing, await viewer(db, 'alice'), 'site'), /no room/)
    assert.deepEqual(await db.selectFrom('migrations').selectAll().execute(), [])
    assert.deepEqual(await db.selectFrom('repository_lists').selectAll().execute(), [])
    assert.deepEqual(await db.selectFrom('repository_metadata').selectAll().execute(), [])
  })

  testOnSqlite('reads current metadata once and stores it', async (t) => {
    const { db, host, dependencies } = await scene(t, engine)
    const dir = await host.repository('alice/site', { files: { 'a.py': '1' } })
    await sync(dependencies)
    await host.git(['config', 'godwit.description', 'Newer than the repository index'], { dir })
    const alice = await viewer(db, 'alice')
    const { id } = await start(dependencies, alice, 'site')
    await host.git(['config', 'godwit.description', 'Too late'], { dir })
    await sync(dependencies)
    const migration = (await findMigration(db, { owner: alice.account }, id))!
    const [metadata] = await repositoriesOf(db, migration)
    assert.equal(metadata?.description, 'Newer than the repository index')
  })

  testOnSqlite('shows a template only to those who may read it', async (t) => {
    const { db, host, dependencies } = await scene(t, engine)
    await makeTemplates(host)
    await sync(dependencies)
    const alice = await viewer(db, 'alice')
    const names = ['of-public', 'of-private', 'of-shared', 'of-none']
    const repositories = await repositoriesOf(db, await start(dependencies, alice, ...names))
    assert.deepEqual(
      repositories.map(({ template }) => template?.name ?? null),
      ['public', null, 'shared', null],
    )
    assert.deepEqual(repositories[0]?.template?.permissions, {
      admin: false,
      push: false,
      pull: true,
    })
    assert.deepEqual(repositories[2]?.template?.permissions, {
      admin: false,
      push: true,
      pull: true,
    })
    assert.deepEqual(repositories[2]?.template?.collaborators, [])
  })

  test('with org_metadata_only stores the organizations', async (t) => {
    const { db, host, dependencies } = await scene(t, engine)
    await host.repository('octo/a', {
      files: { a: '1' },
      config: { 'godwit.collaborator': 'alice:admin' },
    })
    await host.repository('other/a', {
      files: { a: '1' },
      config: { 'godwit.collaborator': 'alice:write' },
    })
    await sync(dependencies)
    for (const login of ['octo', 'other'])
      await upsertAccount(db, login, { type: 'Organization' }, 0)
    const migration = await startMigration(dependencies, ownScope(await viewer(db, 'alice')), {
      repositories: [],
      options: { ...DEFAULT_OPTIONS, orgMetadataOnly: true },
    })
    assert.equal(migration.repositoryCount, 0)
    const organizations = await organizationsIn(db, migration)
    assert.deepEqual(
      organizations.map(({ login }) => login),
      ['octo'],
    )
  })
})

async function makeTemplates(host: GitHost): Promise<void> {
  await host.repository('octo/public', { files: { a: '1' }, public: true })
  await host.repository('octo/private', { files: { a: '1' } })
  await host.repository('octo/shared', {
    files: { a: '1' },
    config: { 'godwit.collaborator': 'ALICE:write' },
  })
  for (const name of ['public', 'private', 'shared', 'none']) {
    await host.repository(`alice/of-${name}`, {
      files: { a: '1' },
      config: { 'godwit.templateRepository': `octo/${name}` },
    })
  }
}
