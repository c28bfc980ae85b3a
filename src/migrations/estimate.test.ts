import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateSecondsLeft, type RepositoryWork } from './estimate.ts'

const SECOND = 1000
const MB = 1_000_000
const GB = 1000 * MB

const waiting = (bytesExpected: number): RepositoryWork => ({
  finishedAt: null,
  bytesDone: 0,
  bytesExpected,
  packingSince: null,
  records: null,
})

const packing = (bytesDone: number, bytesExpected: number, packingSince: number) => ({
  ...waiting(bytesExpected),
  bytesDone,
  packingSince,
})

const exported = (bytes: number, packingSince: number, finishedAt: number) => ({
  ...packing(bytes, bytes, packingSince),
  finishedAt,
})

const records = (done: number, expected: number, since: number, finishedAt: number | null) => ({
  done,
  expected,
  startedAt: since,
  finishedAt,
  waitingUntil: null as number | null,
})

const many = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n))

/** Exports of equal duration, one after the other on each of two workers. */
const inPairs = (count: number, bytes: number, from: number, ms: number) =>
  many(count, (n) => {
    const since = from + Math.floor(n / 2) * ms
    return exported(bytes, since, since + ms)
  })

const at = (now: number) => ({ startedAt: 0, now })

function assertBetween(least: number, actual: number | null, most: number): void {
  assert.ok(actual !== null && actual >= least && actual <= most, `${actual} s`)
}

test('many small repositories take time although nearly all bytes are done', () => {
  // A run of 205 repositories on two workers took 19 s. With 42 done, the bytes alone gave 1 s.
  const run = [
    exported(40 * MB, 0, 1500),
    exported(38 * MB, 0, 1500),
    ...inPairs(40, 2000, 1500, 170),
    ...many(163, () => waiting(2000)),
  ]
  assertBetween(12, estimateSecondsLeft(run, at(4900)), 16)
})

test('large repositories take longer than as many small ones', () => {
  const run = [
    ...inPairs(20, 1000, 0, 200),
    exported(100 * MB, 2000, 12 * SECOND),
    exported(100 * MB, 2000, 12 * SECOND),
    ...many(10, () => waiting(200 * MB)),
  ]
  // Ten times 20 s on two workers.
  assertBetween(90, estimateSecondsLeft(run, at(12 * SECOND)), 115)
})

test('a single large repository is estimated by its bytes', () => {
  assert.equal(estimateSecondsLeft([packing(3 * GB, 10 * GB, 0)], at(30 * SECOND)), 70)
})

test('the longest repository is not divided among workers', () => {
  const run = [...inPairs(20, 1000, 0, 500), packing(1 * GB, 10 * GB, 0)]
  assert.equal(estimateSecondsLeft(run, at(10 * SECOND)), 90)
})

test('there is no estimate while too little is done', () => {
  const small = many(204, () => waiting(2000))
  assert.equal(estimateSecondsLeft([exported(2000, 0, 500), ...small], at(1000)), null, 'time')
  assert.equal(estimateSecondsLeft([exported(2000, 0, 500), ...small], at(9000)), null, 'count')
  assert.equal(estimateSecondsLeft([packing(1 * MB, 9 * GB, 0)], at(9000)), null, 'bytes')
  assert.equal(estimateSecondsLeft(small, at(9000)), null, 'nothing')
})

test('there is no estimate while only records are read', () => {
  // A run with a forge said 53,184 s here, at 1 byte per second.
  const read = { ...waiting(5000), records: records(10, 10, 0, 1000) }
  const reading = { ...waiting(48_184), records: records(700, 1300, 1000, null) }
  assert.equal(estimateSecondsLeft([read, reading, waiting(20 * MB)], at(60 * SECOND)), null)
})

test('there is no estimate while the forge accepts no requests', () => {
  const waitingForForge = { ...records(5, 10, 0, null), waitingUntil: 90 * SECOND }
  const run = [...inPairs(20, 1000, 0, 500), { ...waiting(1000), records: waitingForForge }]
  assert.equal(estimateSecondsLeft(run, at(10 * SECOND)), null)
})

test('records are estimated by their number, also without git data', () => {
  const run = [{ ...waiting(0), records: records(100, 400, 0, null) }]
  assert.equal(estimateSecondsLeft(run, at(10 * SECOND)), 30)
})

test('records and git data of the same repositories add up', () => {
  const done = many(10, (n) => ({
    ...exported(1 * MB, n * 1000 + 600, n * 1000 + 1000),
    records: records(50, 50, n * 1000, n * 1000 + 600),
  }))
  const run = [...done, ...many(10, () => waiting(1 * MB))]
  assert.equal(estimateSecondsLeft(run, at(10 * SECOND)), 10)
})

test('repositories that were reused before the export began do not count', () => {
  const reused = many(1000, () => exported(50 * MB, -5, 0))
  const run = [...reused, packing(3 * GB, 10 * GB, 0)]
  assert.equal(estimateSecondsLeft(run, at(30 * SECOND)), 70)
})

test('a repository that takes longer than all others leaves nothing to estimate from', () => {
  const run = [...inPairs(20, 1000, 0, 200), packing(0, 1000, 2000)]
  assert.equal(estimateSecondsLeft(run, at(60 * SECOND)), null)
})
