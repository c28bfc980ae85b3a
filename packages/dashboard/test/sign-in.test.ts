import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needsChromium, openPlainTab } from '../../../test/support/browser.ts'
import { saveScreenshot, untilHeading } from '../../../test/support/dashboard.ts'
import { onSqlite } from '../../../test/support/databases.ts'
import { cleanupAfterFile } from '../../../test/support/file-cleanup.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { type GitHost, gitHost } from '../../../test/support/git-host.ts'
import { type OpenIdProvider, startOpenIdProvider } from '../../../test/support/openid-provider.ts'
import type { SharedService } from '../../../test/support/service.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'

const fileCleanup = cleanupAfterFile()
let host: GitHost

before(async () => {
  if (needsChromium.skip) return
  host = await gitHost()
  fileCleanup.after(host.remove)
  for (const owner of ['alice', 'bob'])
    await host.repository(`${owner}/site`, { files: { a: '1' } })
})

// test/stories/oidc-sign-in.test.ts runs the queries of these tests on PostgreSQL too.
onSqlite('sign-in with an OpenID provider in a browser', (engine) => {
  const groupCleanup = cleanupAfterFile()
  let service: SharedService
  let provider: OpenIdProvider

  before(async () => {
    if (needsChromium.skip) return
    const port = await freePort()
    provider = await startOpenIdProvider(groupCleanup, `http://127.0.0.1:${port}`)
    service = await startSharedService(groupCleanup, {
      ...{ repositories: host.root, engine, port },
      flags: [...provider.flags, '--oidc-name', 'Example ID'],
    })
  })

  const menu = (page: Page, login: string) =>
    page.getByRole('button', { name: `Signed in as ${login}` })

  test(
    'returns to the same page, survives a reload, and ends in all browsers',
    needsChromium,
    async (t) => {
      const page = await openPlainTab(t)
      await page.goto(`${service.url}/#/schedules`)
      const button = page.getByRole('link', { name: 'Sign in with Example ID' })
      await button.waitFor()
      await saveScreenshot(page, `sign-in-provider-${engine}`)
      await page.emulateMedia({ colorScheme: 'dark' })
      await saveScreenshot(page, `sign-in-provider-dark-${engine}`)
      provider.person = { sub: 'a', preferred_username: 'alice' }
      await button.click()
      await page.getByRole('button', { name: 'Continue' }).click()
      await untilHeading(page, 'Schedules')
      assert.equal(page.url(), `${service.url}/#/schedules`)
      await page.reload()
      await menu(page, 'alice').click()
      await saveScreenshot(page, `account-menu-${engine}`)

      const other = await openPlainTab(t)
      await other.goto(service.url)
      await other.getByRole('link', { name: 'Sign in with Example ID' }).click()
      await other.getByRole('button', { name: 'Continue' }).click()
      await menu(other, 'alice').waitFor()

      await page.getByRole('menuitem', { name: 'Sign out all browsers' }).click()
      await page.getByText('You may still be signed in at the provider.').waitFor()
      await saveScreenshot(page, `signed-out-${engine}`)
      await other.reload()
      await other.getByRole('heading', { name: 'Sign in to Godwit' }).waitFor()

      await page.getByRole('link', { name: 'Sign out there too' }).click()
      await page.waitForURL(`${provider.issuer}/session/end?**`)
    },
  )

  test('shows why somebody is refused', needsChromium, async (t) => {
    for (const [sub, expected] of [
      ['b', undefined],
      ['b2', 'Somebody else already has the account with your login.'],
    ] as const) {
      const page = await openPlainTab(t)
      await page.goto(service.url)
      provider.person = { sub, preferred_username: 'bob' }
      await page.getByRole('link', { name: 'Sign in with Example ID' }).click()
      await page.getByRole('button', { name: 'Continue' }).click()
      if (expected === undefined) await menu(page, 'bob').waitFor()
      else {
        await page.getByText(expected).waitFor()
        assert.equal(page.url(), `${service.url}/`)
        await saveScreenshot(page, `sign-in-refused-${engine}`)
      }
    }
  })
})
