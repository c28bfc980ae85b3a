import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Bucket } from './s3-bucket.ts'
import { PartPool, putStream } from './s3-upload.ts'

async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol('waiting')
  return (await Promise.race([promise, turn(waiting)])) === waiting
}

test('the pool never exceeds its size and reuses released parts', async () => {
  const pool = new PartPool(20)
  const [first, second] = [await pool.acquire(10), await pool.acquire(10)]
  const [third, fourth] = [pool.acquire(10), pool.acquire(10)]
  assert.ok(await isWaiting(third))
  pool.release(first)
  assert.equal(await third, first)
  assert.ok(await isWaiting(fourth))
  pool.release(second)
  assert.equal(await fourth, second)
})

test('an aborted acquire stops waiting and takes no memory', async () => {
  const pool = new PartPool(10)
  const first = await pool.acquire(10)
  const stopping = new AbortController()
  const [second, third] = [pool.acquire(10, stopping.signal), pool.acquire(10)]
  assert.ok(await isWaiting(second))
  const enough = new Error('enough')
  stopping.abort(enough)
  await assert.rejects(second, enough)
  await assert.rejects(pool.acquire(10, stopping.signal), enough)
  assert.ok(await isWaiting(third))
  pool.release(first)
  assert.equal(await third, first)
})

test('a slow upload does not delay uploads that are not slow', async () => {
  const s3 = { putObject: async () => ({}) }
  const bucket = { s3, name: 'bucket', prefix: '' } as unknown as Bucket
  const more = Promise.withResolvers<void>()
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  async function* slowly(at: number) {
    yield Buffer.alloc(2 * 1024 * 1024)
    begun[at]!.resolve()
    await more.promise
  }
  const slow = begun.map((_, at) => putStream(bucket, `slow${at}`, slowly(at), { isSlow: true }))
  await Promise.all(begun.map(({ promise }) => promise))
  await putStream(bucket, 'metadata', [Buffer.alloc(2 * 1024 * 1024)], {})
  more.resolve()
  await Promise.all(slow)
})

test('a part that is larger than the pool is acquired alone', async () => {
  const pool = new PartPool(20)
  const small = await pool.acquire(10)
  const large = pool.acquire(50)
  assert.ok(await isWaiting(large))
  pool.release(small)
  assert.equal((await large).length, 50)
  const next = pool.acquire(10)
  assert.ok(await isWaiting(next))
  pool.release(await large)
  assert.equal((await next).length, 10)
})
