import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeServer, sendJson } from '../../../../test/support/fake-server.ts'
import { asTemporaryError, explainError, retryPause } from './errors.ts'
import { MigrationsApi } from './migrations-api.ts'

const url = 'https://forge.example'

function explained(status: number, headers: Record<string, string>, data: unknown = {}): Error {
  const error = new Error('thrown by Octokit')
  const rejected = Object.assign(error, { status, response: { data, headers } })
  return explainError(rejected, { url, missing: 'it does not exist' }) as Error
}

test('a retry waits for the time in Retry-After, at most an hour', () => {
  for (const status of [403, 429, 503]) {
    const outage = asTemporaryError(explained(status, { 'retry-after': '1800' }), url)!
    assert.equal(outage.name, 'ServerBusy')
    assert.equal(retryPause(outage, 250), 1_800_000)
  }
  assert.equal(retryPause(explained(429, { 'retry-after': '99999' }), 250), 3_600_000)
  assert.equal(retryPause(explained(429, {}), 250), 60_000)
  assert.equal(retryPause(explained(503, {}), 250), 250)
})

test('a rejection without a message is explained', () => {
  for (const data of [null, '', 'Unprocessable', { errors: null }])
    assert.equal(explained(422, {}, data).message, `${url} rejected the request: no error message`)
})

test('an exhausted rate limit turns a 403 into ServerBusy, but no other rejection', () => {
  const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9999999999' }
  for (const status of [401, 404, 422])
    assert.equal(explained(status, headers).name, 'RequestRejected', String(status))
  assert.equal(explained(404, headers).message, 'it does not exist')
  assert.equal(explained(403, headers).name, 'ServerBusy')
})

test('the command that a message suggests is for the same organization', async (t) => {
  const { url } = await fakeServer(t, (_request, reply) => sendJson(reply, 404, {}))
  const server = { url, token: 't', org: 'octo', vendor: 'github', userAgent: 'godwit/test' }
  const { signal } = new AbortController()
  const { schedules, webhooks, show } = new MigrationsApi(server, { signal, onWait() {} })
  await assert.rejects(show(1), /`godwit migration list --org octo`/)
  await assert.rejects(webhooks.show(1), /`godwit webhook list --org octo`/)
  await assert.rejects(schedules.show(1), /`godwit schedule list --org octo`/)
  await assert.rejects(schedules.release(1, 7), /`godwit schedule show 1 --org octo`/)
})
