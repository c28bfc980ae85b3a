import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { endVisit, needsChromium, visit } from '../support/browser.ts'
import { dashboardPort } from '../support/dashboard.ts'
import { gitHost } from '../support/git-host.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

type Operations = Record<string, Record<string, unknown>>

interface Description {
  paths: Operations
  /** The webhooks that the service sends. */
  webhooks: Operations
}

test(
  '/docs shows every operation, with search, examples and requests',
  needsChromium,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    await host.repository('alice/atlas', { files: { a: '1' } })
    const service = await startSharedService(t, {
      repositories: host.root,
      port: await dashboardPort(),
    })
    const token = await service.token('alice')
    const description = (await (await fetch(`${service.url}/openapi.json`)).json()) as Description
    const operations = [description.paths, description.webhooks]
      .flatMap((each) => Object.values(each))
      .flatMap((methods) => Object.values(methods))

    const page = await visit(t, `${service.url}/docs`, { token })
    const shown = page.locator('.opblock:visible')
    await page.getByText('Get a migration and its state', { exact: true }).waitFor()
    assert.equal(await shown.count(), operations.length)
    await page.getByText('requests from this page are sent as alice').waitFor()
    await page.getByRole('link', { name: 'Dashboard' }).waitFor()

    await page.getByLabel('Search').fill('post /user/migrations/preflight')
    await until('one operation is left', async () => (await shown.count()) === 1)
    await page.getByText('/user/migrations/preflight').waitFor()

    // A signed-in user can try an operation; the preview media type is sent where it is required.
    await page.getByLabel('Search').fill('list caller migrations')
    await tryOperation(page)
    await page.context().clearCookies()
    await page.reload()
    await page.getByText('You are not signed in').waitFor()
    await page.getByLabel('Search').fill('list caller migrations')
    await page.getByRole('button', { name: 'Authorize' }).click()
    await page.locator('.auth-container input').fill(token)
    await page
      .locator('.auth-btn-wrapper')
      .getByRole('button', { name: /^Apply/ })
      .click()
    await page
      .locator('.auth-btn-wrapper')
      .getByRole('button', { name: /^Close/ })
      .click()
    await tryOperation(page)
    await endVisit(page)
  },
)

/** Opens the only operation, looks at its example, and sends its request. */
async function tryOperation(page: Page): Promise<void> {
  await page.locator('.opblock-summary-control').first().click()
  await page
    .locator('.curl-example pre')
    .getByText('--header "authorization: bearer $TOKEN"')
    .waitFor()
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('button', { name: 'Execute' }).click()
  await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
}
