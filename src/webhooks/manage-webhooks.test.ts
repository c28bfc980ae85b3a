import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Engine, onEachEngine } from '../../test/support/databases.ts'
import { webhookScene } from '../../test/support/webhook-scene.ts'
import { NotFound } from '../lib/request-errors.ts'
import { editWebhook, removeWebhook } from './manage-webhooks.ts'
import type { Webhook } from './webhook-store.ts'

async function scene(t: TestContext, engine: Engine) {
  const { addWebhook, createAccount, parts } = await webhookScene(t, engine)
  const webhook = await addWebhook(await createAccount('alice'), 'https://old.example.com')
  return { parts, webhook }
}

onEachEngine('changes of a webhook', (engine) => {
  test('of two changes at the same time neither is lost', async (t) => {
    const { parts, webhook } = await scene(t, engine)
    const changes: Partial<Webhook>[] = [{ isActive: false }, { url: 'https://new.example.com' }]
    const edits = changes.map((change) =>
      editWebhook(parts, webhook, (current) => ({ ...current, ...change })),
    )
    await Promise.all(edits)
    const { url, isActive } = await editWebhook(parts, webhook, (current) => current)
    assert.deepEqual({ url, isActive }, { url: 'https://new.example.com', isActive: false })
  })

  test('a webhook that was removed meanwhile cannot be changed', async (t) => {
    const { parts, webhook } = await scene(t, engine)
    await removeWebhook(parts, webhook)
    const change = editWebhook(parts, webhook, (current) => current)
    await assert.rejects(change, NotFound)
  })
})
