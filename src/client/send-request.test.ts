import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryAfter } from './send-request.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const after = (headers: Record<string, string>) => retryAfter(new Headers(headers), NOW)

test('a pause is read from Retry-After in seconds or as a date, or from the reset of the rate limit', () => {
  assert.equal(after({ 'retry-after': '7' }), 7)
  assert.equal(after({ 'retry-after': 'Thu, 01 Jan 2026 00:01:30 GMT' }), 90)
  assert.equal(after({ 'retry-after': 'Thu, 01 Jan 2015 00:00:00 GMT' }), 0)
  const reset = String(NOW / 1000 + 60)
  assert.equal(after({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }), 60)
  assert.equal(after({ 'ratelimit-remaining': '0', 'ratelimit-reset': reset }), 60)
  assert.equal(after({ 'ratelimit-remaining': '0', 'ratelimit-reset': '30' }), 30)
  assert.equal(after({ 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': reset }), undefined)
  assert.equal(after({ 'retry-after': 'soon' }), undefined)
  assert.equal(after({}), undefined)
})
