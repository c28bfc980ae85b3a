import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { insertSegment, openContents } from './segment-store.ts'

onEachEngine('contents of segments', (engine) => {
  test('are cached if they are small, and otherwise read each time', async (t) => {
    const { db } = await openDatabase(t, engine)
    const numbers = { length: 1, plainLength: 2, crc32: 3, storedCrc32: null, sha256: '4' }
    const texts = { little: 'ä', large: 'ä'.repeat(10), more: 'o' }
    for (const [key, text] of Object.entries(texts)) {
      const segment = { key, ...numbers, fingerprint: key, contents: JSON.stringify({ text }) }
      await insertSegment(db, segment, 0)
    }
    const keys = ['large', 'little', 'missing']
    const contents = await openContents(db, keys, {
      maxCachedLength: 20,
      maxCachedBytes: 100,
    })
    assert.deepEqual([...contents.segments.keys()].sort(), ['large', 'little'])
    assert.deepEqual(contents.segments.get('little'), {
      ...{ key: 'little', ...numbers },
      ...{ checkedAt: 0, damagedAt: null, lastUsedAt: 0 },
    })
    const none = await openContents(db, ['more'], { maxCachedLength: 20, maxCachedBytes: 0 })
    const all = () =>
      Promise.all([...keys.map((key) => contents.of(key)), none.of<unknown>('more')])
    const expected = [
      { text: texts.large },
      { text: texts.little },
      undefined,
      { text: texts.more },
    ]
    assert.deepEqual(await all(), expected)
    await db.deleteFrom('segments').execute()
    assert.deepEqual(await all(), [undefined, { text: texts.little }, undefined, undefined])
  })
})
