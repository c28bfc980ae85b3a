import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endVisit, needsChromium, visit } from '../support/browser.ts'
import { dashboardPort, saveScreenshot } from '../support/dashboard.ts'
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

    const page = await visit(t, `${service.url}/docs`)
    const shown = page.locator('.opblock:visible')
    await page.getByText('Get a migration and its state', { exact: true }).waitFor()
    assert.equal(await shown.count(), operations.length)
    await saveScreenshot(page, 'docs-1280')

    await page.getByLabel('Search').fill('post /user/migrations/preflight')
    await until('one operation is left', async () => (await shown.count()) === 1)
    await page.getByText('/user/migrations/preflight').waitFor()

    // A signed-in user can try an operation; the preview media type is sent where it is required.
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
    await page.locator('.opblock-summary-control').first().click()
    await page
      .locator('.curl-example pre')
      .getByText('--header "authorization: bearer $TOKEN"')
      .waitFor()
    await page.getByRole('button', { name: 'Try it out' }).click()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()

    await page.setViewportSize({ width: 390, height: 800 })
    // Headings precede their content, and no part of a table is hidden.
    const top = async (of: string) => (await page.locator(of).first().boundingBox())!.y
    assert.ok((await top('h1')) < (await top('#search')))
    assert.ok((await top('h1')) < (await top('.opblock')))
    for (const cell of await page.locator('.opblock-body td').all()) {
      const box = await cell.boundingBox()
      assert.ok(!box || box.x + box.width <= 390, 'a cell is cut off')
    }
    await saveScreenshot(page, 'docs-390')
    const overflow = (await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )) as number
    assert.ok(overflow <= 0, `${overflow} pixels are cut off at 390`)
    await endVisit(page)
  },
)
