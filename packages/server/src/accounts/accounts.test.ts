import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import type { Account, Viewer } from './account.ts'
import {
  accountOfForgeUser,
  ensureAccount,
  findAccount,
  listAccounts,
  removeUnusedAccount,
  upsertAccount,
} from './account-store.ts'
import { createAuthenticator } from './authenticator.ts'
import {
  closeSession,
  closeSessionsOf,
  openSession,
  openSessionWithoutToken,
  sweepSessions,
} from './session-store.ts'
import {
  addToken,
  createToken,
  digestOf,
  findViewerByTokenId,
  hasOnlyRevokedTokens,
  isGodwitToken,
  listTokens,
  revokeToken,
  revokeTokensOf,
  sweepTokens,
} from './token-store.ts'

const NOW = Date.UTC(2026, 10, 14)
const DAY = 86_400_000

test('a token is recognizable, and its checksum detects a typo', () => {
  const token = createToken()
  assert.match(token, /^gwt_[0-9A-Za-z]{38}$/)
  assert.ok(isGodwitToken(token))
  const wrong = token.slice(0, 10) + (token[10] === 'a' ? 'b' : 'a') + token.slice(11)
  assert.equal(isGodwitToken(wrong), false)
  assert.equal(isGodwitToken(`${token}x`), false)
  assert.notEqual(createToken(), token)
})

onEachEngine('accounts', (engine) => {
  test('are found in any letter case and shown as last written', async (t) => {
    const { db } = await openDatabase(t, engine)
    const created = await ensureAccount(db, 'Alice', NOW)
    assert.deepEqual(created, {
      id: 1,
      login: 'Alice',
      type: 'User',
      siteAdmin: false,
      createdAt: NOW,
    })
    assert.deepEqual(await findAccount(db, 'aLICE'), created)
    await ensureAccount(db, 'alice', NOW)
    assert.deepEqual(await listAccounts(db), [{ ...created, login: 'alice' }])
  })

  test('set changes only the given properties', async (t) => {
    const { db } = await openDatabase(t, engine)
    await upsertAccount(db, 'Octo', { type: 'Organization' }, NOW)
    const octo = await upsertAccount(db, 'octo', { siteAdmin: true }, NOW)
    assert.deepEqual(octo, {
      id: 1,
      login: 'Octo',
      type: 'Organization',
      siteAdmin: true,
      createdAt: NOW,
    })
    assert.deepEqual(await findAccount(db, 'octo'), octo)
  })

  test('are removed only if nothing refers to them', async (t) => {
    const { db } = await openDatabase(t, engine)
    const octo = await ensureAccount(db, 'octo', NOW, 'Organization')
    const dave = await ensureAccount(db, 'dave', NOW)
    await db
      .insertInto('forge_permissions')
      .values({ account_id: octo.id, requested_at: NOW })
      .execute()
    await db
      .insertInto('schedules')
      .values({
        ...{ owner_id: octo.id, runs_as_id: dave.id, repositories: '[]', options: '{}', keep: 1 },
        ...{ all_repositories: 1, every: 'day', at: '03:30', time_zone: 'UTC', next_run_at: NOW },
        ...{ created_at: NOW, updated_at: NOW },
      })
      .execute()
    const remove = (account: Account) =>
      db.transaction().execute((tx) => removeUnusedAccount(tx, account))
    assert.equal(await remove(octo), false)
    assert.equal(await remove(dave), false)
    await db.deleteFrom('schedules').execute()
    assert.equal(await remove(octo), true)
    assert.equal(await remove(dave), true)
  })

  test('have the spelling of the forge, whose directories are in lower case', async (t) => {
    const { db } = await openDatabase(t, engine)
    await ensureAccount(db, 'ann', NOW)
    const user = { id: 7, login: 'Ann', createdAt: NOW - DAY }
    const account = await db.transaction().execute((tx) => accountOfForgeUser(tx, user))
    assert.ok('id' in account)
    assert.equal(account.login, 'Ann')
    assert.equal(account.createdAt, NOW - DAY)
  })
})

onEachEngine('tokens', (engine) => {
  test('are valid until they expire', async (t) => {
    const { db } = await openDatabase(t, engine)
    let now = NOW
    const { viewerOf } = createAuthenticator({ db, now: () => now })
    const alice = await ensureAccount(db, 'alice', NOW)
    const token = await addToken(db, alice, { name: 'laptop', expiresAt: NOW + DAY, now })
    assert.deepEqual(await viewerOf(token), { account: alice, tokenId: 1 })
    assert.equal(await viewerOf(createToken()), undefined)
    assert.equal(await viewerOf('nonsense'), undefined)
    now += DAY
    assert.equal(await viewerOf(token), undefined)
  })

  test('cannot be used by their id either once they have expired or are revoked', async (t) => {
    const { db } = await openDatabase(t, engine)
    const alice = await ensureAccount(db, 'alice', NOW)
    await addToken(db, alice, { name: '', expiresAt: NOW + DAY, now: NOW })
    const expected = { account: alice, tokenId: 1 }
    assert.deepEqual(await findViewerByTokenId(db, 1, NOW + DAY - 1), expected)
    assert.equal(await findViewerByTokenId(db, 1, NOW + DAY), undefined)
    await revokeToken(db, 1, NOW)
    assert.equal(await findViewerByTokenId(db, 1, NOW), undefined)
  })

  test('stop working when they are revoked', async (t) => {
    const { db } = await openDatabase(t, engine)
    const { viewerOf } = createAuthenticator({ db, now: () => NOW })
    const alice = await ensureAccount(db, 'alice', NOW)
    const token = await addToken(db, alice, { name: '', expiresAt: null, now: NOW })
    assert.ok(await viewerOf(token))
    assert.equal((await revokeToken(db, 1, NOW))?.id, alice.id)
    assert.equal(await revokeToken(db, 1, NOW), undefined)
    assert.equal(await revokeToken(db, 99, NOW), undefined)
    assert.equal(await viewerOf(token), undefined)
  })

  test('are stored as a digest, with their last use', async (t) => {
    const { db } = await openDatabase(t, engine)
    const { viewerOf, recordUses } = createAuthenticator({ db, now: () => NOW + 5 })
    const alice = await ensureAccount(db, 'alice', NOW)
    const token = await addToken(db, alice, { name: 'ci', expiresAt: null, now: NOW })
    const stored = JSON.stringify(await db.selectFrom('tokens').selectAll().execute())
    assert.ok(!stored.includes(token.slice(4, 20)))
    assert.ok(stored.includes(digestOf(token)))
    await viewerOf(token, '192.0.2.7')
    await recordUses()
    assert.deepEqual(await listTokens(db), [
      {
        id: 1,
        login: 'alice',
        name: 'ci',
        isReadOnly: false,
        organization: null,
        createdAt: NOW,
        expiresAt: null,
        lastUsedAt: NOW + 5,
        lastUsedIp: '192.0.2.7',
        revokedAt: null,
      },
    ])
    await viewerOf(token, 'not an address')
    await recordUses()
    assert.equal((await listTokens(db))[0]!.lastUsedIp, null)
  })

  test('that have expired are reported once a day when they are used', async (t) => {
    const { db } = await openDatabase(t, engine)
    let now = NOW
    const reports: string[] = []
    const onExpired = async ({ account, tokenId }: Viewer, ip: string) =>
      void reports.push(`${account.login} ${tokenId} ${ip}`)
    const { viewerOf } = createAuthenticator({ db, now: () => now, onExpired })
    const alice = await ensureAccount(db, 'alice', NOW)
    const token = await addToken(db, alice, { name: '', expiresAt: NOW + DAY, now })
    await viewerOf(token, '192.0.2.7')
    now += DAY
    for (let n = 0; n < 3; n++) assert.equal(await viewerOf(token, '192.0.2.8'), undefined)
    assert.deepEqual(reports, ['alice 1 192.0.2.8'])
    now += DAY
    await viewerOf(token, '192.0.2.9')
    assert.deepEqual(reports, ['alice 1 192.0.2.8', 'alice 1 192.0.2.9'])
    await revokeToken(db, 1, now)
    now += DAY
    await viewerOf(token, '192.0.2.9')
    assert.equal(reports.length, 2)
  })

  test('that were revoked long ago are deleted, but a removed account stays removed', async (t) => {
    const { db } = await openDatabase(t, engine)
    const alice = await ensureAccount(db, 'alice', NOW)
    const bob = await ensureAccount(db, 'bob', NOW)
    const names = async () => (await listTokens(db)).map(({ name }) => name).sort()
    for (const name of ['first', 'last', 'own'])
      await addToken(db, alice, { name, expiresAt: null, now: NOW })
    await revokeTokensOf(db, alice, { now: NOW, bySelf: true, id: 3 })
    await revokeTokensOf(db, alice, { now: NOW, bySelf: false })
    // Without its row, this token would work again.
    const ofForge = { account_id: bob.id, kind: 'forge', name: 'of the forge', digest: '' }
    for (const digest of ['a', 'b'])
      await db
        .insertInto('tokens')
        .values({ ...ofForge, digest, created_at: NOW, revoked_at: NOW })
        .execute()
    await sweepTokens(db, NOW + 90 * DAY)
    assert.equal((await db.selectFrom('tokens').select('id').execute()).length, 5)
    await sweepTokens(db, NOW + 90 * DAY + 1)
    assert.equal((await db.selectFrom('tokens').select('id').execute()).length, 3)
    assert.ok((await names()).includes('last'))
    assert.equal(await hasOnlyRevokedTokens(db, alice), true)
  })

  test('that an account revokes itself do not count as its removal', async (t) => {
    const { db } = await openDatabase(t, engine)
    const alice = await ensureAccount(db, 'alice', NOW)
    const isRemoved = () => hasOnlyRevokedTokens(db, alice)
    for (const kind of ['token', 'own'] as const)
      await addToken(db, alice, { name: '', expiresAt: null, now: NOW, kind })
    assert.deepEqual(await revokeTokensOf(db, alice, { now: NOW, bySelf: true, id: 2 }), [2])
    assert.equal(await isRemoved(), false)
    await revokeToken(db, 1, NOW)
    assert.equal(await isRemoved(), true)
    await addToken(db, alice, { name: '', expiresAt: null, now: NOW })
    assert.equal(await isRemoved(), false)
  })
})

test('uses of tokens that could not be recorded are recorded later', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  let now = NOW
  const { viewerOf, recordUses } = createAuthenticator({ db, now: () => now })
  const alice = await ensureAccount(db, 'alice', NOW)
  const tokens: string[] = []
  for (const name of ['first', 'second'])
    tokens.push(await addToken(db, alice, { name, expiresAt: null, now: NOW }))
  for (const token of tokens) await viewerOf(token)
  await sql`pragma query_only = on`.execute(db)
  await assert.rejects(recordUses())
  await sql`pragma query_only = off`.execute(db)
  now++
  await viewerOf(tokens[0]!)
  await recordUses()
  assert.deepEqual(
    (await listTokens(db)).map(({ lastUsedAt }) => lastUsedAt),
    [NOW + 1, NOW],
  )
})

onEachEngine('sessions', (engine) => {
  const TIMES = { now: NOW, ttlMs: DAY }

  test('without a token end after their time, and nothing of them stays', async (t) => {
    const { db } = await openDatabase(t, engine)
    let now = NOW + DAY - 1
    const { viewerInSession, viewerOf } = createAuthenticator({ db, now: () => now })
    const alice = await ensureAccount(db, 'alice', NOW)
    const { secret, tokenId } = await openSessionWithoutToken(db, alice, TIMES)
    const viewer = { account: alice, tokenId, session: { openedAt: NOW, digest: digestOf(secret) } }
    assert.deepEqual(await viewerInSession(secret), viewer)
    assert.equal(await viewerOf(secret), undefined)
    assert.deepEqual(await listTokens(db), [])
    now++
    assert.equal(await viewerInSession(secret), undefined)
    await sweepSessions(db, now)
    assert.deepEqual(await db.selectFrom('tokens').select('id').execute(), [])
  })

  test('end with the oldest if a token or an account has too many', async (t) => {
    const { db } = await openDatabase(t, engine)
    const { viewerInSession } = createAuthenticator({ db, now: () => NOW })
    const alice = await ensureAccount(db, 'alice', NOW)
    const token = await addToken(db, alice, { name: '', expiresAt: null, now: NOW })
    const byToken: string[] = []
    const without: string[] = []
    for (let now = NOW; now < NOW + 52; now++) {
      byToken.push(await openSession(db, { tokenId: 1, token }, { now, ttlMs: DAY }))
      without.push((await openSessionWithoutToken(db, alice, { now, ttlMs: DAY })).secret)
    }
    for (const secrets of [byToken, without]) {
      const isOpen = await Promise.all(secrets.map(async (each) => !!(await viewerInSession(each))))
      assert.deepEqual(isOpen, [false, false, ...Array(50).fill(true)])
    }
    const { length } = await db.selectFrom('sessions').select('digest').execute()
    assert.equal(length, 100)
  })

  test('end one by one, or all of an account at once, and its tokens stay', async (t) => {
    const { db } = await openDatabase(t, engine)
    const { viewerInSession, viewerOf } = createAuthenticator({ db, now: () => NOW })
    const alice = await ensureAccount(db, 'alice', NOW)
    const bob = await ensureAccount(db, 'bob', NOW)
    const token = await addToken(db, alice, { name: '', expiresAt: null, now: NOW })
    const open = async (account = alice) =>
      (await openSessionWithoutToken(db, account, TIMES)).secret
    const secrets = [
      await open(),
      await open(),
      await openSession(db, { tokenId: 1, token }, TIMES),
    ]
    const ofBob = await open(bob)
    const states = () => Promise.all(secrets.map(async (each) => !!(await viewerInSession(each))))
    await closeSession(db, secrets[0]!)
    assert.deepEqual(await states(), [false, true, true])
    await closeSessionsOf(db, alice)
    assert.deepEqual(await states(), [false, false, false])
    assert.ok(await viewerInSession(ofBob))
    assert.ok(await viewerOf(token))
    assert.equal((await db.selectFrom('tokens').select('id').execute()).length, 2)
  })
})
