import assert from 'node:assert/strict'
import { chmod, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { listIndex } from '../../../../test/support/list-index.ts'
import { withTimeout } from '../../../../test/support/wait-until.ts'
import type { Git } from '../../../git/src/git.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import type { RepositoryName, Source } from '../../../hosts/src/source.ts'
import {
  ensureAccount,
  findAccount,
  listAccounts,
  upsertAccount,
} from '../accounts/account-store.ts'
import { listMemberships, putMembership } from '../accounts/membership-store.ts'
import { addToken } from '../accounts/token-store.ts'
import { metadataOfUnreadable } from './repository-metadata.ts'
import { findByNameAsMap } from './repository-store.ts'
import {
  refreshRepositories,
  type SyncDependencies,
  syncAllRepositories,
  syncRepositories,
} from './sync.ts'

/** A repository index of a git host. `calls` counts the git processes that were started. */
async function scene(t: TestContext, engine: 'sqlite' | 'postgres') {
  const { db } = await openDatabase(t, engine)
  const host = await gitHost()
  t.after(host.remove)
  const calls = { count: 0 }
  const counted =
    <A extends unknown[], R>(call: (...args: A) => R) =>
    (...args: A): R => {
      calls.count++
      return call(...args)
    }
  const git: Git = {
    run: counted(host.godwitGit.run),
    text: counted(host.godwitGit.text),
    start: counted(host.godwitGit.start),
  }
  const dependencies: SyncDependencies = {
    db,
    source: gitDirectory({ root: host.root, git }),
    now: Date.now,
  }
  return { dependencies, host, calls }
}

async function indexedRepositories({
  db,
}: SyncDependencies): Promise<Record<string, string | null>> {
  const entries = await listIndex(db)
  return Object.fromEntries(entries.map((e) => [`${e.owner.login}/${e.name}`, e.problem]))
}

const refresh = async (dependencies: SyncDependencies, names: RepositoryName[]) =>
  refreshRepositories(dependencies, names, await findByNameAsMap(dependencies.db, names))

onEachEngine('the repository index', (engine, testOnSqlite) => {
  test('has the members of the members file until the file is removed', async (t) => {
    const { dependencies, host } = await scene(t, engine)
    const { db } = dependencies
    await host.repository('octo/tools')
    const file = join(host.root, 'octo/godwit-members')
    await writeFile(file, 'alice owner\nbob\nCarol member\n')
    const { warnings } = await syncAllRepositories(dependencies)
    assert.deepEqual(
      warnings.map(({ path }) => path),
      ['octo/godwit-members:2'],
    )
    const octo = (await findAccount(db, 'octo'))!
    assert.equal(octo.type, 'Organization')
    const members = async () =>
      (await listMemberships(db, octo)).map(({ member, role }) => `${member.login} ${role}`)
    const listed = ['alice owner', 'Carol member']
    assert.deepEqual(await members(), listed)
    /** Returns the new entries of the audit log. */
    const audited = async () => {
      const columns = ['actor', 'action', 'subject', 'details'] as const
      const entries = await db.selectFrom('audit_log').select(columns).orderBy('id').execute()
      await db.deleteFrom('audit_log').execute()
      return entries.map(({ actor, action, subject, details }) => {
        const { organization, role = '-', origin } = JSON.parse(details)
        return `${actor}: ${action} ${subject} ${organization} ${role} ${origin}`
      })
    }
    assert.deepEqual(await audited(), [
      'the service: member.put account alice octo owner file',
      'the service: member.put account Carol octo member file',
    ])
    await syncAllRepositories(dependencies)
    assert.deepEqual(await audited(), [], 'nothing has changed')
    await writeFile(file, 'alice member\nbob\nCarol member\n')
    await syncAllRepositories({ ...dependencies, actor: { login: 'command line' } })
    assert.deepEqual(await audited(), ['command line: member.put account alice octo member file'])
    await writeFile(file, 'alice owner\nbob\nCarol member\n')
    await syncRepositories(dependencies, [{ owner: 'octo', name: 'tools' }])
    assert.deepEqual(await audited(), ['the service: member.put account alice octo owner file'])
    const dave = await ensureAccount(db, 'dave', 0)
    await putMembership(db, octo, { accountId: dave.id, role: 'owner' }, 'manual')

    await rename(file, `${file}-renamed`)
    await symlink(`${file}-renamed`, file)
    assert.equal(
      (await syncAllRepositories(dependencies)).warnings.length,
      1,
      'a symbolic link is not followed',
    )
    assert.deepEqual(await members(), [...listed, 'dave owner'])
    await rm(file)
    await syncAllRepositories(dependencies)
    assert.deepEqual(await members(), ['dave owner'])
    assert.deepEqual(await audited(), [
      'the service: member.remove account alice octo - file',
      'the service: member.remove account Carol octo - file',
    ])
  })

  testOnSqlite('ignores a members file of a user with tokens, with a warning', async (t) => {
    const { dependencies, host } = await scene(t, engine)
    const alice = await ensureAccount(dependencies.db, 'alice', 0)
    await addToken(dependencies.db, alice, { name: '', expiresAt: null, now: 0 })
    await host.repository('alice/site')
    await writeFile(join(host.root, 'alice/godwit-members'), 'mallory owner\n')
    const { warnings } = await syncAllRepositories(dependencies)
    assert.match(warnings[0]!.reason, /a user with tokens/)
    assert.equal((await findAccount(dependencies.db, 'alice'))?.type, 'User')
    assert.deepEqual(await listMemberships(dependencies.db), [])
  })

  testOnSqlite(
    'an owner that the source reports as an organization becomes one, unless the operator changed it',
    async (t) => {
      const { dependencies, host } = await scene(t, engine)
      await host.repository('octo/a')
      await host.repository('octo/b', { config: { 'godwit.ownerType': 'Organization' } })
      await host.repository('alice/c', { config: { 'godwit.ownerType': 'Deity' } })
      await syncAllRepositories(dependencies)
      const types = async () => {
        const accounts = await listAccounts(dependencies.db)
        return accounts.map(({ login, type }) => `${login} ${type}`)
      }
      assert.deepEqual(await types(), ['alice User', 'octo Organization'])
      await upsertAccount(dependencies.db, 'octo', { type: 'User' }, 0)
      await host.repository('octo/d', { config: { 'godwit.ownerType': 'Organization' } })
      await syncAllRepositories(dependencies)
      assert.deepEqual(await types(), ['alice User', 'octo User'])
    },
  )

  testOnSqlite('an account is as old as its oldest readable repository', async (t) => {
    const { dependencies, host } = await scene(t, engine)
    const createdAt = async () => {
      const accounts = await listAccounts(dependencies.db)
      return Object.fromEntries(accounts.map((each) => [each.login, each.createdAt]))
    }
    const at = (year: number) => new Date(Date.UTC(year, 0, 1))
    await upsertAccount(dependencies.db, 'bob', {}, 5)
    const later = await host.repository('alice/later')
    await host.commit(later, { a: '1' }, { at: at(2021) })
    await host.commit(await host.repository('bob/own'), { a: '1' }, { at: at(2021) })
    await syncAllRepositories(dependencies)
    assert.deepEqual(await createdAt(), { alice: at(2021).getTime(), bob: 5 })
    await host.commit(await host.repository('alice/earlier'), { a: '1' }, { at: at(2019) })
    await host.commit(await host.repository('alice/lost'), { a: '1' }, { at: at(2001) })
    await host.loseObjects('alice/lost')
    await syncAllRepositories(dependencies)
    assert.deepEqual(await createdAt(), { alice: at(2019).getTime(), bob: 5 })
    await host.commit(later, { b: '1' }, { at: at(2023) })
    await syncAllRepositories(dependencies)
    assert.deepEqual(await createdAt(), { alice: at(2019).getTime(), bob: 5 })
  })

  testOnSqlite(
    'has all repositories of the host, and runs no git for unchanged ones',
    async (t) => {
      const { dependencies, host, calls } = await scene(t, engine)
      // Only a config with an include is read by running git.
      const config = { 'include.path': 'more' }
      await host.repository('alice/site', { files: { a: '1' }, description: 'Ünïcode', config })
      await host.repository('Bob/Empty')
      const first = await syncAllRepositories(dependencies)
      assert.deepEqual(first, {
        found: 2,
        read: 2,
        missing: 0,
        broken: [],
        refused: [],
        warnings: [],
      })
      assert.deepEqual(await indexedRepositories(dependencies), {
        'alice/site': null,
        'Bob/Empty': null,
      })

      calls.count = 0
      assert.deepEqual(await syncAllRepositories(dependencies), { ...first, read: 0 })
      assert.equal(calls.count, 0)

      await host.commit(host.path('alice/site'), { b: '2' })
      assert.deepEqual(await syncAllRepositories(dependencies), { ...first, read: 1 })
      assert.ok(calls.count > 0)
    },
  )

  testOnSqlite('keeps the id of a repository that is removed and comes back', async (t) => {
    const { dependencies, host } = await scene(t, engine)
    const dir = await host.repository('alice/site', { files: { a: '1' } })
    await syncAllRepositories(dependencies)
    const [before] = await listIndex(dependencies.db)
    await rename(dir, `${host.root}/renamed`)
    assert.equal((await syncAllRepositories(dependencies)).missing, 1)
    assert.deepEqual(await indexedRepositories(dependencies), {})
    await rename(`${host.root}/renamed`, dir)
    await syncAllRepositories(dependencies)
    const [after] = await listIndex(dependencies.db)
    assert.equal(after?.id, before?.id)
  })

  testOnSqlite(
    'lists an unreadable repository with the reason and its last metadata',
    async (t) => {
      const { dependencies, host } = await scene(t, engine)
      await host.repository('alice/good', { files: { a: '1' } })
      await host.repository('alice/site', { files: { 'a.py': '1' }, description: 'Last' })
      await syncAllRepositories(dependencies)
      await host.loseObjects('alice/site')
      const { broken } = await syncAllRepositories(dependencies)
      assert.deepEqual(
        broken.map(({ fullName }) => fullName),
        ['alice/site'],
      )
      assert.ok(broken[0]!.reason.length > 0 && !broken[0]!.reason.includes(host.root))
      const site = (await listIndex(dependencies.db)).find(({ name }) => name === 'site')
      assert.equal(site?.metadata.description, 'Last')
      assert.equal(site?.metadata.language, 'Python')
      assert.deepEqual((await syncAllRepositories(dependencies)).broken, broken)
    },
  )

  test('does not mark repositories missing if their directory cannot be read', async (t) => {
    if (process.getuid?.() === 0) return t.skip('root can read every directory')
    const { dependencies, host } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    await syncAllRepositories(dependencies)
    await chmod(join(host.root, 'alice'), 0)
    const report = await syncAllRepositories(dependencies)
    await chmod(join(host.root, 'alice'), 0o755)
    assert.deepEqual([report.missing, report.refused.length], [0, 1])
    assert.deepEqual(await indexedRepositories(dependencies), { 'alice/site': null })
  })

  testOnSqlite(
    'of owners that differ only in case, only the one with an account is listed',
    async (t) => {
      const { dependencies, host } = await scene(t, engine)
      await host.repository('alice/site', { files: { a: '1' } })
      await syncAllRepositories(dependencies)
      await host.repository('ALICE/secret', { files: { a: '1' } })
      await host.repository('ALICE/site', { files: { a: 'another' } })
      const reason = 'differs only by case from alice, which is served instead; rename one'
      const refused = [{ path: 'ALICE', reason, caseConflictWith: 'alice' }]
      const second = await syncAllRepositories(dependencies)
      assert.deepEqual(second, { found: 1, read: 0, missing: 0, broken: [], refused, warnings: [] })
      assert.deepEqual(await indexedRepositories(dependencies), { 'alice/site': null })

      // A refresh by name does not add them either, in any case of the name.
      for (const owner of ['alice', 'ALICE'])
        await refresh(
          dependencies,
          ['secret', 'site'].map((name) => ({ owner, name })),
        )
      assert.deepEqual(await indexedRepositories(dependencies), { 'alice/site': null })

      // After alice/site is deleted, ALICE/site does not take its place.
      await rm(host.path('alice/site'), { recursive: true })
      assert.equal((await syncAllRepositories(dependencies)).missing, 1)
      assert.deepEqual(await indexedRepositories(dependencies), {})
    },
  )

  testOnSqlite('fails, and marks nothing missing, if the directory does not exist', async (t) => {
    const { dependencies, host } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    await syncAllRepositories(dependencies)
    await rename(host.root, `${host.root}-renamed`)
    await assert.rejects(syncAllRepositories(dependencies))
    assert.deepEqual(await indexedRepositories(dependencies), { 'alice/site': null })
    await rename(`${host.root}-renamed`, host.root)
  })

  testOnSqlite(
    'an error that does not concern one repository is thrown after all reads have ended',
    async (t) => {
      const { dependencies, host } = await scene(t, engine)
      await host.repository('alice/first', { files: { a: '1' } })
      await host.repository('alice/second', { files: { a: '1' } })
      const [begun, failed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      let ended = false
      const source: Source = {
        ...dependencies.source,
        async metadata(found, known) {
          if (found.name === 'second') {
            await begun.promise
            failed.resolve()
            throw new Error('no memory left')
          }
          begun.resolve()
          await failed.promise
          const metadata = await dependencies.source.metadata(found, known)
          ended = true
          return metadata
        },
      }
      await assert.rejects(syncAllRepositories({ ...dependencies, source }), /no memory left/)
      assert.ok(ended)
    },
  )

  test('takes many new repositories of a new owner, in several batches', async (t) => {
    const { db } = await openDatabase(t, engine)
    const names = Array.from({ length: 450 }, (_, n) => `r${n}`)
    const source: Partial<Source> = {
      async *list() {
        for (const name of names)
          yield { found: { owner: 'alice', name, changeToken: '', hasWiki: false } }
      },
      metadata: async () => metadataOfUnreadable(0),
    }
    const { read } = await syncAllRepositories({ db, source: source as Source, now: Date.now })
    assert.equal(read, names.length)
    assert.equal((await listIndex(db)).length, names.length)
  })

  test('can be refreshed by name: new repositories are added, missing ones marked', async (t) => {
    const { dependencies, host } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    const deleted = await host.repository('alice/deleted', { files: { a: '1' } })
    await syncAllRepositories(dependencies)
    await host.repository('alice/new', { files: { a: '1' } })
    await rm(deleted, { recursive: true })
    const named = ['site', 'deleted', 'NEW', 'never'].map((name) => ({ owner: 'alice', name }))
    assert.equal(await refresh(dependencies, named), true)
    assert.deepEqual(await indexedRepositories(dependencies), {
      'alice/site': null,
      'alice/new': null,
    })
    assert.equal(await refresh(dependencies, named), false)
  })

  test('keeps what was refreshed by name during a synchronization', async (t) => {
    const { dependencies, host } = await scene(t, engine)
    const names = ['absent', 'deleted', 'edited'].map((name) => ({ owner: 'alice', name }))
    for (const { name } of names) await host.repository(`alice/${name}`, { files: { a: '1' } })
    await syncAllRepositories(dependencies)
    const [absent, deleted, edited] = names.map(({ name }) => host.path(`alice/${name}`))
    await rename(absent!, `${host.root}-absent`)
    for (const path of [deleted!, edited!]) await host.write(path, 'description', 'older')
    const [begun, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let read = 0
    const source: Source = {
      ...dependencies.source,
      async metadata(found, known) {
        const metadata = await dependencies.source.metadata(found, known)
        if (++read === 2) begun.resolve()
        await resumed.promise
        return metadata
      },
    }
    const synchronized = syncAllRepositories({ ...dependencies, source })
    await withTimeout('both are read', Promise.race([begun.promise, synchronized]))
    await rename(`${host.root}-absent`, absent!)
    await host.write(absent!, 'description', 'newer')
    await rm(deleted!, { recursive: true })
    await host.write(edited!, 'description', 'newer')
    await refresh(dependencies, names)
    resumed.resolve()
    await synchronized
    const entries = await listIndex(dependencies.db)
    assert.deepEqual(
      entries.map(({ name, metadata }) => [name, metadata.description]),
      [
        ['absent', 'newer'],
        ['edited', 'newer'],
      ],
    )
  })

  testOnSqlite(
    'has the members of an owner as soon as one of its repositories is announced',
    async (t) => {
      const { dependencies, host } = await scene(t, engine)
      await host.repository('octo/tools')
      await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob\n')
      const { warnings } = await syncRepositories(dependencies, [{ owner: 'octo', name: 'tools' }])
      assert.deepEqual(
        warnings.map(({ path }) => path),
        ['octo/godwit-members:2'],
      )
      const [membership] = await listMemberships(dependencies.db)
      assert.deepEqual(
        [membership?.organization.type, membership?.member.login, membership?.role],
        ['Organization', 'alice', 'owner'],
      )
    },
  )

  testOnSqlite('reads a repository again when its wiki is announced', async (t) => {
    const { dependencies, host } = await scene(t, engine)
    const sync = async (...names: string[]) => {
      const named = names.map((name) => ({ owner: 'octo', name }))
      const { found, read, refused } = await syncRepositories(dependencies, named)
      return [found, read, ...refused.map(({ path }) => path)]
    }
    await host.repository('octo/widgets')
    await host.repository('octo/widgets.wiki')
    assert.deepEqual(await sync('widgets.wiki'), [1, 1])
    assert.deepEqual(await indexedRepositories(dependencies), { 'octo/widgets': null })
    assert.deepEqual(await sync('widgets', 'Widgets.wiki'), [1, 0])
    await host.repository('octo/own.wiki')
    assert.deepEqual(await sync('own.wiki', 'ghost.wiki', '.wiki'), [
      1,
      1,
      'octo/ghost.wiki',
      'octo/.wiki',
    ])
  })
})
