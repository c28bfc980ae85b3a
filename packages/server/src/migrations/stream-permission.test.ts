import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { ensureAccount, upsertAccount } from '../accounts/account-store.ts'
import { expireForgeToken, MINUTE_MS, storeForgeToken } from '../accounts/forge-sign-in.ts'
import { putMembership } from '../accounts/membership-store.ts'
import { closeSession, openSession } from '../accounts/session-store.ts'
import { addToken, digestOf, revokeToken } from '../accounts/token-store.ts'
import { insertMigration } from './migration-store.ts'
import { findPermittedStreams } from './stream-permission.ts'

const NOW = 1_700_000_000_000

onEachEngine('the permission to follow a migration', (engine) => {
  test('lasts as long as the permission to start', async (t) => {
    const { db } = await openDatabase(t, engine)
    const alice = await ensureAccount(db, 'alice', NOW)
    const bob = await ensureAccount(db, 'bob', NOW)
    const about = { options: {} as never, repositories: [], organizations: null, now: NOW }
    for (const owner of [alice, bob])
      await insertMigration(db, { guid: owner.login, owner, ...about })
    for (const [owner, expiresAt] of [
      [alice, null],
      [alice, NOW + 10],
      [alice, null],
      [bob, null],
    ] as const)
      await addToken(db, owner, { name: '', expiresAt, now: NOW })
    await revokeToken(db, 3, NOW)

    const streams = [1, 2, 3, 4].flatMap((tokenId) =>
      [1, 2].map((migrationId) => ({ tokenId, migrationId })),
    )
    const permitted = async (at: number) =>
      [...(await findPermittedStreams(db, streams, at))].map(Object.values)
    const [first, second, bobs] = [
      [1, 1],
      [2, 1],
      [4, 2],
    ]
    assert.deepEqual(await permitted(NOW + 9), [first, second, bobs])
    assert.deepEqual(await permitted(NOW + 10), [first, bobs])
    await db.deleteFrom('tokens').where('account_id', '=', bob.id).execute()
    assert.deepEqual(await permitted(NOW + 10), [first])
    assert.deepEqual(await findPermittedStreams(db, [], NOW), new Set())
    const many = Array.from({ length: 1200 }, () => ({ tokenId: 1, migrationId: 1 }))
    assert.equal((await findPermittedStreams(db, many, NOW)).size, 1200)
  })

  test('with a token of the forge ends when the forge refuses it, or after an hour without a check', async (t) => {
    const { db } = await openDatabase(t, engine)
    const owner = await ensureAccount(db, 'alice', NOW)
    const about = { options: {} as never, repositories: [], organizations: null, now: NOW }
    await insertMigration(db, { guid: 'g', owner, ...about })
    const recordTokenCheck = (checkedAt: number) =>
      storeForgeToken(db, { digest: 'd', accountId: owner.id, checkedAt })
    const isPermitted = async (at: number) =>
      (await findPermittedStreams(db, [{ tokenId: 1, migrationId: 1 }], at)).size === 1
    const hour = 60 * MINUTE_MS
    await recordTokenCheck(NOW)
    assert.equal(await isPermitted(NOW + MINUTE_MS), true)
    assert.equal(await isPermitted(NOW + hour), false)
    await recordTokenCheck(NOW + hour)
    assert.equal(await isPermitted(NOW + hour + MINUTE_MS), true)
    await expireForgeToken(db, 'd', NOW + hour + MINUTE_MS)
    assert.equal(await isPermitted(NOW + hour + MINUTE_MS), false)
  })

  test('opened in a session ends with the session, whether or not its token is valid', async (t) => {
    const { db } = await openDatabase(t, engine)
    const owner = await ensureAccount(db, 'alice', NOW)
    const about = { options: {} as never, repositories: [], organizations: null, now: NOW }
    await insertMigration(db, { guid: 'g', owner, ...about })
    await addToken(db, owner, { name: '', expiresAt: null, now: NOW })
    const times = { now: NOW, ttlMs: 10 }
    const secrets = [
      await openSession(db, { tokenId: 1 }, times),
      await openSession(db, { tokenId: 1 }, times),
    ]
    const streams = [undefined, ...secrets.map(digestOf)].map((sessionDigest) => ({
      ...{ tokenId: 1, migrationId: 1, sessionDigest },
    }))
    const permitted = async (at: number) =>
      [...(await findPermittedStreams(db, streams, at))].map((each) => streams.indexOf(each))
    assert.deepEqual(await permitted(NOW + 9), [0, 1, 2])
    await closeSession(db, secrets[0]!)
    assert.deepEqual(await permitted(NOW + 9), [0, 2])
    assert.deepEqual(await permitted(NOW + 10), [0])
  })

  test('for an organization lasts while the account is its owner or a site admin', async (t) => {
    const { db } = await openDatabase(t, engine)
    const octo = await upsertAccount(db, 'octo', { type: 'Organization' }, NOW)
    const people = ['alice', 'bob', 'operator', 'eve']
    for (const [at, login] of people.entries()) {
      const account = await upsertAccount(db, login, { siteAdmin: login === 'operator' }, NOW)
      await addToken(db, account, { name: '', expiresAt: null, now: NOW })
      if (at < 2) {
        const role = login === 'alice' ? 'owner' : 'member'
        await putMembership(db, octo, { accountId: account.id, role }, 'manual')
      }
    }
    const about = { options: {} as never, repositories: [], organizations: null, now: NOW }
    await insertMigration(db, { guid: 'g', owner: octo, ...about })
    const streams = people.map((_, at) => ({ tokenId: at + 1, migrationId: 1 }))
    const permitted = async () =>
      [...(await findPermittedStreams(db, streams, NOW))].map(({ tokenId }) => people[tokenId - 1])
    assert.deepEqual(await permitted(), ['alice', 'operator'])
    await db.deleteFrom('memberships').execute()
    assert.deepEqual(await permitted(), ['operator'])
    await upsertAccount(db, 'octo', { type: 'User' }, NOW)
    assert.deepEqual(await permitted(), [])
  })
})
