import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { ClientGone, watchClient } from './taking-client.ts'

test('a client that leaves is gone, also if it left before anyone looked', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const early = watchClient(response)
  assert.equal(early.signal.aborted, false)
  response.destroy()
  response.emit('close')
  assert.ok(early.signal.reason instanceof ClientGone)
  assert.ok(watchClient(response).signal.reason instanceof ClientGone)
})
