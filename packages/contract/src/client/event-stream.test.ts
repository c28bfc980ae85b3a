import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEvents } from './event-stream.ts'

const STREAM = Buffer.from(
  ': comment\n\nevent: repository\nid: 1\ndata: {"a": "größe"}\n\nevent: end\r\ndata: one\r\ndata: two\r\n\r\nevent: cut\ndata: of',
)

test('events do not depend on the chunks of the stream', async () => {
  for (const length of [1, 2, 7, 40, STREAM.length]) {
    const pieces = Array.from({ length: Math.ceil(STREAM.length / length) }, (_, n) =>
      STREAM.subarray(n * length, (n + 1) * length),
    )
    async function* body() {
      yield* pieces
    }
    assert.deepEqual(
      await Array.fromAsync(readEvents(body())),
      [
        { name: 'repository', id: '1', data: '{"a": "größe"}' },
        { name: 'end', id: undefined, data: 'one\ntwo' },
      ],
      `pieces of ${length}`,
    )
  }
})

test('a comment that keeps the connection open is reported as a chunk, not as an event', async () => {
  let chunks = 0
  const body = ReadableStream.from([Buffer.from(':\n\n')])
  const events = await Array.fromAsync(readEvents(body, () => chunks++))
  assert.deepEqual({ events, chunks }, { events: [], chunks: 1 })
})
