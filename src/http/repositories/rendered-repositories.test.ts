import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../../test/support/databases.ts'
import { addresses } from '../../../test/support/describing-server.ts'
import { repositoryFacts } from '../../../test/support/facts.ts'
import { keepFacts } from '../../repositories/facts-store.ts'
import { renderedRepositories } from './rendered-repositories.ts'

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
