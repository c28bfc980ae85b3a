import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, section, signIn, untilHeading } from '../../../test/support/dashboard.ts'
import { gitHost } from '../../../test/support/git-host.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'

const statusOf = async (call: Promise<Response>): Promise<number> => (await call).status

/** Presses Tab until the element with that name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const focused = `(() => {
    const at = document.activeElement
    return at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? at.innerText
  })()`
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab')
    const text = String(await page.evaluate(focused))
    if (text.replaceAll(/\s+/g, ' ').startsWith(name)) return
  }
  assert.fail(`${name} was not reached`)
}

test(
  'a user creates, copies and revokes own tokens, with the keyboard alone',
  needsChromium,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    for (const name of ['alice/atlas', 'octo/kit'])
      await host.repository(name, { files: { a: '1' } })
    await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\n')
    const port = await dashboardPort()
    const service = await startSharedService(t, { repositories: host.root, port })
    const operatorToken = await service.token('alice', '--name', 'first')
    const page = await visit(t, `${service.url}/`, { token: operatorToken, expected: /401|403/ })
    await untilHeading(page, 'Migrations')
    await tabTo(page, 'Signed in as alice')
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Tokens' }).waitFor()
    await page.keyboard.press('Enter')
    await untilHeading(page, 'Tokens')
    await section(page, /^1 token$/)
      .getByRole('cell', { name: 'first (1)', exact: true })
      .waitFor()

    await tabTo(page, 'Name')
    await page.keyboard.type('<b>laptop</b>')
    await tabTo(page, 'Expires after')
    await page.keyboard.type('1 y')
    await tabTo(page, 'Valid for')
    await page.keyboard.type('Only octo')
    await tabTo(page, 'Read-only')
    await page.keyboard.press('Space')
    await page.keyboard.press('Enter')
    // The button that copies the token has the focus.
    await page.getByRole('button', { name: 'Copy token' }).waitFor()
    const shown = page.getByText(/^gwt_/)
    const token = await shown.innerText()
    assert.equal(await statusOf(service.call(token, '/orgs/octo/migrations')), 200)
    assert.equal(await statusOf(service.call(token, '/user/migrations')), 403)
    const body = JSON.stringify({ repositories: ['kit'] })
    assert.equal(
      await statusOf(service.call(token, '/orgs/octo/migrations', { method: 'POST', body })),
      403,
    )
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('Token copied').waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), token)
    await tabTo(page, 'Done')
    await page.keyboard.press('Enter')
    await shown.waitFor({ state: 'detached' })
    const row = section(page, /^2 tokens$/).getByRole('row', { name: '<b>laptop</b> (2)' })
    await row.getByText('read-only, only octo').waitFor()
    await row.getByText('in 12 months').waitFor()
    await tabTo(page, 'Revoke <b>laptop</b> (2)')
    await page.keyboard.press('Enter')
    await page.getByRole('alertdialog').getByText('refused at once').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).press('Enter')
    await section(page, /^1 token$/).waitFor()
    assert.equal(await statusOf(service.call(token, '/orgs/octo')), 401)

    // The session ends with the token that opened it.
    await page.getByRole('button', { name: 'Revoke all tokens' }).click()
    await page.getByRole('alertdialog').getByText('you are signed out too').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke all' }).click()
    await page.getByText('You are signed out').waitFor()
    await endVisit(page)
  },
)

/** Scrolls the page, and returns by how much the menu moves with it. */
const SCROLL = `(() => {
  const top = () => document.querySelector('[role=menu]').getBoundingClientRect().top
  const before = top()
  scrollBy(0, 58)
  return top() - before
})()`

test(
  'a session with an own token must be opened in another way to manage tokens',
  needsChromium,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    await host.repository('alice/atlas', { files: { a: '1' } })
    await host.repository('octo/kit', { files: { a: '1' } })
    await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\n')
    const port = await dashboardPort()
    const service = await startSharedService(t, { repositories: host.root, port })
    const operatorToken = await service.token('alice')
    const page = await visit(t, `${service.url}/#/tokens`, {
      token: operatorToken,
      expected: /401|403/,
    })
    await untilHeading(page, 'Tokens')
    async function create(organization: string): Promise<string> {
      await page.getByLabel('Name').fill('own')
      await page.getByLabel('Valid for').selectOption(organization)
      await page.getByRole('button', { name: 'Create token' }).click()
      const token = await page.getByText(/^gwt_/).innerText()
      await page.getByRole('button', { name: 'Done' }).click()
      return token
    }
    const own = await create('')
    const ofOcto = await create('octo')
    await page.getByText('What happened in your account').click()
    await section(page, 'Entries').getByRole('cell', { name: 'token.create' }).first().waitFor()
    const account = page.getByRole('button', { name: 'Signed in as alice' })
    const menuItem = page.getByRole('menuitem', { name: 'Sign out', exact: true })
    await page.evaluate('scrollTo(0, 58)')
    await account.click()
    await menuItem.waitFor()
    // The menu stays at the header, so that scrolling does not take it away from the pointer.
    assert.equal(await page.evaluate('scrollY'), 58)
    assert.equal(await page.evaluate(SCROLL), 0)
    await menuItem.click()
    await untilHeading(page, 'Sign in to Godwit')
    await page.getByLabel('Token', { exact: true }).fill(own.slice(0, -2))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('mistyped or incomplete').waitFor()
    await signIn(page, own)
    await page.getByText('Sign in again to create or revoke tokens').waitFor()
    assert.equal(await page.getByRole('button', { name: /^Revoke/ }).count(), 0)
    await page.getByRole('button', { name: 'Sign in again' }).click()
    await untilHeading(page, 'Sign in to Godwit')
    await signIn(page, operatorToken)
    await page.getByRole('button', { name: 'Create token' }).waitFor()

    // Another tab has opened a session that cannot manage tokens, and this page does not know yet.
    const headers = { 'x-godwit-session': '1' }
    await page.context().request.post(`${service.url}/session`, { data: { token: own }, headers })
    await page.getByLabel('Name').fill('late')
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('button', { name: 'Sign in again' }).waitFor()
    assert.equal(await page.getByLabel('Name').inputValue(), 'late')

    // A session of one organization begins at its migrations.
    await account.press('Enter')
    await page.getByRole('menuitem', { name: 'Tokens' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('ArrowDown')
    await menuItem.and(page.locator(':focus')).press('Enter')
    await untilHeading(page, 'Sign in to Godwit')
    await page.goto(`${service.url}/#/`)
    await signIn(page, ofOcto)
    await untilHeading(page, 'Migrations of octo')
    await endVisit(page)
  },
)
