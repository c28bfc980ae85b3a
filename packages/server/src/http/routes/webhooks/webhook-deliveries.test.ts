import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import {
  addresses,
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../../test/support/description-server.ts'
import { webhookScene } from '../../../../../../test/support/webhook-scene.ts'
import { createAuthenticator } from '../../../accounts/authenticator.ts'
import { addToken } from '../../../accounts/token-store.ts'
import { insertDelivery } from '../../../webhooks/delivery-store.ts'
import { MAX_PINGS_PER_HOUR, pingWebhook } from '../../../webhooks/manage-webhooks.ts'

test('the link to the next page has the base URL, and other cursors are invalid', async (t) => {
  const { db, clock, createAccount, addWebhook, recordEnd } = await webhookScene(t, 'sqlite')
  const now = () => clock.now
  const alice = await createAccount('alice')
  const webhook = await addWebhook(alice, 'https://receiver.test/')
  await recordEnd(alice)
  const { id: eventId } = await db
    .selectFrom('webhook_events')
    .select('id')
    .executeTakeFirstOrThrow()
  const attempt = { deliveredAt: now(), isRedelivery: false, durationMs: 1, url: webhook.url }
  const result = { status: 'OK', statusCode: 200, requestHeaders: {}, response: null }
  for (let n = 0; n < 2; n++)
    await insertDelivery(db, { eventId, webhookId: webhook.id, ...attempt, ...result })
  const token = await addToken(db, alice, { name: '', expiresAt: null, now: now() })
  const authenticator = createAuthenticator({ db, now })
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, { db, now, authenticator })

  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const headers = { 'user-agent': 'test', authorization: `bearer ${token}` }
  async function linkAt(path: string): Promise<string | string[] | undefined> {
    const sent = request({ host: '127.0.0.1', port, path, headers }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    return response.headers.link
  }

  const path = `/user/hooks/${webhook.id}/deliveries`
  for (const prefix of ['', '/api/v3', 'http://proxied.test', 'HTTPS://proxied.test/api/v3']) {
    const link = await linkAt(`${prefix}${path}?per_page=1`)
    const api = prefix.endsWith('/api/v3') ? `${addresses.api}/api/v3` : addresses.api
    assert.match(`${link}`, new RegExp(`^<${RegExp.escape(api + path)}\\?per_page=1&cursor=`))
  }
  const refused = await app.inject({ url: `${path}?cursor=abc`, headers })
  assert.equal(refused.statusCode, 422)
  const errors = [{ resource: 'Hook', field: 'cursor', code: 'invalid' }]
  assert.deepEqual(refused.json().errors, errors)
})

test('a ping above the limit is refused as an invalid request', async (t) => {
  const { db, clock, createAccount, addWebhook, dependencies } = await webhookScene(t, 'sqlite')
  const now = () => clock.now
  const alice = await createAccount('alice')
  const webhook = await addWebhook(alice, 'https://receiver.test/')
  for (let n = 1; n < MAX_PINGS_PER_HOUR; n++)
    await pingWebhook(dependencies, webhook, { sender: alice })
  const token = await addToken(db, alice, { name: '', expiresAt: null, now: now() })
  const authenticator = createAuthenticator({ db, now })
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, {
    db,
    now,
    authenticator,
    queue: dependencies.queue,
  })
  const ping = () =>
    app.inject({
      ...{ method: 'POST', url: `/user/hooks/${webhook.id}/pings` },
      headers: { 'user-agent': 'test', authorization: `bearer ${token}` },
    })
  assert.equal((await ping()).statusCode, 204)
  const refused = await ping()
  assert.equal(refused.statusCode, 422)
  const { documentation_url, ...body } = refused.json()
  const message = 'This webhook was sent 60 pings in the last hour. Try again later.'
  assert.deepEqual(body, {
    ...{ message: 'Validation Failed', status: '422' },
    errors: [{ resource: 'Hook', code: 'custom', message }],
  })
})
