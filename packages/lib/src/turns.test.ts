import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { mapInTurns, nextTurn } from './turns.ts'

/** Blocks the thread for longer than the limit of one turn. */
function blockThread(): void {
  const until = performance.now() + 11
  while (performance.now() < until);
}

test('the work of many tasks is spread over turns of the event loop', async () => {
  let pieces = 0
  const task = async () => {
    for (let n = 0; n < 3; n++) {
      blockThread()
      pieces++
      await nextTurn()
    }
  }
  await turn()
  const tasks = Promise.all(Array.from({ length: 4 }, task))
  assert.equal(pieces, 4, 'each task starts without waiting')
  const perTurn: number[] = []
  while (pieces < 12) {
    const before = pieces
    await turn()
    perTurn.push(pieces - before)
  }
  await tasks
  assert.ok(Math.max(...perTurn) <= 2, perTurn.join())
})

test('other work that needs several turns runs between two slices', async (t) => {
  let clock = performance.now()
  t.mock.method(performance, 'now', () => clock)
  let pieces = 0
  const heavy = async () => {
    for (let n = 0; n < 8; n++) {
      clock += 11
      pieces++
      await nextTurn()
    }
  }
  await turn()
  const tasks = Promise.all([heavy(), heavy()])
  const before = pieces
  for (let n = 0; n < 5; n++) {
    clock++
    await turn()
  }
  // The first task may begin another piece before its slice has ended.
  assert.ok(pieces - before <= 2, `${pieces - before} pieces`)
  await tasks
})

test('short tasks share a slice', async (t) => {
  let clock = performance.now()
  t.mock.method(performance, 'now', () => clock)
  let ended = 0
  const task = async () => {
    await nextTurn()
    clock++
    ended++
  }
  await turn()
  nextTurn()
  clock += 11
  const began = clock
  const tasks = Promise.all(Array.from({ length: 20 }, task))
  while (ended < 20) {
    clock += 0.3
    await turn()
  }
  await tasks
  // Three slices and the pauses before them. A slice for each task would take 200 ms.
  assert.ok(clock - began < 80, `${clock - began} ms`)
})

test('short work ends in the turn in which it began', async () => {
  await turn()
  assert.equal(nextTurn(), undefined)
  assert.equal(nextTurn(), undefined)
})

test('a long list is mapped in order, and other work runs in between', async () => {
  let others = 0
  const count = setInterval(() => others++, 0)
  const numbers = Array.from({ length: 5 }, (_, index) => index)
  const mapped = await mapInTurns(numbers, (number, index) => {
    blockThread()
    return number + index
  })
  clearInterval(count)
  assert.deepEqual(mapped, [0, 2, 4, 6, 8])
  assert.ok(others > 0)
})
