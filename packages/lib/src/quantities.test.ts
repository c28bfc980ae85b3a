import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes, formatDuration, formatKib, formatRelativeTime } from './quantities.ts'

test('sizes are decimal, with two digits if they are small', () => {
  const sizes: [number, string][] = [
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1.0 kB'],
    [9949, '9.9 kB'],
    [12_345_678, '12 MB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [5.2e15, '5.2 PB'],
  ]
  for (const [bytes, words] of sizes) assert.equal(formatBytes(bytes), words)
  assert.deepEqual([0, 1, 2].map(formatKib), ['0 bytes', 'up to 1 kB', '2.0 kB'])
})

test('durations and times are readable', () => {
  const lengths: [number, string][] = [
    [0.2, 'under 1 s'],
    [42.4, '42 s'],
    [3600, '1 h'],
    [3725, '1 h 2 min'],
    [90_000, '1 d 1 h'],
  ]
  for (const [seconds, words] of lengths) assert.equal(formatDuration(seconds), words)
  const now = Date.UTC(2026, 10, 15)
  const moment = (seconds: number) => formatRelativeTime(new Date(now + seconds * 1000), now)
  assert.deepEqual([-3, -90, -7300, 86_400 * 6].map(moment), [
    'just now',
    '1 minute ago',
    '2 hours ago',
    'in 6 days',
  ])
})
