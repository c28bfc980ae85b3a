import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestRejected, ServerBusy, ServerError } from './errors.ts'
import { outagePauses } from './outage-pauses.ts'

const url = 'https://forge.example'
const HALF_AN_HOUR_S = 1800
const askedBy = (status: number) => new ServerBusy(status, HALF_AN_HOUR_S, 'later')

test('a server that is away is asked again, later each time, and its failure is told once', () => {
  const told: Error[] = []
  const pauses = outagePauses(url, (outage) => told.push(outage))
  const failed = new ServerError(502, 'Bad Gateway')
  assert.deepEqual(
    Array.from({ length: 7 }, () => pauses.after(failed)),
    [250, 500, 1000, 2000, 4000, 5000, 5000],
  )
  assert.deepEqual(told, [failed])
  const refused = new RequestRejected(404, 'Not Found')
  assert.throws(() => pauses.after(refused), refused)
})

test('one that is away is waited for an hour at most, however long it asks for', () => {
  const pauses = outagePauses(url, () => {})
  const away = askedBy(503)
  for (let round = 0; round < 2; round++) {
    assert.equal(pauses.after(away), HALF_AN_HOUR_S * 1000)
    assert.equal(pauses.after(away), HALF_AN_HOUR_S * 1000)
    assert.throws(() => pauses.after(away), away)
    pauses.reset()
  }
})

test('one that counts requests is there: it is waited for as long as it asks', () => {
  const pauses = outagePauses(url, () => {})
  for (const status of [403, 429])
    for (let times = 0; times < 20; times++)
      assert.equal(pauses.after(askedBy(status)), HALF_AN_HOUR_S * 1000)
})
