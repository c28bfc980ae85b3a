import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import {
  dashboardPort,
  saveScreenshot,
  section,
  speedUpTimers,
  untilHeading,
} from '../../../test/support/dashboard.ts'
import { gitHost } from '../../../test/support/git-host.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'
import { until } from '../../../test/support/wait-until.ts'
import { webhookReceiver } from '../../../test/support/webhook-receiver.ts'
import type { Webhook } from '../../contract/src/schemas/types.ts'

test(
  'a webhook can be created, tested, changed and deleted, and receives events',
  needsChromium,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    for (const name of ['alice/atlas', 'octo/kit'])
      await host.repository(name, { files: { a: '1' } })
    await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\n')
    const flags = ['--webhook-networks', '127.0.0.1']
    const port = await dashboardPort()
    const service = await startSharedService(t, { repositories: host.root, port, flags })
    const token = await service.token('alice')
    const receiver = await webhookReceiver(t)
    const page = await visit(t, `${service.url}/`, { token, expected: /422|404/ })
    await speedUpTimers(page, 10_000)
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await untilHeading(page, 'Webhooks')
    await page.getByRole('link', { name: 'Create a webhook' }).click()
    await untilHeading(page, 'New webhook')
    await page.getByLabel('Payload URL').fill('http://10.0.0.1/')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    await page.getByText('on a network that is not allowed').waitFor()
    await page.getByLabel('Payload URL').fill(`${receiver.url}/hook`)
    await page.getByLabel('Secret').fill('whisper')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    await untilHeading(page, 'Webhook 1')
    const deliveries = section(page, 'Recent deliveries')
    await deliveries.getByRole('cell', { name: 'OK' }).waitFor()
    receiver.respond = (response) => void response.writeHead(503).end('later <b>please</b>')
    await page.getByRole('button', { name: 'Send ping' }).click()
    await deliveries.getByText('503 Service Unavailable (given up)').waitFor()
    await page.getByRole('button', { name: 'Details of delivery 2' }).click()
    const details = section(page, 'Delivery 2')
    await details.getByText('later <b>please</b>').waitFor()
    await details.getByText('x-hub-signature-256: sha256=').waitFor()
    receiver.respond = (response) => void response.end('thanks')
    await page.getByRole('button', { name: 'Redeliver delivery 2' }).click()
    await deliveries.getByText('ping (redelivery)').waitFor()
    const guids = receiver.received.map(({ headers }) => headers['x-github-delivery'])
    assert.equal(guids[2], guids[1])

    const start = { method: 'POST', body: JSON.stringify({ repositories: ['atlas'] }) }
    await service.call(token, '/user/migrations', start)
    const exported = deliveries.getByRole('row').filter({ hasText: 'migration.exported' })
    await exported.getByRole('link', { name: '1', exact: true }).waitFor()
    await saveScreenshot(page, 'webhook')
    const save = page.getByRole('button', { name: 'Save changes' })
    assert.ok(await save.isDisabled(), 'nothing was edited')
    await page.getByRole('radio', { name: 'Individual events' }).check()
    await page.getByRole('checkbox', { name: 'Failed' }).check()
    await save.click()
    await until('the events are saved, and the secret is kept', async () => {
      const hook = await (await service.call(token, '/user/hooks/1')).json()
      const { events, config } = hook as { events: string[]; config: { secret?: string } }
      return String(events) === 'migration.failed' && config.secret === '********'
    })
    await page.getByRole('link', { name: 'Webhooks', exact: true }).first().click()
    await section(page, '1 webhook').getByText('migration.failed').waitFor()
    await saveScreenshot(page, 'webhooks')
    await page.getByRole('link', { name: receiver.url }).click()

    // Fields that were not edited are not reset.
    await page.getByLabel('Payload URL').fill(`${receiver.url}/other`)
    await service.call(token, '/user/hooks/1', {
      ...{ method: 'PATCH', body: JSON.stringify({ events: ['*'], active: false }) },
    })
    const changed = page.getByText('Changed elsewhere')
    await changed.waitFor()
    await saveScreenshot(page, 'webhook-changed-elsewhere')
    await save.click()
    await until('only the address is saved', async () => {
      const hook = await (await service.call(token, '/user/hooks/1')).json()
      const { config, events, active } = hook as Webhook
      const isKept = String(events) === '*' && !active && config.secret !== undefined
      return config.url === `${receiver.url}/other` && isKept
    })
    const active = page.getByRole('checkbox', { name: 'Active' })
    await until('the form shows the new state', async () => !(await active.isChecked()))
    assert.equal(await changed.count(), 0)
    await page.getByRole('button', { name: 'Delete webhook 1' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks yet').waitFor()

    await page.goto(`${service.url}/#/orgs/octo/webhooks/new`)
    await untilHeading(page, 'New webhook of octo')
    await page.getByLabel('Payload URL').fill(`${receiver.url}/octo`)
    await page.getByRole('button', { name: 'Create webhook' }).click()
    await untilHeading(page, 'Webhook 2')
    await until('the ping arrives', () => receiver.received.some(({ path }) => path === '/octo'))
    await endVisit(page)
  },
)
