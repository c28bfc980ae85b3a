import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { ClientGone, watchClient } from './response-stream.ts'

test('the signal aborts when the client leaves, even before it is watched', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const early = watchClient(response)
  assert.equal(early.signal.aborted, false)
  response.destroy()
  response.emit('close')
  assert.ok(early.signal.reason instanceof ClientGone)
  assert.ok(watchClient(response).signal.reason instanceof ClientGone)
})
