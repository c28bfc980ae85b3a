import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { openDatabase } from '../../../../../test/support/databases.ts'
import type { Discussions } from '../../../../hosts/src/discussions.ts'
import { LeaseTaken } from '../../db/lease-store.ts'
import { leaseReading } from '../../repositories/discussion-store.ts'
import { withDiscussions } from './obtain-records.ts'

const repository = { owner: 'alice', name: 'site' }

test('a reading stops when another reader takes over, and nothing is recorded', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  t.mock.timers.enable({ apis: ['setInterval'] })
  const clock = { now: 1_000_000 }
  const begun = Promise.withResolvers<void>()
  const discussions = {
    findChanges: async (_repository, _stored, signal) => ({
      changeToken: 'new',
      async *batches() {
        begun.resolve()
        await once(signal, 'abort')
        signal.throwIfAborted()
        yield* []
      },
    }),
  } as Pick<Discussions, 'findChanges'> as Discussions
  const dependencies = { db, now: () => clock.now, forge: { url: 'https://x', discussions } }
  const options = { repository, reader: '1/0', onProgress: async () => {} }
  const reading = withDiscussions(dependencies, options, new AbortController().signal, async () =>
    assert.fail('the discussions are not complete'),
  )
  const refused = assert.rejects(reading, LeaseTaken)
  await begun.promise
  // The lease has expired, as after the machine was suspended.
  clock.now += 600_000
  const other = { reader: '2/0', now: clock.now }
  await leaseReading(db, 'https://x', repository, other)
  t.mock.timers.tick(30_000)
  await refused
})
