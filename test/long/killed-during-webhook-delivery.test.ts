import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../support/databases.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/wait-until.ts'
import { type Receiver, webhookReceiver } from '../support/webhook-receiver.ts'
import { ALLOW_LOOPBACK, addWebhook, makeHost, post, stateOf } from '../support/webhook-story.ts'

const events = ({ received }: Receiver): unknown[] =>
  received.map(({ headers }) => headers['x-github-event'])

onEachEngine('webhooks', (engine) => {
  test('are delivered with the same id after the service was killed during a delivery', async (t) => {
    const host = await makeHost(t)
    const service = await startService(t, {
      repositories: host.root,
      engine,
      flags: ALLOW_LOOPBACK,
    })
    const token = await service.token('alice')
    const receiver = await webhookReceiver(t)
    await addWebhook(service, token, receiver.url)
    await until('the ping arrives', () => receiver.received.length === 1)

    // The receiver hangs, so the delivery is in progress when the service is killed.
    receiver.respond = () => {}
    await service.call(token, '/user/migrations', post({ repositories: ['atlas'] }))
    await until('the delivery has started', () => receiver.received.length === 2)
    assert.equal(await stateOf(service, token, 1), 'exported')
    await service.kill('SIGKILL')
    receiver.respond = (response) => void response.end()
    await service.restartShared()
    await until('the delivery is recorded', async () => {
      const response = await service.call(token, '/user/hooks/1/deliveries')
      const all = (await response.json()) as { event: string; status: string }[]
      return all.some(({ event, status }) => event === 'migration' && status === 'OK')
    })
    assert.deepEqual(events(receiver), ['ping', 'migration', 'migration'])
    const [, ...deliveries] = receiver.received
    assert.equal(new Set(deliveries.map(({ headers }) => headers['x-github-delivery'])).size, 1)
    assert.equal(new Set(deliveries.map(({ body }) => body)).size, 1)
  })
})
