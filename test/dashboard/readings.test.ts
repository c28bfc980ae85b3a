import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ServerEvent, serverEvents } from '../../web/src/event-stream.ts'
import { momentByBothClocks, timeZoneHere } from '../../web/src/parts/schedule-words.ts'
import { bytes, duration, fromNow } from '../../web/src/quantities.ts'

async function eventsIn(pieces: readonly Uint8Array<ArrayBuffer>[]): Promise<ServerEvent[]> {
  const events = []
  let heard = 0
  const onHeard = () => {
    heard += 1
  }
  for await (const event of serverEvents(ReadableStream.from(pieces), onHeard)) events.push(event)
  assert.ok(heard > 0)
  return events
}

test('a stream of events is read alike however it is cut into pieces', async () => {
  const text =
    'event: repository\nid: 1\ndata: {"full_name":"alice/ä"}\n\n:\n\nevent: progress\ndata: {}\n\ndata: cut off'
  const whole = new TextEncoder().encode(text)
  const expected = [
    { name: 'repository', id: '1', data: '{"full_name":"alice/ä"}' },
    { name: 'progress', id: undefined, data: '{}' },
  ]
  for (let size = 1; size <= whole.length; size += 1) {
    const count = Math.ceil(whole.length / size)
    const pieces = Array.from({ length: count }, (_, at) =>
      whole.subarray(at * size, (at + 1) * size),
    )
    assert.deepEqual(await eventsIn(pieces), expected, `in pieces of ${size}`)
  }
})

test('a time zone that the browser does not know leaves its own clock', () => {
  const at = '2026-05-04T12:00:00Z'
  assert.equal(momentByBothClocks(at, 'Mars/Olympus'), momentByBothClocks(at, timeZoneHere()))
  assert.match(momentByBothClocks(at, 'Asia/Tokyo'), /21:00( in Asia\/Tokyo)?$/)
})

test('sizes and times are told as people tell them', () => {
  assert.deepEqual([0, 1, 999, 999.6, 1500, 12_345_678, 999_600_000].map(bytes), [
    '0 bytes',
    '1 byte',
    '999 bytes',
    '1.0 kB',
    '1.5 kB',
    '12 MB',
    '1.0 GB',
  ])
  assert.deepEqual([0.2, 59, 90, 3600, 3725, 200_000].map(duration), [
    'under 1 s',
    '59 s',
    '2 min',
    '1 h',
    '1 h 2 min',
    '2 d 7 h',
  ])
  const now = Date.UTC(2026, 4, 4)
  const told = (seconds: number) => fromNow(new Date(now + seconds * 1000), now)
  assert.deepEqual([-3, -45, -3599, -7300, -90_000, 6.99 * 86_400, 5].map(told), [
    'just now',
    '45 seconds ago',
    '59 minutes ago',
    '2 hours ago',
    'yesterday',
    'in 7 days',
    'in a few seconds',
  ])
})
