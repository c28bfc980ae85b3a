import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { BlobNotFound, type BlobStore, type StoredBlob } from './blob-store.ts'

/** Tests that every store must pass. `make` returns an empty store and removes it after the test. */
export function blobStoreContract(
  name: string,
  make: (t: TestContext) => Promise<BlobStore>,
): void {
  const check: Check = (what, run) => test(what, async (t) => run(await make(t), t))

  describe(`blob store: ${name}`, () => {
    describe('put and open', () => putAndOpenTests(check))
    describe('ranges', () => rangeTests(check))
    describe('a put that fails', () => failingPutTests(check))
    describe('delete, list and sweep', () => deleteAndListTests(check))
  })
}

type Check = (what: string, run: (blobs: BlobStore, t: TestContext) => Promise<void>) => void

async function read(blobs: BlobStore, key: string, range?: { start: number; end: number }) {
  const chunks: Uint8Array[] = []
  for await (const chunk of await blobs.open(key, range)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function listBlobs(blobs: BlobStore): Promise<StoredBlob[]> {
  const all: StoredBlob[] = []
  for await (const blob of blobs.list()) all.push(blob)
  return all.sort((a, b) => (a.key < b.key ? -1 : 1))
}

function putAndOpenTests(check: Check): void {
  for (const size of [0, 1, 65_536, 6_000_001]) {
    check(`${size} bytes are read back unchanged`, async (blobs) => {
      const bytes = randomBytes(size)
      await blobs.put('a-key', chunks(bytes))
      assert.ok((await read(blobs, 'a-key')).equals(bytes))
      assert.equal(await blobs.size('a-key'), size)
    })
  }

  check('a synchronous iterable is accepted', async (blobs) => {
    await blobs.put('a', [Buffer.from('one '), Buffer.from('two')])
    assert.equal(await text(await blobs.open('a')), 'one two')
  })

  check('a chunk may be overwritten when the second one after it is requested', async (blobs) => {
    const size = 3_000_000
    const chunks = [Buffer.alloc(size), Buffer.alloc(size)]
    async function* overwriting() {
      for (const [at, letter] of [...'abcde'].entries()) yield chunks[at % 2]!.fill(letter)
    }
    await blobs.put('a', overwriting())
    const letters = (await read(blobs, 'a')).filter((_, at) => at % size === 12_345)
    assert.equal(letters.toString(), 'abcde')
  })

  check('all valid keys are accepted', async (blobs) => {
    const keys = ['0', 'ab', 'a-', randomUUID(), 'z'.repeat(128)]
    for (const key of keys) await blobs.put(key, [Buffer.from(key)])
    for (const key of keys) assert.equal((await read(blobs, key)).toString(), key)
  })

  for (const key of ['', '-a', 'A', 'a/b', '../a', 'a.b', 'é', 'a\n', 'z'.repeat(129)]) {
    check(`${JSON.stringify(key)} is not a valid key`, async (blobs) => {
      await assert.rejects(blobs.put(key, []), TypeError)
      await assert.rejects(blobs.open(key), TypeError)
      await assert.rejects(blobs.size(key), TypeError)
      await assert.rejects(blobs.delete(key), TypeError)
    })
  }

  check('a missing blob is BlobNotFound', async (blobs) => {
    const missing = { name: 'BlobNotFound', message: 'blob nothing does not exist' }
    await assert.rejects(blobs.open('nothing'), missing)
    await assert.rejects(blobs.size('nothing'), missing)
  })

  check('a key is written once', async (blobs) => {
    await blobs.put('a', [Buffer.from('first')])
    const exists = { name: 'BlobExists', message: 'blob a already exists' }
    await assert.rejects(blobs.put('a', [Buffer.from('second')]), exists)
    assert.equal((await read(blobs, 'a')).toString(), 'first')
  })
}

function rangeTests(check: Check): void {
  check('a range is a slice', async (blobs) => {
    const bytes = randomBytes(300_000)
    await blobs.put('a', [bytes])
    for (const [start, end] of [
      [0, 1],
      [0, 300_000],
      [299_999, 300_000],
      [65_535, 262_145],
    ] as const) {
      assert.ok((await read(blobs, 'a', { start, end })).equals(bytes.subarray(start, end)))
    }
  })

  check('a range may be empty', async (blobs) => {
    await blobs.put('a', [Buffer.from('bytes')])
    for (const at of [0, 3, 5]) {
      assert.equal((await read(blobs, 'a', { start: at, end: at })).length, 0)
    }
  })

  check('a range outside the blob is a RangeError', async (blobs) => {
    await blobs.put('a', [Buffer.from('bytes')])
    for (const [start, end] of [
      [0, 6],
      [-1, 2],
      [3, 2],
      [6, 6],
    ] as const) {
      await assert.rejects(blobs.open('a', { start, end }), RangeError)
    }
  })

  check('the signal destroys the stream', async (blobs) => {
    await blobs.put('a', chunks(randomBytes(6_000_000)))
    const controller = new AbortController()
    const stream = await blobs.open('a', undefined, { signal: controller.signal })
    const reading = (async () => {
      for await (const _ of stream) controller.abort()
    })()
    await assert.rejects(reading, { name: 'AbortError' })
    assert.ok(stream.destroyed)
  })
}

function failingPutTests(check: Check): void {
  const assertNothingStored = async (blobs: BlobStore, key: string) => {
    await assert.rejects(blobs.size(key), BlobNotFound)
    assert.deepEqual(await listBlobs(blobs), [])
    await blobs.put(key, [Buffer.from('again')])
    assert.equal((await read(blobs, key)).toString(), 'again')
  }

  check('failing bytes leave nothing, and their error is thrown', async (blobs) => {
    const unplugged = new Error('unplugged')
    async function* failing() {
      yield randomBytes(3_000_000)
      throw unplugged
    }
    await assert.rejects(blobs.put('a', failing()), unplugged)
    await assertNothingStored(blobs, 'a')
  })

  check('an abort leaves nothing and closes the bytes', async (blobs) => {
    const controller = new AbortController()
    let closed = false
    async function* endless() {
      try {
        for (let sent = 0; ; sent += 1) {
          if (sent === 3) controller.abort()
          yield randomBytes(100_000)
        }
      } finally {
        closed = true
      }
    }
    await assert.rejects(blobs.put('a', endless(), { signal: controller.signal }), {
      name: 'AbortError',
    })
    assert.ok(closed)
    await assertNothingStored(blobs, 'a')
  })

  check('the blob is invisible until it is complete', async (blobs) => {
    async function* checkingBytes() {
      yield randomBytes(100_000)
      await assert.rejects(blobs.size('a'), BlobNotFound)
      assert.deepEqual(await listBlobs(blobs), [])
      yield randomBytes(100_000)
    }
    await blobs.put('a', checkingBytes())
    assert.equal(await blobs.size('a'), 200_000)
  })
}

function deleteAndListTests(check: Check): void {
  check('delete can be repeated and frees the key', async (blobs) => {
    await blobs.put('a', [Buffer.from('first')])
    await blobs.delete('a')
    await blobs.delete('a')
    await assert.rejects(blobs.open('a'), BlobNotFound)
    await blobs.put('a', [Buffer.from('second')])
    assert.equal((await read(blobs, 'a')).toString(), 'second')
  })

  check('all finished blobs are listed with size and time', async (blobs) => {
    assert.deepEqual(await listBlobs(blobs), [])
    const keys = Array.from({ length: 40 }, () => randomUUID()).sort()
    for (const [size, key] of keys.entries()) await blobs.put(key, [Buffer.alloc(size)])
    const all = await listBlobs(blobs)
    assert.deepEqual(
      all.map(({ key, size }) => ({ key, size })),
      keys.map((key, size) => ({ key, size })),
    )
    for (const { modifiedAt } of all) {
      assert.ok(Math.abs(Date.now() - modifiedAt) < 3_600_000, 'the time is within an hour')
    }
  })

  check('sweeping removes no finished or running put', async (blobs) => {
    await blobs.put('done', [Buffer.from('done')])
    async function* sweepingMeanwhile() {
      yield Buffer.from('one ')
      assert.equal(await blobs.sweepUnfinished(3_600_000), 0)
      yield Buffer.from('two')
    }
    await blobs.put('busy', sweepingMeanwhile())
    assert.equal((await read(blobs, 'busy')).toString(), 'one two')
    assert.equal((await read(blobs, 'done')).toString(), 'done')
  })

  check('sweeping with 0 aborts running puts, even if the clock was set back', async (blobs, t) => {
    let swept: number | undefined
    async function* sweepingMeanwhile() {
      // Large enough that a bucket receives the first of several parts.
      for (let count = 0; count < 3; count += 1) yield Buffer.alloc(6_000_000)
      const now = Date.now()
      t.mock.method(Date, 'now', () => now - 300_000)
      swept = await blobs.sweepUnfinished(0)
      t.mock.restoreAll()
    }
    await assert.rejects(blobs.put('a', sweepingMeanwhile()))
    assert.equal(swept, 1)
    await assert.rejects(blobs.open('a'), BlobNotFound)
  })
}

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
}
