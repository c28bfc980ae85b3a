import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTimeZone, nextRun, type Timing } from './next-run.ts'

const daily = (at: string, timeZone: string): Timing => ({
  every: 'day',
  weekday: null,
  at,
  timeZone,
})

/** Returns the first due times after a time. */
function dueTimes(timing: Timing, after: string, count: number): string[] {
  const due: string[] = []
  let moment = Date.parse(after)
  while (due.length < count) {
    moment = nextRun(timing, moment)
    due.push(new Date(moment).toISOString().replace(':00.000Z', 'Z'))
  }
  return due
}

test('a daily schedule runs at the same local time in summer and winter', () => {
  assert.deepEqual(dueTimes(daily('03:30', 'Europe/Zurich'), '2026-03-27T12:00Z', 4), [
    '2026-03-28T02:30Z',
    '2026-03-29T01:30Z',
    '2026-03-30T01:30Z',
    '2026-03-31T01:30Z',
  ])
  assert.deepEqual(dueTimes(daily('23:45', 'Asia/Kathmandu'), '2026-12-30T18:00Z', 3), [
    '2026-12-31T18:00Z',
    '2027-01-01T18:00Z',
    '2027-01-02T18:00Z',
  ])
})

test('a time that does not exist on a day is due at the first moment after it', () => {
  // At 02:00 the clocks go to 03:00.
  assert.deepEqual(dueTimes(daily('02:30', 'Europe/Zurich'), '2026-03-28T12:00Z', 2), [
    '2026-03-29T01:00Z',
    '2026-03-30T00:30Z',
  ])
  // On Lord Howe Island the change is half an hour; in Beirut it is at midnight.
  assert.deepEqual(dueTimes(daily('02:15', 'Australia/Lord_Howe'), '2026-10-03T12:00Z', 2), [
    '2026-10-03T15:30Z',
    '2026-10-04T15:15Z',
  ])
  assert.deepEqual(dueTimes(daily('00:00', 'Asia/Beirut'), '2026-03-27T23:00Z', 2), [
    '2026-03-28T22:00Z',
    '2026-03-29T21:00Z',
  ])
})

test('a time that occurs twice is due once, the first time', () => {
  // At 03:00 the clocks go back to 02:00.
  assert.deepEqual(dueTimes(daily('02:30', 'Europe/Zurich'), '2026-10-24T12:00Z', 2), [
    '2026-10-25T00:30Z',
    '2026-10-26T01:30Z',
  ])
  assert.deepEqual(dueTimes(daily('01:30', 'America/New_York'), '2026-10-31T12:00Z', 2), [
    '2026-11-01T05:30Z',
    '2026-11-02T06:30Z',
  ])
})

test('a weekly schedule runs on its weekday, across months and changes of the clocks', () => {
  const sundays: Timing = { ...daily('02:30', 'Europe/Zurich'), every: 'week', weekday: 'sunday' }
  assert.deepEqual(dueTimes(sundays, '2026-10-17T00:00Z', 4), [
    '2026-10-18T00:30Z',
    '2026-10-25T00:30Z',
    '2026-11-01T01:30Z',
    '2026-11-08T01:30Z',
  ])
  // A Monday in Auckland begins on a Sunday in UTC.
  const mondays: Timing = {
    ...daily('00:30', 'Pacific/Auckland'),
    every: 'week',
    weekday: 'monday',
  }
  assert.deepEqual(dueTimes(mondays, '2026-06-28T12:00Z', 2), [
    '2026-06-28T12:30Z',
    '2026-07-05T12:30Z',
  ])
})

test('the next run after a due time is a later one', () => {
  const [due] = dueTimes(daily('03:30', 'UTC'), '2026-01-01T03:29Z', 1)
  assert.equal(due, '2026-01-01T03:30Z')
  assert.deepEqual(dueTimes(daily('03:30', 'UTC'), '2026-01-01T03:30Z', 1), ['2026-01-02T03:30Z'])
})

test('in time zones all over the world, every day of a year has one run, in order and close to its time', () => {
  for (const timeZone of Intl.supportedValuesOf('timeZone').filter((_, at) => at % 40 === 0)) {
    const timing = daily('02:30', timeZone)
    let last = nextRun(timing, Date.UTC(2026, 0, 1))
    for (let day = 0; day < 365; day++) {
      const next = nextRun(timing, last)
      const hours = (next - last) / 3_600_000
      assert.ok(hours >= 22.5 && hours <= 25.5, `${timeZone}: ${hours} h after ${new Date(last)}`)
      last = next
    }
  }
})

test('time zones are recognized by their names', () => {
  for (const good of ['UTC', 'Europe/Zurich', 'America/Argentina/Ushuaia', 'Etc/GMT+5'])
    assert.ok(isTimeZone(good), good)
  for (const bad of ['', '+01:00', '-0800', 'Mars/Olympus', 'Europe/Zurich ', 'Z', '../etc'])
    assert.equal(isTimeZone(bad), false, bad)
})
