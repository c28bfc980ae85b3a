import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateSecondsLeft, predictSeconds, type RepositoryWork } from './estimate.ts'

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

test('there is no estimate from repositories that are much smaller than those that remain', () => {
  const small = many(6, (n) => exported(119 + 50 * n, 300 * n, 300 * n + 100 + 60 * n))
  assert.equal(estimateSecondsLeft([...small, waiting(2 * GB)], at(3 * SECOND)), null)
  const read = small.map((each) => ({ ...each, records: records(2, 2, 0, 100) }))
  const reading = { ...waiting(300), records: records(20, 1300, 2000, null) }
  assert.equal(estimateSecondsLeft([...read, reading], at(3 * SECOND)), null, 'records')
})

test('records whose number is not known yet are estimated as those of the others', () => {
  const done = many(6, (n) => {
    const [count, since] = [100 * (n + 1), 500 * n * (n + 1)]
    const read = since + 10 * count
    return {
      ...exported(5000, read - 100, read),
      records: records(count, count, since, read - 100),
    }
  })
  const begun = { ...waiting(5000), records: records(0, 0, 21_000, null) }
  // 350 issues on average, each in 10 ms.
  assertBetween(6, estimateSecondsLeft([...done, begun, begun], at(21 * SECOND)), 9)
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

test('there is no estimate while a repository makes no progress, however few bytes are left', () => {
  const done = inPairs(20, 1000, 0, 500)
  const stuck = { ...packing(950, 1000, 5000), progressAt: 6000 }
  assertBetween(0, estimateSecondsLeft([...done, stuck], at(7 * SECOND)), 2)
  assert.equal(estimateSecondsLeft([...done, stuck], at(2520 * SECOND)), null)
  const begun = packing(0, 1000, 5000)
  assert.equal(estimateSecondsLeft([...done, begun, waiting(1000)], at(60 * SECOND)), null)
})

test('a forecast needs exports that are not much smaller', () => {
  const small = { bytes: 4000, ms: 600 }
  assert.equal(predictSeconds([], [1]), null)
  assert.equal(predictSeconds([small], [15 * MB]), null)
  assert.equal(predictSeconds([small], [4000, 4000]), 2)
  const large = { bytes: 10 * MB, ms: 2600 }
  assertBetween(4, predictSeconds([small, large], [15 * MB]), 5)
  assert.equal(predictSeconds([small], []), 0)
})

/**
 * The exports of a measured run in the order of their start, as `started+took` in milliseconds: 205 repositories on two workers of
 * a busy machine. One of them has 48 MB, all others 119 bytes.
 */
const MEASURED = `
  117+2130 240+3423 2254+63 2328+247 2587+665 3258+268 3540+117 3661+221 3678+158 3848+248 3892+162 4092+318 4101+395
  4427+424 4526+455 4861+130 4988+188 5013+31 5047+30 5093+66 5163+97 5187+338 5263+281 5537+494 5564+59 5634+37 5676+35
  5714+46 5767+83 5854+318 6064+754 6189+93 6285+38 6329+25 6358+217 6633+797 6908+536 7435+398 7607+237 7838+269
  7903+174 8084+178 8140+145 8268+211 8291+193 8483+149 8499+43 8552+300 8647+201 8851+82 8867+349 8936+116 9087+145
  9219+194 9235+185 9417+514 9457+25 9485+450 9933+245 9964+233 10181+111 10205+122 10317+78 10334+232 10399+104
  10506+113 10570+184 10628+139 10763+164 10779+222 10931+453 11004+358 11383+504 11556+349 11904+48 11952+201 12038+67
  12112+996 12169+598 12795+148 12946+802 13154+986 13787+166 13956+198 14152+229 14225+174 14387+113 14447+361 14503+45
  14551+25 14579+352 14816+376 14946+633 15253+670 15692+326 15978+162 16021+124 16144+263 16191+148 16342+123 16416+177
  16475+82 16561+66 16602+54 16635+198 16695+275 16840+601 16972+188 17188+42 17234+238 17447+214 17638+272 17756+171
  17919+163 17929+166 18085+105 18107+43 18172+148 18208+144 18323+76 18358+77 18406+74 18455+64 18483+141 18524+144
  18627+189 18675+780 18818+355 19179+265 19453+209 19457+639 19665+126 19795+212 20044+233 20100+190 20280+244
  20296+238 20530+92 20537+434 20626+380 20976+409 21010+382 21391+322 21446+212 21662+94 21727+235 21924+96 22019+175
  22025+176 22200+206 22226+242 22411+69 22476+148 22500+142 22627+189 22647+327 22832+41 22877+21 22901+287 22982+352
  23191+253 23337+157 23464+251 23496+511 23721+318 24012+266 24111+71 24185+423 24393+295 24617+272 24730+138 24872+76
  24912+197 24951+137 25094+441 25115+98 25216+328 25538+419 25594+518 26039+604 26122+313 26452+54 26509+154 26646+267
  26667+50 26724+49 26775+200 26916+132 27006+70 27052+98 27078+110 27154+96 27192+455 27286+36 27343+420 27712+139
  27801+97 27856+326 27919+173 28101+90 28189+194 28194+176 28373+286 28395+97 28520+58
`

test('estimates of a measured run are near the time that it took', () => {
  const exports = MEASURED.trim()
    .split(/\s+/)
    .map((text, n) => {
      const [since = 0, took = 0] = text.split('+').map(Number)
      return exported(n === 1 ? 48_014_799 : 119, since, since + took)
    })
  const end = Math.max(...exports.map(({ finishedAt }) => finishedAt))
  for (const now of [6, 10, 14, 18, 22, 26].map((seconds) => seconds * SECOND)) {
    const run = exports.map((each) => {
      if (each.finishedAt <= now) return each
      const { bytesExpected, packingSince } = each
      return packingSince <= now ? packing(0, bytesExpected, packingSince) : waiting(1024)
    })
    const left = (end - now) / SECOND
    assertBetween(left * 0.5 - 1, estimateSecondsLeft(run, at(now)), left * 1.6 + 1)
  }
})
