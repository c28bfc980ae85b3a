import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../test/support/databases.ts'
import { takeTurn } from './turn-store.ts'

onEachEngine('turns', (engine) => {
  test('of many who ask at once, one has the turn, and again when the time is over', async (t) => {
    const { db } = await openDatabase(t, engine)
    const askedAt = async (now: number) => {
      const asking = Array.from({ length: 20 }, () =>
        takeTurn(db, { name: 'sweep', everyMs: 60, now }),
      )
      return (await Promise.all(asking)).filter(Boolean).length
    }
    assert.deepEqual(
      [await askedAt(1000), await askedAt(1059), await askedAt(1060), await askedAt(1061)],
      [1, 0, 1, 0],
    )
    assert.equal(await askedAt(1050), 0, 'clocks differ a little')
  })

  test('every piece of housekeeping has turns of its own', async (t) => {
    const { db } = await openDatabase(t, engine)
    assert.ok(await takeTurn(db, { name: 'one', everyMs: 60, now: 1000 }))
    assert.ok(await takeTurn(db, { name: 'two', everyMs: 60, now: 1000 }))
  })

  test('a clock that was far ahead does not put the next turn off', async (t) => {
    const { db } = await openDatabase(t, engine)
    const year = 365 * 24 * 3_600_000
    assert.ok(await takeTurn(db, { name: 'sweep', everyMs: 60, now: 1000 + year }))
    assert.ok(await takeTurn(db, { name: 'sweep', everyMs: 60, now: 1000 }))
    assert.ok(!(await takeTurn(db, { name: 'sweep', everyMs: 60, now: 1001 })))
  })
})
