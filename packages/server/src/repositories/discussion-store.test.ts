import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Engine, onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import { addManyIssues } from '../../../../test/support/forge/many-issues.ts'
import { MemoryDiscussionStore } from '../../../../test/support/forge/memory-discussion-store.ts'
import { type Batch, readStateOf } from '../../../hosts/src/discussions.ts'
import { forgeDiscussions } from '../../../hosts/src/forge/discussions/forge-discussions.ts'
import { HostUnavailable } from '../../../hosts/src/host-errors.ts'
import type { RepositoryName } from '../../../hosts/src/source.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'
import { LeaseTaken, releaseLease } from '../db/lease-store.ts'
import {
  leaseReading,
  storeBatch,
  storedDiscussions,
  sweepDiscussions,
} from './discussion-store.ts'
import { createForgeBudget } from './forge-budget-store.ts'
import { metadataOfUnreadable } from './repository-metadata.ts'
import { putRepository } from './repository-store.ts'

type Table = 'discussion_groups' | 'discussion_readings'

const signal = new AbortController().signal

async function store(db: Db, forge: string, name: RepositoryName, batch: Batch, now: number) {
  const lease = await leaseReading(db, forge, name, { reader: 'test', now })
  await storeBatch(db, forge, name, batch, now, lease)
  await releaseLease(db, lease)
}

onEachEngine('stored records', (engine) => {
  async function scene(t: TestContext, engine: Engine) {
    const forge = await startForge({ maxPageSize: 20 })
    t.after(() => forge.stop())
    const { name, repository, ann } = addManyIssues(forge, 48)
    const { db } = await openDatabase(t, engine)
    const open = () => forgeDiscussions({ url: forge.url, token: 'admin-token' })
    const stored = () => storedDiscussions(db, forge.url, name)
    const read = async (batches = Number.POSITIVE_INFINITY) => {
      const changes = await open().findChanges(name, await stored(), signal)
      for await (const batch of changes.batches()) {
        await store(db, forge.url, name, batch, Date.now())
        if (--batches <= 0) break
      }
    }
    return { forge, name, repository, ann, db, open, stored, read }
  }

  it('are stored batch by batch and read in order', async (t) => {
    const { stored, read, open, name, forge, repository, ann } = await scene(t, engine)
    await read(2)
    assert.equal(readStateOf((await stored()).cursor)?.isComplete, false)
    await read()
    const numbers: number[] = []
    for await (const { records } of (await stored()).groups())
      for (const { number } of [...(records.issues ?? []), ...(records.pull_requests ?? [])])
        numbers.push(number)
    assert.deepEqual(
      numbers,
      Array.from({ length: 48 }, (_, n) => n + 1),
    )
    const expected = new MemoryDiscussionStore()
    await expected.readAll(open(), name)
    const found = new MemoryDiscussionStore()
    for await (const group of (await stored()).groups()) found.groups.set(group.key, group)
    assert.deepEqual(found.snapshot(), expected.snapshot())
    const changeToken = readStateOf((await stored()).cursor)?.changeToken
    const changes = await open().findChanges(name, await stored(), signal)
    assert.equal(changes.changeToken, changeToken)
    repository.issues.delete(7)
    forge.world.close(forge.world.addIssue(repository, ann), ann)
    await read()
    assert.equal(await (await stored()).find('issue/7'), undefined)
    assert.equal((await (await stored()).find('issue/49'))?.records.issues?.[0]?.number, 49)
  })

  it('are deleted if their repository was deleted and they were not read for 30 days', async (t) => {
    const { db } = await openDatabase(t, engine)
    const DAY = 24 * 3_600_000
    const now = 100 * DAY
    const owner = await ensureAccount(db, 'alice', 0)
    const site = { owner: 'Alice', name: 'Site' }
    const deleted = { owner: 'alice', name: 'deleted' }
    const recent = { owner: 'alice', name: 'recent' }
    const beingRead = { owner: 'alice', name: 'being-read' }
    const found = { ownerId: owner.id, name: 'site', changeToken: '', problem: null }
    await putRepository(db, { ...found, metadata: metadataOfUnreadable(0) }, 0)
    const cursor = 'cursor'
    const put = [{ key: 'issue/1', version: '1', records: {}, files: [] }]
    for (const [name, storedAt] of [
      [site, 0],
      [deleted, now - 31 * DAY],
      [recent, now - 29 * DAY],
      [beingRead, now - 31 * DAY],
    ] as const) {
      const batch = { put, remove: [], cursor, progress: { read: 1, total: 1 } } as unknown as Batch
      await store(db, 'https://x', name, batch, storedAt)
    }
    await leaseReading(db, 'https://x', beingRead, { reader: 'r', now })
    const expired = { reader: 'dead', now: now - 31 * DAY }
    for (const name of [deleted, { owner: 'alice', name: 'never-read' }])
      await leaseReading(db, 'https://x', name, expired)
    await sweepDiscussions(db, () => now)
    const left = async (table: Table) =>
      (await db.selectFrom(table).select('repository').orderBy('repository').execute()).map(
        (row) => row.repository,
      )
    const expected = [
      'https://x alice/being-read',
      'https://x alice/recent',
      'https://x alice/site',
    ]
    assert.deepEqual(await left('discussion_groups'), expected)
    assert.deepEqual(await left('discussion_readings'), expected)
    const leases = await db.selectFrom('leases').select('name').execute()
    assert.deepEqual(
      leases.map((lease) => lease.name),
      ['reading the records of alice/being-read from https://x'],
    )
  })

  it('are not read while they are deleted, and not deleted if they were read just before', async (t) => {
    const { db } = await openDatabase(t, engine)
    const now = 100 * 24 * 3_600_000
    const name = { owner: 'alice', name: 'deleted' }
    const batch = { put: [], remove: [], cursor: 'c', progress: {} } as unknown as Batch
    await store(db, 'https://x', name, batch, 0)
    const order = { reader: 'r', now }
    let isReadBefore = true
    const watched = new Proxy(db, {
      get(target, key) {
        const own: unknown = Reflect.get(target, key)
        if (key !== 'transaction') return typeof own === 'function' ? own.bind(target) : own
        const execute = async (work: (tx: Db) => Promise<unknown>) => {
          await assert.rejects(leaseReading(db, 'https://x', name, order), LeaseTaken)
          if (isReadBefore)
            await db.updateTable('discussion_readings').set({ updated_at: now }).execute()
          isReadBefore = false
          return db.transaction().execute(work)
        }
        return () => ({ execute })
      },
    })
    await sweepDiscussions(watched, () => now)
    assert.equal((await storedDiscussions(db, 'https://x', name)).cursor, 'c')
    await store(db, 'https://x', name, batch, 0)
    await sweepDiscussions(watched, () => now)
    assert.equal((await storedDiscussions(db, 'https://x', name)).cursor, null)
    await leaseReading(db, 'https://x', name, order)
  })
})

onEachEngine('the budget of a forge', (engine) => {
  it('is shared by all processes and starts again every minute', async (t) => {
    const { db } = await openDatabase(t, engine)
    let time = 1_000_000
    const open = () =>
      createForgeBudget({ db, forge: 'f', requestsPerMinute: 100, now: () => time })
    const [one, other] = [open(), open()]
    for (let n = 0; n < 50; n++) await Promise.all([one.take(), other.take()])
    const isLater = (error: unknown) =>
      error instanceof HostUnavailable && error.reason === 'budget' && error.dueAt === 1_060_000
    await assert.rejects(one.take(), isLater)
    await assert.rejects(other.take(), isLater)
    time = 1_060_000
    await one.take()
  })

  it('makes all processes wait if the forge tells one of them to', async (t) => {
    const { db } = await openDatabase(t, engine)
    let time = 1_000_000
    const open = () =>
      createForgeBudget({ db, forge: 'f', requestsPerMinute: 100, now: () => time })
    const [one, other] = [open(), open()]
    await other.take()
    await one.holdUntil(1_500_000)
    await assert.rejects(
      one.take(),
      (error) => error instanceof HostUnavailable && error.dueAt === 1_500_000,
    )
    time += 3000
    await assert.rejects(other.take(), HostUnavailable)
    await one.holdUntil(1_200_000)
    await assert.rejects(
      one.take(),
      (error) => error instanceof HostUnavailable && error.dueAt === 1_500_000,
    )
    time = 1_500_001
    await Promise.all([one.take(), other.take()])
  })
})

describe('a budget', () => {
  it('does not wait for a period that a wrong clock set', async (t) => {
    const { db } = await openDatabase(t, 'sqlite')
    let time = 9_000_000_000
    const budget = createForgeBudget({ db, forge: 'f', requestsPerMinute: 10, now: () => time })
    for (let n = 0; n < 10; n++) await budget.take()
    time = 1_000_000
    await budget.take()
  })

  it('does not wait for a time that a wrong clock set, but for the correct one', async (t) => {
    const { db } = await openDatabase(t, 'sqlite')
    let time = 9_000_000_000
    const budget = createForgeBudget({ db, forge: 'f', requestsPerMinute: 10, now: () => time })
    await budget.holdUntil(9_000_060_000)
    await assert.rejects(budget.take(), HostUnavailable)
    time = 1_000_000
    await budget.take()
    await budget.holdUntil(1_060_000)
    await assert.rejects(
      budget.take(),
      (error) => error instanceof HostUnavailable && error.dueAt === 1_060_000,
    )
  })
})
