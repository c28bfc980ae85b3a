import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import type { SourceMetadata } from '../../../hosts/src/source.ts'
import type { Viewer } from '../accounts/account.ts'
import { ensureAccount, upsertAccount } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'
import {
  affiliations,
  countAdministered,
  listAdministered,
  type RepositoryFilter,
  type RepositoryOrder,
} from './administered-repositories.ts'
import { recordCheck } from './repository-check-store.ts'
import { fullNameOf, metadataOfUnreadable } from './repository-metadata.ts'
import { countPublic, markMissing, putRepository } from './repository-store.ts'

async function put(
  db: Db,
  fullName: string,
  metadata: Partial<SourceMetadata> = {},
  problem: string | null = null,
): Promise<void> {
  const [owner, name] = fullName.split('/') as [string, string]
  const { id: ownerId } = await ensureAccount(db, owner, 0)
  const update = {
    name,
    changeToken: '1',
    metadata: { ...metadataOfUnreadable(0), ...metadata },
    problem,
  }
  await db.transaction().execute((tx) => putRepository(tx, { ownerId, ...update }, 0))
}

const alice = (permission: 'admin' | 'maintain' | 'read') => ({
  collaborators: [{ login: 'Alice', permission }],
})

/** Adds repositories of alice, some of others that she administers, and some that she does not. */
async function scene(t: TestContext, engine: 'sqlite' | 'postgres') {
  const { db } = await openDatabase(t, engine)
  await upsertAccount(db, 'octo', { type: 'Organization' }, 0)
  await put(db, 'alice/Site', { createdAt: 3, updatedAt: 10.7, pushedAt: 1, private: false })
  await put(db, 'alice/snake_case', { createdAt: 1, updatedAt: 30, pushedAt: 2, ...alice('admin') })
  await put(db, 'bob/shared', { createdAt: 2, updatedAt: 20, pushedAt: 3, ...alice('admin') })
  await put(db, 'octo/tools', { createdAt: 4, updatedAt: 40, pushedAt: 0, ...alice('admin') })
  await put(db, 'bob/readable', alice('read'))
  await put(db, 'bob/maintained', alice('maintain'))
  await put(db, 'bob/public', { private: false })
  const viewer: Viewer = { account: await ensureAccount(db, 'alice', 0), tokenId: 1 }

  async function names(
    filter: Partial<RepositoryFilter> = {},
    order: RepositoryOrder = { by: 'full_name', direction: 'asc' },
    page = { offset: 0, limit: 100 },
  ): Promise<string[]> {
    const complete = { affiliations, ...filter }
    const listed = await listAdministered(db, viewer, complete, { order, ...page })
    if (page.offset === 0)
      assert.equal(await countAdministered(db, viewer, complete), listed.length)
    return listed.map(fullNameOf)
  }
  return { db, names, viewer }
}

onEachEngine('the repositories that an account may migrate', (engine) => {
  test('are those that the account owns or administers', async (t) => {
    const { db, names, viewer } = await scene(t, engine)
    const all = ['alice/Site', 'alice/snake_case', 'bob/shared', 'octo/tools']
    assert.deepEqual(await names(), all)
    assert.deepEqual(await names({ affiliations: ['owner'] }), all.slice(0, 2))
    assert.deepEqual(await names({ affiliations: ['collaborator'] }), ['bob/shared'])
    assert.deepEqual(await names({ affiliations: ['organization_member'] }), ['octo/tools'])
    assert.deepEqual(await names({ affiliations: ['owner', 'owner'] }), all.slice(0, 2))
    assert.equal(await countPublic(db, viewer.account), 1)
    await markMissing(db, 1, 5)
    assert.deepEqual(await names(), all.slice(1))
    assert.equal(await countPublic(db, viewer.account), 0)
  })

  test('can be filtered by damage that a sync or a check found', async (t) => {
    const { db, names } = await scene(t, engine)
    assert.deepEqual(await names({ isDamaged: true }), [])
    for (const fullName of ['alice/Site', 'bob/readable', 'octo/tools']) {
      const reason = fullName === 'octo/tools' ? null : 'damaged'
      const rest = { checkedAt: 1, warning: null, bytes: 1, tookMs: 1 }
      await recordCheck(db, { fullName, reason, ...rest })
    }
    await put(db, 'alice/unreadable', {}, 'no HEAD')
    assert.deepEqual(await names({ isDamaged: true }), ['alice/Site', 'alice/unreadable'])
  })

  test('can be filtered', async (t) => {
    const { names } = await scene(t, engine)
    assert.deepEqual(await names({ isPrivate: false }), ['alice/Site'])
    assert.equal((await names({ isPrivate: true })).length, 3)
    assert.deepEqual(await names({ updatedAfter: 20 }), ['alice/snake_case', 'octo/tools'])
    assert.deepEqual(await names({ updatedBefore: 20 }), ['alice/Site'])
    assert.deepEqual(await names({ nameContains: 'S' }), await names())
    assert.deepEqual(await names({ nameContains: 'CE/SI' }), ['alice/Site'])
    assert.deepEqual(await names({ nameContains: '_' }), ['alice/snake_case'])
    for (const none of ['%', '\\', "'", '\0', 'e_case_', 'site/']) {
      assert.deepEqual(await names({ nameContains: none }), [], none)
    }
  })

  test('are sorted and paged', async (t) => {
    const { names } = await scene(t, engine)
    const by = (order: RepositoryOrder['by'], direction: 'asc' | 'desc' = 'asc') =>
      names({}, { by: order, direction }).then((listed) => listed.map((name) => name.split('/')[1]))
    assert.deepEqual(await by('created'), ['snake_case', 'shared', 'Site', 'tools'])
    assert.deepEqual(await by('updated', 'desc'), ['tools', 'snake_case', 'shared', 'Site'])
    assert.deepEqual(await by('pushed'), ['tools', 'Site', 'snake_case', 'shared'])
    assert.deepEqual(await by('full_name', 'desc'), ['tools', 'shared', 'snake_case', 'Site'])
    const byName = { by: 'full_name', direction: 'asc' } as const
    const third = await names({}, byName, { offset: 2, limit: 1 })
    assert.deepEqual(third, ['bob/shared'])
    assert.deepEqual(await names({}, byName, { offset: 4, limit: 1 }), [])
  })
})
