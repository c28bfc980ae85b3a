import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { ClientDisconnected, watchClient } from './response-stream.ts'

test('the signal aborts when the client disconnects, even if it did so before it was watched', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const watched = watchClient(response)
  assert.equal(watched.signal.aborted, false)
  response.destroy()
  response.emit('close')
  assert.ok(watched.signal.reason instanceof ClientDisconnected)
  assert.ok(watchClient(response).signal.reason instanceof ClientDisconnected)
})
