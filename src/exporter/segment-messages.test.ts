import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { describeDiskFailure } from '../lib/disk-errors.ts'
import { Unreadable } from '../sources/unreadable.ts'
import type { MadeSegment, SegmentMaker, SegmentObserver } from './segment-maker.ts'
import { type Answer, handleReply, type Request, serveRequests } from './segment-messages.ts'

const ORDER = { repository: { owner: 'alice', name: 'site' }, key: 'k', lastVerified: undefined }
const LOOK = { fingerprint: 'f', bytes: 9 }

/** Both sides of a thread without the thread. */
function scene(t: TestContext, make: SegmentMaker['make']) {
  const { port1, port2 } = new MessageChannel()
  t.after(() => port1.close())
  const maker: SegmentMaker = { look: async () => LOOK, make, digest: async () => undefined }
  serveRequests(port2, maker)
  return (watch: SegmentObserver) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const tell = (request: Request) => port1.postMessage(request)
    const asked = {
      resolve,
      reject,
      watch,
      decide: (isNeeded: boolean) => tell({ id: 1, call: 'decide', isNeeded }),
      abort: () => tell({ id: 1, call: 'abort' }),
    }
    port1.on('message', (answer: Answer) => handleReply(answer, asked))
    tell({ id: 1, call: 'make', argument: ORDER })
    return { promise, abort: asked.abort }
  }
}

const makeIfNeeded: SegmentMaker['make'] = async (_order, _signal, { isNeeded, onBytes }) => {
  if (!(await isNeeded(LOOK))) return undefined
  onBytes(4)
  return { fingerprint: 'f' } as MadeSegment
}

test('a thread asks whether a segment is needed, and makes it or not', async (t) => {
  const ask = scene(t, makeIfNeeded)
  const written: number[] = []
  const onBytes = (bytes: number) => void written.push(bytes)
  assert.deepEqual(await ask({ isNeeded: async () => true, onBytes }).promise, { fingerprint: 'f' })
  assert.deepEqual(written, [4])
  const again = scene(t, makeIfNeeded)
  const isNeeded = async (look: typeof LOOK) => look.fingerprint !== 'f'
  assert.equal(await again({ isNeeded, onBytes }).promise, undefined)
})

test('where it cannot be decided, that is the failure, and the thread stops', async (t) => {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  const ask = scene(t, async (order, signal, watch) => {
    signal.addEventListener('abort', () => stop())
    return makeIfNeeded(order, signal, watch)
  })
  const away = new Error('the database is away')
  const watch = { isNeeded: () => Promise.reject(away), onBytes() {} }
  await assert.rejects(ask(watch).promise, away)
  await stopped
})

test('what is called off before it was decided ends', async (t) => {
  const ask = scene(t, makeIfNeeded)
  const asked = Promise.withResolvers<void>()
  const isNeeded = () => {
    asked.resolve()
    return new Promise<boolean>(() => {})
  }
  const { promise, abort } = ask({ isNeeded, onBytes() {} })
  await asked.promise
  abort()
  await assert.rejects(promise, /abort/)
})

test('what is called off before it was asked about ends', async (t) => {
  const ask = scene(t, async (order, signal, watch) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return makeIfNeeded(order, signal, watch)
  })
  const { promise, abort } = ask({ isNeeded: () => new Promise(() => {}), onBytes() {} })
  abort()
  await assert.rejects(promise, /abort/)
})

test('a full disk is that on the other side too', async (t) => {
  const full = { code: 'ENOSPC', syscall: 'copyfile', path: '/srv/x', freeBytes: 7 }
  const ask = scene(t, () => Promise.reject(Object.assign(new Error('no space'), full)))
  const watch = { isNeeded: async () => true, onBytes() {} }
  const error: unknown = await ask(watch).promise.catch((error: unknown) => error)
  assert.equal(
    describeDiskFailure(error),
    'cannot write /srv/x: no space left on the disk (7 bytes free)',
  )
})

test('an unreadable repository is that on the other side too', async (t) => {
  const ask = scene(t, () => Promise.reject(new Unreadable('alice/site: HEAD is missing')))
  await assert.rejects(ask({ isNeeded: async () => true, onBytes() {} }).promise, Unreadable)
})
