import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../../test/support/databases.ts'
import { addresses } from '../../../test/support/describing-server.ts'
import { repositoryFacts } from '../../../test/support/facts.ts'
import { keepFacts } from '../../repositories/facts-store.ts'
import { keepBytes, renderedRepositories } from './rendered-repositories.ts'

const LENGTH = 10

test('what is asked for again stays, and all of it together takes no more than its room', () => {
  const kept = keepBytes(20 * LENGTH)
  for (let key = 0; key < 1000; key++) {
    kept.keep(key, Buffer.alloc(LENGTH, key))
    assert.ok(kept.get(0), `after ${key}`)
  }
  assert.deepEqual(kept.get(999), Buffer.alloc(LENGTH, 999))
  const held = Array.from({ length: 1000 }, (_, key) => kept.get(key)).filter(Boolean)
  assert.ok(held.length >= 10 && held.length <= 20, `${held.length} are held`)
})

test('what is larger than half the room is not kept', () => {
  const kept = keepBytes(10)
  kept.keep(1, Buffer.alloc(6))
  assert.equal(kept.get(1), undefined)
})

test('what is read once is not kept, and what was kept before serves it', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const [id] = await db.transaction().execute((tx) => keepFacts(tx, [repositoryFacts()], 0))
  const describe = (description: string) =>
    db
      .updateTable('facts')
      .set({ facts: JSON.stringify(repositoryFacts({ description })) })
      .execute()
  const rendered = renderedRepositories(db, addresses)
  const described = async (read: typeof rendered.read) =>
    JSON.parse(String((await read({ form: 'plain', tokenOf: undefined }, [id!]))[0]).slice(1))
      .description
  await describe('first')
  assert.equal(await described(rendered.readOnce), 'first')
  await describe('second')
  assert.equal(await described(rendered.read), 'second')
  await describe('third')
  assert.equal(await described(rendered.readOnce), 'second')
})
