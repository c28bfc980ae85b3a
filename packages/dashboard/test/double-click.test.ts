import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, untilHeading } from '../../../test/support/dashboard.ts'
import { gitHost } from '../../../test/support/git-host.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'

test('a double click creates one token and one webhook', needsChromium, async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/atlas', { files: { a: '1' } })
  const service = await startSharedService(t, {
    ...{ repositories: host.root, port: await dashboardPort() },
    flags: ['--webhook-networks', '127.0.0.1'],
  })
  const token = await service.token('alice', '--name', 'first')
  const page = await visit(t, `${service.url}/#/tokens`, { token })
  let posts = 0
  const { promise: areClicked, resolve: release } = Promise.withResolvers<void>()
  await page.route(/\/user\/(tokens|hooks)$/, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    posts++
    await areClicked
    return route.continue()
  })
  await untilHeading(page, 'Tokens')
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('button', { name: 'Create token' }).dblclick()
  release()
  await page.getByRole('button', { name: 'Copy token' }).waitFor()
  assert.equal(posts, 1)

  await page.goto(`${service.url}/#/webhooks/new`)
  await page.getByLabel('Payload URL').fill('http://127.0.0.1:9/hook')
  await page.getByRole('button', { name: 'Create webhook' }).dblclick()
  await page.getByRole('heading', { name: /^Webhook \d/ }).waitFor()
  assert.equal(posts, 2)
  await endVisit(page)
})
