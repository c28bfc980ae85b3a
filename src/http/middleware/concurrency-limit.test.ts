import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { concurrencyLimit } from './concurrency-limit.ts'

const forever = new AbortController().signal
const limitOf = (max: number, waitMs: number) =>
  concurrencyLimit({
    max,
    maxPerCaller: Math.ceil(max / 2),
    maxWaiting: 20,
    waitMs,
    refusal: (isOwn) => Object.assign(new Error(), { status: isOwn ? 429 : 503 }),
  })

test('those that are too many wait in line, and nobody has more than half', async () => {
  const places = limitOf(4, 60_000)
  const begun: string[] = []
  const leave: (() => void)[] = []
  const come = (holder: string) =>
    void places.take(holder, forever).then((left) => {
      begun.push(holder)
      leave.push(left)
    })
  for (const holder of ['a', 'a', 'a', 'b', 'c', 'd']) come(holder)
  await turn()
  assert.deepEqual(begun, ['a', 'a', 'b', 'c'])
  assert.deepEqual([places.running(), places.waiting()], [4, 2])
  leave[2]!()
  await turn()
  assert.deepEqual(begun.slice(4), ['d'])
  leave[0]!()
  await turn()
  assert.deepEqual(begun.slice(5), ['a'])
  for (const left of [1, 3, 4, 5]) leave[left]!()
  assert.deepEqual([places.running(), places.waiting()], [0, 0])
})

test('who waits too long, or behind too many, is told to come again', async () => {
  const places = limitOf(1, 1)
  const leave = await places.take('a', forever)
  const refusals = await Promise.allSettled(
    Array.from({ length: 21 }, () => places.take('b', forever)),
  )
  assert.deepEqual(
    [...new Set(refusals.map((each) => (each as PromiseRejectedResult).reason.status))],
    [503],
  )
  assert.equal(places.waiting(), 0)
  leave()
  ;(await places.take('b', forever))()
})

test('a caller has at most half of the line, and is told that its own requests are too many', async () => {
  const places = limitOf(4, 60_000)
  const leave = await Promise.all([places.take('a', forever), places.take('a', forever)])
  const line = Array.from({ length: 10 }, () => places.take('a', forever))
  await assert.rejects(places.take('a', forever), { status: 429 })
  leave.push(await places.take('b', forever), await places.take('c', forever))
  const waiting = places.take('d', forever)
  for (const each of leave) each()
  for (const each of [waiting, ...line]) (await each)()
  assert.deepEqual([places.running(), places.waiting()], [0, 0])
})

test('who leaves the line leaves no hole in it', async () => {
  const places = limitOf(1, 60_000)
  const leave = await places.take('a', forever)
  const impatient = new AbortController()
  const left = places.take('b', impatient.signal)
  const next = places.take('c', forever)
  impatient.abort(new Error('gone'))
  await assert.rejects(left, /gone/)
  await assert.rejects(places.take('b', impatient.signal), /gone/)
  leave()
  ;(await next)()
  assert.deepEqual([places.running(), places.waiting()], [0, 0])
})
