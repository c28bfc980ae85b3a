import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import type { Account } from './account.ts'
import { ensureAccount, ensureOrganization, findAccount, upsertAccount } from './account-store.ts'
import {
  findVisibleOrganization,
  listMemberships,
  membersOf,
  organizationsOf,
  putMembership,
  removeMembership,
  replaceMemberships,
} from './membership-store.ts'
import { addToken } from './token-store.ts'

type Database = Awaited<ReturnType<typeof openDatabase>>

async function people({ db }: Pick<Database, 'db'>) {
  const octo = await upsertAccount(db, 'Octo', { type: 'Organization' }, 0)
  const alice = await ensureAccount(db, 'alice', 0)
  const bob = await ensureAccount(db, 'bob', 0)
  const roles = async () =>
    (await membersOf(db, [octo]))
      .get(octo.id)!
      .map(({ account, role }) => `${account.login} ${role}`)
  const visibleTo = (account: Account) =>
    findVisibleOrganization(db, { account }, { login: 'octo' })
  return { db, octo, alice, bob, roles, visibleTo }
}

onEachEngine('memberships', (engine) => {
  test('have several origins: an owner by any origin is an owner, and each origin removes only its own', async (t) => {
    const { db, octo, alice, bob, roles, visibleTo } = await people(await openDatabase(t, engine))
    await putMembership(db, octo, { accountId: alice.id, role: 'member' }, 'manual')
    assert.equal((await visibleTo(alice))?.mayMigrate, false)
    const membersFile = [
      { login: 'ALICE', role: 'owner' },
      { login: 'carol', role: 'member' },
    ] as const
    const file = { origin: 'file', now: 0 } as const
    await replaceMemberships(db, octo, membersFile, file)
    await replaceMemberships(db, octo, [{ login: 'bob', role: 'member' }], {
      ...file,
      origin: 'forge',
    })
    assert.deepEqual(await roles(), ['alice owner', 'bob member', 'carol member'])
    assert.deepEqual(
      [(await visibleTo(alice))?.mayMigrate, (await visibleTo(bob))?.mayMigrate],
      [true, false],
    )
    const admin = await upsertAccount(db, 'admin', { siteAdmin: true }, 0)
    for (const name of [{ login: 'OCTO' }, { id: octo.id }]) {
      const viewer = { account: admin, tokenId: 0 }
      assert.deepEqual(await findVisibleOrganization(db, viewer, name), {
        account: octo,
        mayMigrate: true,
      })
    }
    assert.equal((await findAccount(db, 'carol'))?.type, 'User')
    assert.deepEqual(
      (await listMemberships(db)).map(
        ({ member, role, origin }) => `${member.login} ${role} ${origin}`,
      ),
      ['alice owner file', 'alice member manual', 'bob member forge', 'carol member file'],
    )
    await replaceMemberships(db, octo, [], file)
    assert.deepEqual(await roles(), ['alice member', 'bob member'])
    assert.equal(await removeMembership(db, octo, bob, 'manual'), false)
    assert.equal(await removeMembership(db, octo, alice, 'manual'), true)
    assert.deepEqual(await roles(), ['bob member'])
  })

  test('of an account that is no longer an organization are ignored', async (t) => {
    const { db, octo, alice, bob, roles, visibleTo } = await people(await openDatabase(t, engine))
    await putMembership(db, octo, { accountId: alice.id, role: 'owner' }, 'manual')
    assert.deepEqual(
      (await organizationsOf(db, { account: alice })).map(({ account, role }) => [account, role]),
      [[octo, 'owner']],
    )
    assert.equal((await visibleTo(alice))?.mayMigrate, true)
    assert.equal(await visibleTo(bob), undefined)
    await upsertAccount(db, 'octo', { type: 'User' }, 0)
    assert.deepEqual(await roles(), [])
    assert.equal(await visibleTo(alice), undefined)
    assert.deepEqual(await organizationsOf(db, { account: alice }), [])
    const result = await replaceMemberships(db, octo, [{ login: 'Octo', role: 'owner' }], {
      origin: 'file',
      now: 0,
    })
    assert.deepEqual(result, { refused: [] })
    await upsertAccount(db, 'octo', { type: 'Organization' }, 0)
    const self = [{ login: 'octo', role: 'owner' }] as const
    const { refused } = await replaceMemberships(db, octo, self, { origin: 'file', now: 0 })
    assert.deepEqual(refused, ['octo'])
  })

  test('turn an unused account into an organization, but not a person', async (t) => {
    const { db, alice } = await people(await openDatabase(t, engine))
    await addToken(db, alice, { name: '', expiresAt: null, now: 0 })
    assert.equal(await ensureOrganization(db, 'alice', 0), undefined)
    // Unused tokens of the forge are deleted.
    const gone = { carol: { forge_id: 7 }, dave: { migration_count: 1 } }
    for (const [login, left] of Object.entries(gone)) {
      const { id } = await ensureAccount(db, login, 0)
      await db.updateTable('accounts').set(left).where('id', '=', id).execute()
      assert.equal(await ensureOrganization(db, login, 0), undefined, login)
    }
    for (const login of ['bob', 'new', 'octo'])
      assert.equal((await ensureOrganization(db, login, 0))?.type, 'Organization', login)
    assert.equal((await findAccount(db, 'alice'))?.type, 'User')
  })
})
