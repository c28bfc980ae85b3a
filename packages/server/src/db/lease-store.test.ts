import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import {
  acquireLease,
  completeLease,
  deleteLeasesExpiredBefore,
  hasCompletedSince,
  LeaseTaken,
  releaseLease,
  renewLease,
} from './lease-store.ts'

const SWEEP = { name: 'sweeping', ttlMs: 60 }

onEachEngine('leases', (engine) => {
  test('one of many processes acquires a lease, and one again when it has expired', async (t) => {
    const { db } = await openDatabase(t, engine)
    const acquiredAt = async (now: number) => {
      const all = Array.from({ length: 20 }, () => acquireLease(db, { ...SWEEP, now }))
      return (await Promise.all(all)).filter(Boolean).length
    }
    assert.deepEqual(
      [
        await acquiredAt(1000),
        await acquiredAt(1059),
        await acquiredAt(1060),
        await acquiredAt(1061),
      ],
      [1, 0, 1, 0],
    )
    assert.equal(
      await acquiredAt(1050),
      0,
      'a process whose clock is slightly slow does not acquire it',
    )
  })

  test('leases of different names do not exclude each other', async (t) => {
    const { db } = await openDatabase(t, engine)
    assert.ok(await acquireLease(db, { ...SWEEP, now: 1000 }))
    assert.ok(await acquireLease(db, { ...SWEEP, name: 'checking', now: 1000 }))
  })

  test('a lease acquired by a clock that was far ahead does not last', async (t) => {
    const { db } = await openDatabase(t, engine)
    const year = 365 * 24 * 3_600_000
    assert.ok(await acquireLease(db, { ...SWEEP, now: 1000 + year }))
    assert.ok(await acquireLease(db, { ...SWEEP, now: 1000 }))
    assert.equal(await acquireLease(db, { ...SWEEP, now: 1001 }), undefined)
  })

  test('the same holder acquires its lease again, and its former token is invalid', async (t) => {
    const { db } = await openDatabase(t, engine)
    const first = await acquireLease(db, { ...SWEEP, holder: 'job 1', now: 1000 })
    assert.equal(await acquireLease(db, { ...SWEEP, holder: 'job 2', now: 1001 }), undefined)
    const second = await acquireLease(db, { ...SWEEP, holder: 'job 1', now: 1001 })
    await assert.rejects(renewLease(db, first!, 1002), new LeaseTaken(SWEEP))
    await releaseLease(db, first!)
    await renewLease(db, second!, 1002)
    assert.equal(await acquireLease(db, { ...SWEEP, now: 1061 }), undefined, 'it was renewed')
  })

  test('a transaction of a holder that lost its lease is rolled back', async (t) => {
    const { db } = await openDatabase(t, engine)
    const lost = await acquireLease(db, { ...SWEEP, now: 1000 })
    assert.ok(await acquireLease(db, { ...SWEEP, now: 2000 }))
    const writing = db.transaction().execute(async (tx) => {
      await tx.insertInto('secrets').values({ name: 'a', value: 'b' }).execute()
      await renewLease(tx, lost!, 2001)
    })
    await assert.rejects(writing, { message: 'another process is sweeping' })
    assert.deepEqual(await db.selectFrom('secrets').selectAll().execute(), [])
  })

  test('a released lease can be acquired at once', async (t) => {
    const { db } = await openDatabase(t, engine)
    await releaseLease(db, (await acquireLease(db, { ...SWEEP, now: 1000 }))!)
    assert.ok(await acquireLease(db, { ...SWEEP, now: 1000 }))
  })

  test('all processes see completed work, and none repeats it before its next time', async (t) => {
    const { db } = await openDatabase(t, engine)
    const request = { ...SWEEP, maxTtlMs: 1000 }
    const lease = await acquireLease(db, { ...request, now: 1000 })
    assert.equal(await hasCompletedSince(db, SWEEP.name, 1000), false)
    await completeLease(db, lease!, { now: 1010, nextAt: 2000 })
    assert.equal(await hasCompletedSince(db, SWEEP.name, 1010), true)
    assert.equal(await hasCompletedSince(db, SWEEP.name, 1011), false)
    assert.equal(await acquireLease(db, { ...request, now: 1999 }), undefined)
    const next = await acquireLease(db, { ...request, now: 2000 })
    assert.equal(await hasCompletedSince(db, SWEEP.name, 1010), true)
    await assert.rejects(completeLease(db, lease!, { now: 2001, nextAt: 3000 }), LeaseTaken)
    await completeLease(db, next!, { now: 2001, nextAt: 3000 })
  })

  test('leases that expired long ago are deleted', async (t) => {
    const { db } = await openDatabase(t, engine)
    await acquireLease(db, { ...SWEEP, now: 1000 })
    await acquireLease(db, { ...SWEEP, name: 'checking', now: 1001 })
    await deleteLeasesExpiredBefore(db, 1061)
    const left = await db.selectFrom('leases').select('name').execute()
    assert.deepEqual(
      left.map(({ name }) => name),
      ['checking'],
    )
  })
})
