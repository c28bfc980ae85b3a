import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asTemporaryError, retryPause } from './errors.ts'
import { explainError } from './explain-error.ts'

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
