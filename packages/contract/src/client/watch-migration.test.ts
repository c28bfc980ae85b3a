import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestRejected, ServerBusy, ServerError } from './errors.ts'
import type { MigrationsApi } from './migrations-api.ts'
import type { RequestOptions } from './send-request.ts'
import { outageBackoff, watchMigration } from './watch-migration.ts'

test('a silent event stream is closed, but not during a pause that Retry-After asks for', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const requested = Promise.withResolvers<RequestOptions>()
  const api = {
    server: { url: 'https://forge.example' },
    status: async () => ({ migration: { id: 7, state: 'exporting' } }),
    events(_id: number, _after: string, options: RequestOptions) {
      requested.resolve(options)
      return new Promise(() => {})
    },
  } as unknown as MigrationsApi
  const watching = watchMigration(api, 7, { signal: new AbortController().signal, onError() {} })
  assert.deepEqual((await watching.next()).value, { state: 'exporting' })
  void watching.next()
  const { signal, onWait } = await requested.promise
  t.mock.timers.tick(40_000)
  onWait(120)
  t.mock.timers.tick(160_000)
  assert.equal(signal.aborted, false, 'closed during the pause')
  t.mock.timers.tick(10_000)
  assert.equal(signal.aborted, true, 'still open')
})

const url = 'https://forge.example'
const HALF_AN_HOUR_S = 1800
const busyWith = (status: number) => new ServerBusy(status, HALF_AN_HOUR_S, 'later')

test('pauses grow while the server is unavailable, and the outage is reported once', () => {
  const reported: Error[] = []
  const backoff = outageBackoff(url, (outage) => reported.push(outage))
  const failed = new ServerError(502, 'Bad Gateway')
  assert.deepEqual(
    Array.from({ length: 7 }, () => backoff.pauseAfter(failed)),
    [250, 500, 1000, 2000, 4000, 5000, 5000],
  )
  assert.deepEqual(reported, [failed])
  const refused = new RequestRejected(404, 'Not Found')
  assert.throws(() => backoff.pauseAfter(refused), refused)
})

test('Retry-After headers of an unavailable server add at most an hour', () => {
  const backoff = outageBackoff(url, () => {})
  const unavailable = busyWith(503)
  for (let round = 0; round < 2; round++) {
    assert.equal(backoff.pauseAfter(unavailable), HALF_AN_HOUR_S * 1000)
    assert.equal(backoff.pauseAfter(unavailable), HALF_AN_HOUR_S * 1000)
    assert.throws(() => backoff.pauseAfter(unavailable), unavailable)
    backoff.reset()
  }
})

test('a rate-limited client waits for the time in Retry-After each time', () => {
  const backoff = outageBackoff(url, () => {})
  for (const status of [403, 429])
    for (let times = 0; times < 20; times++)
      assert.equal(backoff.pauseAfter(busyWith(status)), HALF_AN_HOUR_S * 1000)
})
