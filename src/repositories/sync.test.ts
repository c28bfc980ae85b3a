import assert from 'node:assert/strict'
import { chmod, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../test/support/databases.ts'
import { gitHost } from '../../test/support/git-host.ts'
import {
  ensureAccount,
  findAccount,
  listAccounts,
  upsertAccount,
} from '../accounts/account-store.ts'
import { listMemberships, putMembership } from '../accounts/membership-store.ts'
import { addToken } from '../accounts/token-store.ts'
import type { Git } from '../git/git.ts'
import { gitDirectory } from '../sources/directory/git-directory.ts'
import type { RepositoryName, Source } from '../sources/source.ts'
import { findByNameAsMap, listCatalogue } from './repository-store.ts'
import { refreshRepositories, type SyncParts, syncCatalogue } from './sync.ts'

/** A catalogue on a git host, and how many git processes it has cost. */
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
  const parts: SyncParts = { db, source: gitDirectory({ root: host.root, git }), now: Date.now }
  return { parts, host, calls }
}

async function catalogue({ db }: SyncParts): Promise<Record<string, string | null>> {
  const entries = await listCatalogue(db)
  return Object.fromEntries(entries.map((e) => [`${e.owner.login}/${e.name}`, e.problem]))
}

const refresh = async (parts: SyncParts, names: RepositoryName[]) =>
  refreshRepositories(parts, names, await findByNameAsMap(parts.db, names))

onEachEngine('the catalogue', (engine) => {
  test('has the members of the members file until the file is removed', async (t) => {
    const { parts, host } = await scene(t, engine)
    const { db } = parts
    await host.repository('octo/tools')
    const file = join(host.root, 'octo/godwit-members')
    await writeFile(file, 'alice owner\nbob\nCarol member\n')
    const { warnings } = await syncCatalogue(parts)
    assert.deepEqual(
      warnings.map(({ path }) => path),
      ['octo/godwit-members:2'],
    )
    const octo = (await findAccount(db, 'octo'))!
    assert.equal(octo.type, 'Organization')
    const members = async () =>
      (await listMemberships(db, octo)).map(({ member, role }) => `${member.login} ${role}`)
    const stated = ['alice owner', 'Carol member']
    assert.deepEqual(await members(), stated)
    const dave = await ensureAccount(db, 'dave', 0)
    await putMembership(db, octo, { accountId: dave.id, role: 'owner' }, 'manual')

    await rename(file, `${file}-away`)
    await symlink(`${file}-away`, file)
    assert.equal((await syncCatalogue(parts)).warnings.length, 1, 'a link is not followed')
    assert.deepEqual(await members(), [...stated, 'dave owner'])
    await rm(file)
    await syncCatalogue(parts)
    assert.deepEqual(await members(), ['dave owner'])
  })

  test('ignores a members file of a user with tokens and says why', async (t) => {
    const { parts, host } = await scene(t, engine)
    const alice = await ensureAccount(parts.db, 'alice', 0)
    await addToken(parts.db, alice, { name: '', expiresAt: null, now: 0 })
    await host.repository('alice/site')
    await writeFile(join(host.root, 'alice/godwit-members'), 'mallory owner\n')
    const { warnings } = await syncCatalogue(parts)
    assert.match(warnings[0]!.reason, /a user with tokens/)
    assert.equal((await findAccount(parts.db, 'alice'))?.type, 'User')
    assert.deepEqual(await listMemberships(parts.db), [])
  })

  test('an owner that the source calls an organization becomes one, unless the operator changes it', async (t) => {
    const { parts, host } = await scene(t, engine)
    await host.repository('octo/a')
    await host.repository('octo/b', { config: { 'godwit.ownerType': 'Organization' } })
    await host.repository('alice/c', { config: { 'godwit.ownerType': 'Deity' } })
    await syncCatalogue(parts)
    const types = async () => {
      const accounts = await listAccounts(parts.db)
      return accounts.map(({ login, type }) => `${login} ${type}`)
    }
    assert.deepEqual(await types(), ['alice User', 'octo Organization'])
    await upsertAccount(parts.db, 'octo', { type: 'User' }, 0)
    await host.repository('octo/d', { config: { 'godwit.ownerType': 'Organization' } })
    await syncCatalogue(parts)
    assert.deepEqual(await types(), ['alice User', 'octo User'])
  })

  test('an account is as old as its oldest readable repository', async (t) => {
    const { parts, host } = await scene(t, engine)
    const createdAt = async () => {
      const accounts = await listAccounts(parts.db)
      return Object.fromEntries(accounts.map((each) => [each.login, each.createdAt]))
    }
    const at = (year: number) => new Date(Date.UTC(year, 0, 1))
    await upsertAccount(parts.db, 'bob', {}, 5)
    const later = await host.repository('alice/later')
    await host.commit(later, { a: '1' }, { at: at(2021) })
    await host.commit(await host.repository('bob/own'), { a: '1' }, { at: at(2021) })
    await syncCatalogue(parts)
    assert.deepEqual(await createdAt(), { alice: at(2021).getTime(), bob: 5 })
    await host.commit(await host.repository('alice/earlier'), { a: '1' }, { at: at(2019) })
    await host.commit(await host.repository('alice/lost'), { a: '1' }, { at: at(2001) })
    await host.loseObjects('alice/lost')
    await syncCatalogue(parts)
    assert.deepEqual(await createdAt(), { alice: at(2019).getTime(), bob: 5 })
    await host.commit(later, { b: '1' }, { at: at(2023) })
    await syncCatalogue(parts)
    assert.deepEqual(await createdAt(), { alice: at(2019).getTime(), bob: 5 })
  })

  test('has all repositories of the host, and runs no git for unchanged ones', async (t) => {
    const { parts, host, calls } = await scene(t, engine)
    // What includes another file is asked of git; an ordinary repository needs none.
    const config = { 'include.path': 'more' }
    await host.repository('alice/site', { files: { a: '1' }, description: 'Ünïcode', config })
    await host.repository('Bob/Empty')
    const first = await syncCatalogue(parts)
    assert.deepEqual(first, {
      found: 2,
      read: 2,
      missing: 0,
      broken: [],
      refused: [],
      warnings: [],
    })
    assert.deepEqual(await catalogue(parts), { 'alice/site': null, 'Bob/Empty': null })

    calls.count = 0
    assert.deepEqual(await syncCatalogue(parts), { ...first, read: 0 })
    assert.equal(calls.count, 0)

    await host.commit(host.path('alice/site'), { b: '2' })
    assert.deepEqual(await syncCatalogue(parts), { ...first, read: 1 })
    assert.ok(calls.count > 0)
  })

  test('keeps the id of a repository that is removed and comes back', async (t) => {
    const { parts, host } = await scene(t, engine)
    const dir = await host.repository('alice/site', { files: { a: '1' } })
    await syncCatalogue(parts)
    const [before] = await listCatalogue(parts.db)
    await rename(dir, `${host.root}/away`)
    assert.equal((await syncCatalogue(parts)).missing, 1)
    assert.deepEqual(await catalogue(parts), {})
    await rename(`${host.root}/away`, dir)
    await syncCatalogue(parts)
    const [after] = await listCatalogue(parts.db)
    assert.equal(after?.id, before?.id)
  })

  test('lists an unreadable repository with the reason and its last facts', async (t) => {
    const { parts, host } = await scene(t, engine)
    await host.repository('alice/good', { files: { a: '1' } })
    await host.repository('alice/site', { files: { 'a.py': '1' }, description: 'Kept' })
    await syncCatalogue(parts)
    await host.loseObjects('alice/site')
    const { broken } = await syncCatalogue(parts)
    assert.deepEqual(
      broken.map(({ fullName }) => fullName),
      ['alice/site'],
    )
    assert.ok(broken[0]!.reason.length > 0 && !broken[0]!.reason.includes(host.root))
    const site = (await listCatalogue(parts.db)).find(({ name }) => name === 'site')
    assert.equal(site?.facts.description, 'Kept')
    assert.equal(site?.facts.language, 'Python')
    assert.deepEqual((await syncCatalogue(parts)).broken, broken)
  })

  test('does not mark repositories missing that it could not look at', async (t) => {
    if (process.getuid?.() === 0) return t.skip('root may look everywhere')
    const { parts, host } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    await syncCatalogue(parts)
    await chmod(join(host.root, 'alice'), 0)
    const report = await syncCatalogue(parts)
    await chmod(join(host.root, 'alice'), 0o755)
    assert.deepEqual([report.missing, report.refused.length], [0, 1])
    assert.deepEqual(await catalogue(parts), { 'alice/site': null })
  })

  test('of owners that differ only in case, the one with the account keeps it', async (t) => {
    const { parts, host } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    await syncCatalogue(parts)
    await host.repository('ALICE/secret', { files: { a: '1' } })
    await host.repository('ALICE/site', { files: { a: 'another' } })
    const reason = 'its name differs only in case from alice'
    const refused = [{ path: 'ALICE', reason, caseConflictWith: 'alice' }]
    const second = await syncCatalogue(parts)
    assert.deepEqual(second, { found: 1, read: 0, missing: 0, broken: [], refused, warnings: [] })
    assert.deepEqual(await catalogue(parts), { 'alice/site': null })

    // Nor by name, in whichever case alice asks for it.
    for (const owner of ['alice', 'ALICE'])
      await refresh(
        parts,
        ['secret', 'site'].map((name) => ({ owner, name })),
      )
    assert.deepEqual(await catalogue(parts), { 'alice/site': null })

    // What is alice's and gone is gone, and ALICE comes into nothing of it.
    await rm(host.path('alice/site'), { recursive: true })
    assert.equal((await syncCatalogue(parts)).missing, 1)
    assert.deepEqual(await catalogue(parts), {})
  })

  test('fails, and marks nothing missing, if the directory does not exist', async (t) => {
    const { parts, host } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    await syncCatalogue(parts)
    await rename(host.root, `${host.root}-away`)
    await assert.rejects(syncCatalogue(parts))
    assert.deepEqual(await catalogue(parts), { 'alice/site': null })
    await rename(`${host.root}-away`, host.root)
  })

  test('an error that does not concern one repository is thrown after all reads have ended', async (t) => {
    const { parts, host } = await scene(t, engine)
    await host.repository('alice/first', { files: { a: '1' } })
    await host.repository('alice/second', { files: { a: '1' } })
    const [begun, failed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let ended = false
    const source: Source = {
      ...parts.source,
      async facts(found, known) {
        if (found.name === 'second') {
          await begun.promise
          failed.resolve()
          throw new Error('no memory left')
        }
        begun.resolve()
        await failed.promise
        const facts = await parts.source.facts(found, known)
        ended = true
        return facts
      },
    }
    await assert.rejects(syncCatalogue({ ...parts, source }), /no memory left/)
    assert.ok(ended)
  })

  test('can be refreshed by name: new repositories are added, missing ones marked', async (t) => {
    const { parts, host } = await scene(t, engine)
    await host.repository('alice/site', { files: { a: '1' } })
    const gone = await host.repository('alice/gone', { files: { a: '1' } })
    await syncCatalogue(parts)
    await host.repository('alice/new', { files: { a: '1' } })
    await rm(gone, { recursive: true })
    const named = ['site', 'gone', 'NEW', 'never'].map((name) => ({ owner: 'alice', name }))
    assert.equal(await refresh(parts, named), true)
    assert.deepEqual(await catalogue(parts), { 'alice/site': null, 'alice/new': null })
    assert.equal(await refresh(parts, named), false)
  })
})
