import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asTemporaryError, retryPause } from './errors.ts'
import { explainError } from './explain-error.ts'

const url = 'https://forge.example'

function answered(status: number, headers: Record<string, string>): Error {
  const error = new Error('Octokit says so')
  const answer = Object.assign(error, { status, response: { data: {}, headers } })
  return explainError(answer, { url, missing: 'it is not there' }) as Error
}

test('a server that asks to come back later is left alone for as long, an hour at most', () => {
  for (const status of [403, 429, 503]) {
    const outage = asTemporaryError(answered(status, { 'retry-after': '1800' }), url)!
    assert.equal(outage.name, 'ServerBusy')
    assert.equal(retryPause(outage, 250), 1_800_000)
  }
  assert.equal(retryPause(answered(429, { 'retry-after': '99999' }), 250), 3_600_000)
  assert.equal(retryPause(answered(429, {}), 250), 60_000)
  assert.equal(retryPause(answered(503, {}), 250), 250)
})

test('the last request that a rate limit allows may be refused for its own sake', () => {
  const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9999999999' }
  for (const status of [401, 404, 422])
    assert.equal(answered(status, headers).name, 'RequestRejected', String(status))
  assert.equal(answered(404, headers).message, 'it is not there')
  assert.equal(answered(403, headers).name, 'ServerBusy')
})
