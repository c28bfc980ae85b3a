import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatInBothZones, localTimeZone } from '../src/components/format-schedule.ts'
import { failureOf } from '../src/failure.ts'
import { formatBytes, formatDuration, formatRelativeTime } from '../src/quantities.ts'

test('the reason why a repository is rejected is shown once, with its name', () => {
  const shownFor = (error: object, repositories?: string[]) => {
    const errors = [{ field: 'repositories', ...error }]
    const details = { request: { body: { repositories } }, response: { data: { errors } } }
    const { message, missing } = failureOf(
      Object.assign(new Error('refused'), { status: 422 }, details),
    )
    return [message, missing]
  }
  const sent = ['alice/atlas', 'alice/site']
  assert.deepEqual(shownFor({ code: 'missing', index: 1 }, sent), [
    'alice/site: it does not exist, or you may not migrate it.',
    ['alice/site'],
  ])
  const gone = 'alice/site no longer exists, or may no longer be migrated.'
  assert.deepEqual(shownFor({ code: 'missing', value: 'alice/site', message: gone }), [
    gone,
    ['alice/site'],
  ])
  const message = 'alice/site cannot be locked: its config cannot be written'
  assert.deepEqual(shownFor({ code: 'unprocessable', index: 1, message }, sent), [message, []])
  assert.deepEqual(shownFor({ code: 'already_exists', index: 1 }, sent), [
    'alice/site is named twice.',
    [],
  ])
  assert.deepEqual(shownFor({ code: 'invalid', index: 1 }, sent), ['alice/site is not valid.', []])
  assert.deepEqual(shownFor({ code: 'missing_field' }), ['Repositories: A value is missing.', []])
})

test('a refused field has its label in the forms, and a used-up rate limit is no refusal', () => {
  const failure = (response: object) =>
    failureOf(Object.assign(new Error('refused'), { status: 403, response }))
  const { message, fields } = failure({ data: { errors: [{ field: 'keep', code: 'invalid' }] } })
  assert.equal(message, 'Archives to keep: Enter a number from 1 to 100.')
  assert.deepEqual(fields, { keep: 'Enter a number from 1 to 100.' })
  assert.equal(failure({ headers: { 'x-ratelimit-remaining': '0' } }).kind, 'limited')
  assert.equal(failure({ headers: { 'x-ratelimit-remaining': '1' } }).kind, 'refused')
})

test('an unknown time zone falls back to the clock of the browser', () => {
  const at = '2026-05-04T12:00:00Z'
  assert.equal(formatInBothZones(at, 'Mars/Olympus'), formatInBothZones(at, localTimeZone()))
  // One of them differs from the clock of this machine.
  const isLocalZone = !formatInBothZones(at, 'Asia/Tokyo').includes('your time')
  const [zone, time] = isLocalZone ? ['UTC', '12:00'] : ['Asia/Tokyo', '21:00']
  assert.ok(formatInBothZones(at, zone).endsWith(`${time} in ${zone}`))
})

test('sizes and times are formatted for people', () => {
  assert.deepEqual([0, 1, 999, 999.6, 1500, 12_345_678, 999_600_000].map(formatBytes), [
    '0 bytes',
    '1 byte',
    '999 bytes',
    '1.0 kB',
    '1.5 kB',
    '12 MB',
    '1.0 GB',
  ])
  assert.deepEqual([0.2, 59, 90, 3600, 3725, 200_000].map(formatDuration), [
    'under 1 s',
    '59 s',
    '2 min',
    '1 h',
    '1 h 2 min',
    '2 d 7 h',
  ])
  const now = Date.UTC(2026, 4, 4)
  const relative = (seconds: number) => formatRelativeTime(new Date(now + seconds * 1000), now)
  assert.deepEqual([-3, -45, -3599, -7300, -90_000, 6.99 * 86_400, 5].map(relative), [
    'just now',
    '45 seconds ago',
    '59 minutes ago',
    '2 hours ago',
    'yesterday',
    'in 7 days',
    'in a few seconds',
  ])
})
