import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toIsoTime } from './parse-time.ts'

test('a time of ISO 8601 is not changed, and others are converted or refused', () => {
  for (const time of ['2024-05-01T12:00:00Z', '2024-05-02T09:00:00.000+08:00'])
    assert.equal(toIsoTime(time), time)
  assert.equal(toIsoTime('2016-06-14 15:02:08 UTC'), '2016-06-14T15:02:08.000Z')
  assert.equal(toIsoTime('2016-06-14 15:02:08'), '2016-06-14T15:02:08.000Z')
  assert.equal(toIsoTime('2024-05-01T12:00'), '2024-05-01T12:00:00.000Z')
  assert.equal(toIsoTime('Wed, 01 May 2024 12:00:00 GMT'), '2024-05-01T12:00:00.000Z')
  assert.equal(toIsoTime('2024-06-01'), '2024-06-01T00:00:00.000Z')
  for (const text of [
    '',
    'yesterday',
    '1',
    'ten 1',
    '9999-12-31T23:59:59-08:00',
    '+275760-09-13T00:00:00Z',
    '-000001-01-01T00:00:00Z',
  ])
    assert.equal(toIsoTime(text), undefined, text)
})
