import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { type Engine, onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import { GITEA_1_15, GITEA_1_22 } from '../../../../test/support/forge/render.ts'
import { NOT_FOUND, PROXY_NOT_FOUND } from '../../../../test/support/forge/responses.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { listIndex } from '../../../../test/support/list-index.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import { ForgeClient } from '../../../hosts/src/forge/client/forge-client.ts'
import { knownForgeCache } from '../../../hosts/src/forge/client/known-forge.ts'
import type { ForgeRepository } from '../../../hosts/src/forge/connect-forge.ts'
import { createForgeRepositories } from '../../../hosts/src/forge/forge-repositories.ts'
import { findAccount } from '../accounts/account-store.ts'
import { forgeSource, upsertForgeRepositories } from './forge-source.ts'
import { PermissionsUnavailable } from './permissions-unavailable.ts'
import { listKnown } from './repository-store.ts'
import { syncAllRepositories } from './sync.ts'

const MINUTE = 60_000

/** A forge with `Octo/Tools` and `Ann/Site`, whose directories have lower-case names, as on real forges. */
async function scene(t: TestContext, engine: Engine, dialect = GITEA_1_22) {
  const forge = await startForge({ dialect })
  t.after(forge.stop)
  const { world } = forge
  const octo = world.addUser('Octo', { isOrganization: true })
  const tools = Object.assign(world.addRepository(octo, 'Tools'), {
    description: 'sharp\nthings',
    topics: ['birds', 'sea'],
    isPrivate: true,
    isArchived: true,
  })
  const site = world.addRepository(world.addUser('Ann'), 'Site')
  const host = await gitHost()
  t.after(host.remove)
  for (const name of ['octo/tools', 'ann/site'])
    await host.repository(name, { files: { a: '1' }, wiki: { Home: 'hello' } })
  const { db } = await openDatabase(t, engine)
  let elapsed = 0
  const now = () => Date.now() + elapsed
  const warnings: string[] = []
  const client = new ForgeClient({ url: forge.url, token: 'admin-token', now, pauseMs: 1 })
  const anonymous = new ForgeClient({ url: forge.url, token: '', now, pauseMs: 1 })
  const directory = gitDirectory({
    root: host.root,
    git: host.godwitGit,
    layout: { kind: 'owner/name', mayBeLowerCase: true },
  })
  const source = forgeSource(directory, {
    db,
    now,
    forgeRepositories: createForgeRepositories({
      getForge: knownForgeCache(client, now),
      anonymous,
      now,
    }),
    warn: (message) => void warnings.push(message),
  })
  return {
    ...{ forge, world, octo, tools, site, host, db, source, warnings },
    sync: () => syncAllRepositories({ db, source, now }),
    pass: (ms: number) => {
      elapsed += ms
    },
    forgeRepositories: async () =>
      new Map(
        (await listIndex(db)).map((each) => [`${each.owner.login}/${each.name}`, each.metadata]),
      ),
  }
}

onEachEngine('repositories that a forge serves', (engine, testOnSqlite) => {
  for (const dialect of [GITEA_1_15, GITEA_1_22])
    testOnSqlite(`have the names and metadata of the forge: ${dialect.version}`, async (t) => {
      const { db, octo, tools, sync, forgeRepositories } = await scene(t, engine, dialect)
      const first = await sync()
      assert.deepEqual([first.found, first.read, first.refused], [2, 2, []])
      const all = await forgeRepositories()
      assert.deepEqual([...all.keys()].sort(), ['Ann/Site', 'Octo/Tools'])
      const { description, topics, private: isPrivate, archived } = all.get('Octo/Tools')!
      assert.deepEqual(
        { description, topics, isPrivate, archived },
        { description: 'sharp things', topics: ['birds', 'sea'], isPrivate: true, archived: true },
      )
      assert.equal(all.get('Ann/Site')?.private, false)
      assert.equal((await findAccount(db, 'octo'))?.type, 'Organization')
      assert.equal((await findAccount(db, 'ann'))?.type, 'User')

      // Repositories that were read within two seconds of a change are read once more. Then their change tokens list their files.
      await until('the change tokens are final', async () => {
        await sync()
        return (await listKnown(db)).every(({ changeToken }) => /[:~]/.test(changeToken))
      })
      assert.equal((await sync()).read, 0)
      tools.isPrivate = false
      assert.equal((await sync()).read, 1)
      assert.equal((await forgeRepositories()).get('Octo/Tools')?.private, false)
      octo.visibility = 'limited'
      await sync()
      assert.equal((await forgeRepositories()).get('Octo/Tools')?.private, true)
    })

  testOnSqlite('are all private if the forge requires a sign-in', async (t) => {
    const { forge, sync, forgeRepositories, pass } = await scene(t, engine)
    await sync()
    assert.equal((await forgeRepositories()).get('Ann/Site')?.private, false)
    forge.requiresSignIn = true
    pass(61 * MINUTE)
    await sync()
    assert.equal((await forgeRepositories()).get('Ann/Site')?.private, true)
  })

  testOnSqlite('are examined, read and locked under the names of the forge', async (t) => {
    const { source, host } = await scene(t, engine)
    const signal = AbortSignal.timeout(60_000)
    const name = { owner: 'Octo', name: 'Tools' }
    const examination = await source.examine(name, signal)
    assert.equal(examination.location.fullName, 'Octo/Tools')
    assert.ok(examination.wiki)
    await source.reconcileLock(name, async () => true)
    assert.ok(await source.hasLock(name))
    assert.match(
      await host.git(['config', 'receive.hideRefs'], { dir: host.path('octo/tools') }),
      /refs\//,
    )
    await source.reconcileLock(name, async () => false)
  })

  test('are hidden if the forge does not know them, and come back with the same id', async (t) => {
    const { db, world, octo, host, sync, forgeRepositories } = await scene(t, engine)
    await host.repository('ann/stray', { files: { a: '1' } })
    const reason = 'the forge does not know this repository'
    const { refused, found, missing } = await sync()
    assert.deepEqual(refused, [
      {
        path: 'ann/stray.git',
        reason,
        hiddenRepositories: { fullName: 'ann/stray' },
        isWithdrawn: true,
      },
    ])
    assert.deepEqual([found, missing], [2, 0])
    const before = (await listIndex(db)).find(({ name }) => name === 'Tools')
    const tools = world.repositories.get('octo/tools')!
    world.repositories.delete('octo/tools')
    assert.equal((await sync()).missing, 1)
    assert.deepEqual([...(await forgeRepositories()).keys()], ['Ann/Site'])
    world.repositories.set('octo/tools', tools)
    assert.equal(tools.owner, octo)
    await sync()
    const after = (await listIndex(db)).find(({ name }) => name === 'Tools')
    assert.equal(after?.id, before?.id)
  })

  test('keep the last metadata while the forge does not respond; unlisted ones are not shown', async (t) => {
    const { forge, world, host, source, sync, forgeRepositories, warnings, pass } = await scene(
      t,
      engine,
    )
    await sync()
    const before = await forgeRepositories()
    forge.faultFor = () => ({ response: { status: 502 } })
    await host.repository('ann/new', { files: { a: '1' } })
    world.addRepository(world.users.get('ann')!, 'New')
    const { refused, missing, read } = await sync()
    assert.deepEqual([missing, read], [0, 0])
    assert.deepEqual(refused, [
      {
        path: 'ann/new.git',
        reason: 'the forge has not listed this repository yet',
        hiddenRepositories: { fullName: 'ann/new' },
      },
    ])
    assert.match(
      warnings.join(),
      /the last list of the forge's repositories is used: .* \(status 502\)/,
    )
    assert.deepEqual(await forgeRepositories(), before)
    assert.equal((await source.find('ann', 'site'))?.name, 'Site')
    pass(MINUTE)
    await assert.rejects(source.find('ann', 'site'), PermissionsUnavailable)
    forge.faultFor = () => undefined
    assert.equal((await sync()).found, 3)
    assert.equal((await source.find('ann', 'NEW'))?.name, 'New')
  })

  test('keep a response that is newer than the list of the forge', async (t) => {
    const { db, sync } = await scene(t, engine)
    await sync()
    const stored = () =>
      db
        .selectFrom('forge_repositories')
        .select(['metadata', 'requested_at'])
        .where('name_key', '=', 'ann/site')
        .executeTakeFirstOrThrow()
    const { metadata, requested_at } = await stored()
    const older = JSON.parse(metadata) as ForgeRepository
    const newer = { ...older, metadata: { ...older.metadata, private: true } }
    await upsertForgeRepositories(db, [newer], requested_at + 2)
    await upsertForgeRepositories(db, [older], requested_at + 1)
    assert.deepEqual(JSON.parse((await stored()).metadata), newer)
    // The newer time is wrong: the clock was set back since.
    await upsertForgeRepositories(db, [older], requested_at - 60 * MINUTE)
    assert.deepEqual(JSON.parse((await stored()).metadata), older)
  })

  testOnSqlite(
    'are not marked missing because of a 404 of a proxy or a temporary 404',
    async (t) => {
      const { forge, source, sync, forgeRepositories, pass } = await scene(t, engine)
      await sync()
      pass(MINUTE)
      const isSite = (path: string) =>
        path.endsWith('/repos/Ann/Site') || path.endsWith('/repos/ann/site')
      forge.faultFor = ({ path }) => (isSite(path) ? { response: PROXY_NOT_FOUND } : undefined)
      await assert.rejects(source.find('ann', 'site'), PermissionsUnavailable)
      let passing = 1
      forge.faultFor = ({ path }) =>
        isSite(path) && passing-- > 0 ? { response: NOT_FOUND } : undefined
      assert.equal((await source.find('ann', 'site'))?.name, 'Site')
      assert.equal(passing, -1)
      assert.equal((await forgeRepositories()).size, 2)
    },
  )

  testOnSqlite('are not marked missing if the token may not see them', async (t) => {
    const { forge, world, sync, forgeRepositories, warnings, pass } = await scene(t, engine)
    await sync()
    world.users.get('root')!.isAdmin = false
    // What is known about the forge and the owner of the token is cached for an hour.
    pass(61 * MINUTE)
    assert.equal((await sync()).missing, 0)
    assert.equal((await forgeRepositories()).size, 2)
    assert.match(warnings.join(), /not an administrator's/)
    assert.ok(forge.requests.length > 0)
  })

  test('that no page lists, because others were deleted between two pages, are requested by name', async (t) => {
    const { forge, world, octo, host, sync } = await scene(t, engine)
    for (let n = 0; n < 60; n++) world.addRepository(octo, `r${n}`)
    await host.repository('octo/r48', { files: { a: '1' } })
    forge.faultFor = ({ path, query }) => {
      if (path.endsWith('/repos/search') && query.get('page') === '2')
        for (const name of ['r0', 'r1', 'r2']) world.repositories.delete(`octo/${name}`)
      return undefined
    }
    const { found, refused } = await sync()
    assert.deepEqual([found, refused], [3, []])
    await rm(host.path('octo/r48'), { recursive: true })
    assert.equal((await sync()).missing, 1)
  })
})
