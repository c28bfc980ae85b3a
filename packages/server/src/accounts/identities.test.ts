import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import type { Db } from '../db/database.ts'
import { ensureAccount, isUnused, upsertAccount } from './account-store.ts'
import {
  accountOfIdentity,
  type Identity,
  openSessionOfIdentity,
  unbindIdentity,
} from './identity-store.ts'
import { closeSessionsOf, findSession } from './session-store.ts'
import { addToken, hasOnlyRevokedTokens, revokeToken } from './token-store.ts'

const NOW = Date.UTC(2026, 10, 14)
const issuer = 'https://id.example'

/** Signs in, and returns the login of the account or the reason of the refusal. */
async function signIn(db: Db, identity: Omit<Identity, 'issuer'>, mayCreate = false) {
  const found = await accountOfIdentity(db, { issuer, ...identity }, { mayCreate, now: NOW })
  return 'refusal' in found ? found.refusal : found.account.login
}

onEachEngine('an identity', (engine) => {
  test('has the account of its first login for ever, and nobody else has it', async (t) => {
    const { db } = await openDatabase(t, engine)
    const alice = await ensureAccount(db, 'Alice', NOW)
    await ensureAccount(db, 'bob', NOW)
    assert.equal(await signIn(db, { subject: '1', login: 'alice' }), 'Alice')
    assert.equal(await signIn(db, { subject: '1', login: 'bob' }), 'Alice')
    assert.equal(await signIn(db, { subject: '2', login: 'alice' }), 'taken')
    const other = { issuer: 'https://other.example', subject: '1', login: 'alice' }
    const found = await accountOfIdentity(db, other, { mayCreate: true, now: NOW })
    assert.deepEqual(found, { refusal: 'taken' })
    assert.equal(await isUnused(db, alice), false)
    assert.equal(await unbindIdentity(db, alice, NOW), true)
    assert.equal(await unbindIdentity(db, alice, NOW), false)
    assert.equal(await signIn(db, { subject: '2', login: 'alice' }), 'Alice')
  })

  test('of two sign-ins at the same time, one gets the account', async (t) => {
    const { db } = await openDatabase(t, engine)
    await ensureAccount(db, 'alice', NOW)
    const both = ['1', '2'].map((subject) => signIn(db, { subject, login: 'alice' }))
    assert.deepEqual((await Promise.all(both)).sort(), ['alice', 'taken'])
    const same = [1, 2].map(() => signIn(db, { subject: '3', login: 'carol' }, true))
    assert.deepEqual(await Promise.all(same), ['carol', 'carol'])
  })

  test('gets a new account only if that is allowed, or as a collaborator', async (t) => {
    const { db } = await openDatabase(t, engine)
    const owner = await ensureAccount(db, 'owner', NOW)
    assert.equal(await signIn(db, { subject: '1', login: 'dave' }), 'unknown')
    assert.equal(await signIn(db, { subject: '1', login: 'dave' }, true), 'dave')
    await db
      .insertInto('repositories')
      .values({
        ...{ owner_id: owner.id, name: 'site', name_key: 'site', change_token: '', metadata: '{}' },
        ...{ synced_at: NOW, private: 1, created_at: NOW, updated_at: NOW, pushed_at: NOW },
      })
      .execute()
    await db
      .insertInto('collaborators')
      .values({ repository_id: 1, login_key: 'erin', origin: 'file', permission: 'read' })
      .execute()
    assert.equal(await signIn(db, { subject: '2', login: 'Erin' }), 'Erin')
  })

  test('gets neither an organization nor a site admin, unless a claim makes it one', async (t) => {
    const { db } = await openDatabase(t, engine)
    await upsertAccount(db, 'octo', { type: 'Organization' }, NOW)
    await upsertAccount(db, 'root', { siteAdmin: true }, NOW)
    assert.equal(await signIn(db, { subject: '1', login: 'octo' }, true), 'organization')
    assert.equal(await signIn(db, { subject: '2', login: 'root' }), 'site-admin')
    assert.equal(await signIn(db, { subject: '2', login: 'root', siteAdmin: false }), 'site-admin')
    assert.equal(await signIn(db, { subject: '2', login: 'root', siteAdmin: true }), 'root')
  })

  test('of the forge is a person of the forge: a new one with a former login gets a new account', async (t) => {
    const { db } = await openDatabase(t, engine)
    assert.equal(await signIn(db, { subject: '7', login: 'ann', forgeId: 7 }), 'ann')
    const row = await db.selectFrom('accounts').selectAll().executeTakeFirstOrThrow()
    assert.equal(row.forge_id, 7)
    assert.equal(await signIn(db, { subject: '8', login: 'Ann', forgeId: 8 }), 'Ann')
    const logins = await db.selectFrom('accounts').select('login').orderBy('id').execute()
    assert.deepEqual(
      logins.map(({ login }) => login),
      ['ann--7', 'Ann'],
    )
  })

  test('that is unbound during its sign-in gets no session', async (t) => {
    const { db } = await openDatabase(t, engine)
    const identity = { issuer, subject: '1', login: 'alice' }
    const alice = await ensureAccount(db, 'alice', NOW)
    const open = () =>
      db
        .transaction()
        .execute((tx) => openSessionOfIdentity(tx, identity, alice, { now: NOW, ttlMs: 10 }))
    await signIn(db, identity)
    const opened = await open()
    await unbindIdentity(db, alice, NOW)
    assert.equal(await open(), undefined)
    assert.equal(await findSession(db, opened!.secret, NOW), undefined)
    await signIn(db, { subject: '2', login: 'alice' })
    assert.equal(await open(), undefined)
  })

  test('lets an account go on without any token, until it is unbound', async (t) => {
    const { db } = await openDatabase(t, engine)
    const alice = await ensureAccount(db, 'alice', NOW)
    await addToken(db, alice, { name: '', expiresAt: null, now: NOW })
    await revokeToken(db, 1, NOW)
    assert.equal(await hasOnlyRevokedTokens(db, alice), true)
    await signIn(db, { subject: '1', login: 'alice' })
    assert.equal(await hasOnlyRevokedTokens(db, alice), false)
    const bob = await ensureAccount(db, 'bob', NOW)
    await signIn(db, { subject: '2', login: 'bob' })
    assert.equal(await hasOnlyRevokedTokens(db, bob), false)
    await unbindIdentity(db, bob, NOW)
    assert.equal(await hasOnlyRevokedTokens(db, bob), true)
    await closeSessionsOf(db, bob)
    assert.equal(await hasOnlyRevokedTokens(db, bob), true)
  })
})
