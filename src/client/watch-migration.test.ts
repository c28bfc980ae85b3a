import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MigrationsApi } from './migrations-api.ts'
import type { RequestOptions } from './server.ts'
import { watchMigration } from './watch-migration.ts'

test('a stream that says nothing is given up, but not while the server has asked to wait', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const asked = Promise.withResolvers<RequestOptions>()
  const api = {
    server: { url: 'https://forge.example' },
    status: async () => ({ migration: { id: 7, state: 'exporting' } }),
    events(_id: number, _after: string, options: RequestOptions) {
      asked.resolve(options)
      return new Promise(() => {})
    },
  } as unknown as MigrationsApi
  const watching = watchMigration(api, 7, { signal: new AbortController().signal, onError() {} })
  assert.deepEqual((await watching.next()).value, { state: 'exporting' })
  void watching.next()
  const { signal, onWait } = await asked.promise
  t.mock.timers.tick(40_000)
  onWait(120)
  t.mock.timers.tick(160_000)
  assert.equal(signal.aborted, false, 'cut off what the server asked for')
  t.mock.timers.tick(10_000)
  assert.equal(signal.aborted, true, 'still waits')
})
