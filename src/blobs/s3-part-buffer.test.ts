import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Bucket } from './s3-bucket.ts'
import { PartBuffer } from './s3-part-buffer.ts'
import { putStreamed } from './s3-put.ts'

async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol('waiting')
  return (await Promise.race([promise, turn(waiting)])) === waiting
}

test('no more is held than there is room for, and what was given back is used again', async () => {
  const room = new PartBuffer(20)
  const [first, second] = [await room.take(10), await room.take(10)]
  const [third, fourth] = [room.take(10), room.take(10)]
  assert.ok(await isWaiting(third))
  room.giveBack(first)
  assert.equal(await third, first)
  assert.ok(await isWaiting(fourth))
  room.giveBack(second)
  assert.equal(await fourth, second)
})

test('whoever waits for room and is called off waits no more, and takes none', async () => {
  const room = new PartBuffer(10)
  const first = await room.take(10)
  const stopping = new AbortController()
  const [second, third] = [room.take(10, stopping.signal), room.take(10)]
  assert.ok(await isWaiting(second))
  const enough = new Error('enough')
  stopping.abort(enough)
  await assert.rejects(second, enough)
  await assert.rejects(room.take(10, stopping.signal), enough)
  assert.ok(await isWaiting(third))
  room.giveBack(first)
  assert.equal(await third, first)
})

test('what waits for another host holds up only its like', async () => {
  const s3 = { putObject: async () => ({}) }
  const bucket = { s3, name: 'bucket', prefix: '' } as unknown as Bucket
  const more = Promise.withResolvers<void>()
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  async function* slowly(at: number) {
    yield Buffer.alloc(2 * 1024 * 1024)
    begun[at]!.resolve()
    await more.promise
  }
  const slow = begun.map((_, at) => putStreamed(bucket, `slow${at}`, slowly(at), { isSlow: true }))
  await Promise.all(begun.map(({ promise }) => promise))
  await putStreamed(bucket, 'metadata', [Buffer.alloc(2 * 1024 * 1024)], {})
  more.resolve()
  await Promise.all(slow)
})

test('a part that is larger than the room is held alone', async () => {
  const room = new PartBuffer(20)
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
