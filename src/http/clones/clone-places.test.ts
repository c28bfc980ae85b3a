import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { clonePlaces } from './clone-places.ts'

const forever = new AbortController().signal

test('those that are too many wait in line, and nobody has more than half', async () => {
  const places = clonePlaces({ max: 4, waitMs: 60_000 })
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
  const places = clonePlaces({ max: 1, waitMs: 1 })
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

test('who leaves the line leaves no hole in it', async () => {
  const places = clonePlaces({ max: 1, waitMs: 60_000 })
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
