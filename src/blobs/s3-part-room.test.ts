import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { PartRoom } from './s3-part-room.ts'

async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol('waiting')
  return (await Promise.race([promise, turn(waiting)])) === waiting
}

test('no more is held than there is room for, and what was given back is used again', async () => {
  const room = new PartRoom(20)
  const [first, second] = [await room.take(10), await room.take(10)]
  const [third, fourth] = [room.take(10), room.take(10)]
  assert.ok(await isWaiting(third))
  room.giveBack(first)
  assert.equal(await third, first)
  assert.ok(await isWaiting(fourth))
  room.giveBack(second)
  assert.equal(await fourth, second)
})

test('a part that is larger than the room is held alone', async () => {
  const room = new PartRoom(20)
  const small = await room.take(10)
  const large = room.take(50)
  assert.ok(await isWaiting(large))
  room.giveBack(small)
  assert.equal((await large).length, 50)
  const next = room.take(10)
  assert.ok(await isWaiting(next))
  room.giveBack(await large)
  assert.equal((await next).length, 10)
})
