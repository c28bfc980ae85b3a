import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { until } from '../support/wait-until.ts'
import { webhookReceiver } from '../support/webhook-receiver.ts'
import { isInstalled, needs } from './needs.ts'
import { ownServer, serverWith } from './server-under-test.ts'

/** Imported by variable: without the packages their types are missing too. */
const [REST, METHODS]: string[] = ['@octokit/rest', '@octokit/webhooks-methods']
const hasMethods = existsSync(new URL(`node_modules/${METHODS}`, import.meta.url))
const installed = needs(`${REST} or ${METHODS}`, isInstalled(REST!) && hasMethods)
interface Delivery {
  event: string
  action: string | null
  status_code: number
}

const SECRET = "It's a Secret to Everybody é"

describe('webhooks with GitHub’s own client and signature check', installed, () => {
  test(
    'of an organization can be added, listed, redelivered, changed and removed, and receive events',
    ownServer,
    async (t) => {
      const { Octokit } = await import(REST!)
      const { verify } = await import(METHODS!)
      const server = await serverWith('unusual')
      const org = server.organization!.login
      const octokit = new Octokit({ baseUrl: server.url, auth: server.token })
      const receiver = await webhookReceiver(t)
      const { data: hook } = await octokit.rest.orgs.createWebhook({
        org,
        name: 'web',
        config: { url: `${receiver.url}/hook`, content_type: 'json', secret: SECRET },
        events: ['migration'],
      })
      const of = { org, hook_id: hook.id }
      assert.deepEqual(hook.config, {
        ...{ url: `${receiver.url}/hook`, content_type: 'json', insecure_ssl: '0' },
        secret: '********',
      })
      await until('a ping arrives', () => receiver.received.length === 1)
      await octokit.rest.orgs.pingWebhook(of)
      await until('the second ping arrives', () => receiver.received.length === 2)

      const repositories = server.organization!.repositories.map((name) => name.split('/')[1]!)
      const { data: migration } = await octokit.rest.migrations.startForOrg({ org, repositories })
      await until('the end of the migration was delivered', () => receiver.received.length === 3)
      const delivered = receiver.received[2]!
      const signature = delivered.headers['x-hub-signature-256'] as string
      assert.ok(await verify(SECRET, delivered.body, signature))
      assert.ok(!(await verify(SECRET, `${delivered.body} `, signature)))
      assert.match(delivered.headers['x-hub-signature'] as string, /^sha1=[0-9a-f]{40}$/)
      assert.equal(delivered.headers['x-github-event'], 'migration')
      assert.equal(delivered.headers['x-github-hook-id'], String(hook.id))
      assert.match(delivered.headers['user-agent']!, /^Godwit-Hookshot\/\d/)
      const { action, migration: ended, sender, organization } = JSON.parse(delivered.body)
      assert.deepEqual(
        [action, ended.id, ended.state, sender.login, organization.login],
        ['exported', migration.id, 'exported', 'alice', org],
      )
      const { data: status } = await octokit.rest.migrations.getStatusForOrg({
        ...{ org, migration_id: migration.id, exclude: ['repositories'] },
      })
      assert.deepEqual(ended, status)

      const deliveries = await until('all three deliveries are listed', async () => {
        const { data } = await octokit.rest.orgs.listWebhookDeliveries(of)
        return data.length === 3 && data
      })
      assert.deepEqual(
        (deliveries as Delivery[]).map(({ event, action, status_code }) => [
          event,
          action,
          status_code,
        ]),
        [
          ['migration', 'exported', 200],
          ['ping', null, 200],
          ['ping', null, 200],
        ],
      )
      const paged = await octokit.paginate(octokit.rest.orgs.listWebhookDeliveries, {
        ...{ ...of, per_page: 1 },
      })
      assert.deepEqual(paged, deliveries)
      const deliveryParameters = { ...of, delivery_id: deliveries[0]!.id }
      const { data: delivery } = await octokit.rest.orgs.getWebhookDelivery(deliveryParameters)
      assert.deepEqual(delivery.request.payload, JSON.parse(delivered.body))
      assert.equal(delivery.response.payload, 'thanks')
      assert.equal(delivery.guid, delivered.headers['x-github-delivery'])
      const { status: accepted } =
        await octokit.rest.orgs.redeliverWebhookDelivery(deliveryParameters)
      assert.equal(accepted, 202)
      await until('the redelivery arrives', () => receiver.received.length === 4)
      const again = receiver.received[3]!
      assert.equal(again.body, delivered.body)
      assert.equal(again.headers['x-github-delivery'], delivery.guid)
      await until('the redelivery is listed', async () => {
        const { data } = await octokit.rest.orgs.listWebhookDeliveries(of)
        return data.length === 4 && data[0]!.redelivery
      })

      const changed = await octokit.rest.orgs.updateWebhook({ ...of, active: false })
      assert.deepEqual([changed.data.active, changed.data.config], [false, hook.config])
      const { data: config } = await octokit.rest.orgs.updateWebhookConfigForOrg({
        ...{ ...of, content_type: 'form', secret: '********' },
      })
      assert.deepEqual(config, { ...hook.config, content_type: 'form' })
      assert.deepEqual((await octokit.rest.orgs.getWebhookConfigForOrg(of)).data, config)
      assert.equal((await octokit.rest.orgs.listWebhooks({ org })).data.length, 1)
      assert.equal((await octokit.rest.orgs.getWebhook(of)).data.id, hook.id)
      await octokit.rest.orgs.deleteWebhook(of)
      await assert.rejects(octokit.rest.orgs.getWebhook(of), { status: 404 })
      assert.deepEqual((await octokit.rest.orgs.listWebhooks({ org })).data, [])
    },
  )
})
