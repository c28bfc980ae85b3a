import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../../../test/support/databases.ts'
import { addresses } from '../../../../test/support/describing-server.ts'
import { repositoryFacts } from '../../../../test/support/facts.ts'
import { keepFacts } from '../../../repositories/facts-store.ts'
import { renderedRepositories } from './rendered-repositories.ts'

test('what is rendered is kept from the second time on, never for those who read it once, and serves both', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const [id] = await db.transaction().execute((tx) => keepFacts(tx, [repositoryFacts()], 0))
  const rendered = renderedRepositories(db, addresses)
  async function descriptionWhen(description: string, read: typeof rendered.read) {
    // In life facts never change: so it shows what was rendered when.
    const facts = JSON.stringify(repositoryFacts({ description }))
    await db.updateTable('facts').set({ facts }).execute()
    const pieces = await read({ form: 'plain', tokenOf: undefined }, [id!])
    return JSON.parse(String(pieces[0]).slice(1)).description
  }
  const { read, readOnce } = rendered
  assert.equal(await descriptionWhen('first', readOnce), 'first')
  assert.equal(await descriptionWhen('second', readOnce), 'second')
  assert.equal(await descriptionWhen('third', read), 'third')
  assert.equal(await descriptionWhen('fourth', read), 'fourth')
  assert.equal(await descriptionWhen('fifth', read), 'fourth')
  assert.equal(await descriptionWhen('sixth', readOnce), 'fourth')
})
