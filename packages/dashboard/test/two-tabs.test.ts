import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, signIn, untilHeading } from '../../../test/support/dashboard.ts'
import { gitHost } from '../../../test/support/git-host.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'
import { until } from '../../../test/support/wait-until.ts'

test('a tab follows the sign-in and sign-out of another tab', needsChromium, async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  for (const owner of ['alice', 'bob'])
    await host.repository(`${owner}/site`, { files: { a: '1' } })
  const port = await dashboardPort()
  const service = await startSharedService(t, { repositories: host.root, port })
  const page = await visit(t, service.url, { token: await service.token('alice') })
  const other = await page.context().newPage()
  t.after(() => other.close())
  await other.goto(`${service.url}/#/schedules`)
  await other.getByRole('button', { name: 'Signed in as alice' }).waitFor()

  await page.getByRole('button', { name: 'Signed in as alice' }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await untilHeading(page, 'Sign in to Godwit')
  await untilHeading(other, 'Sign in to Godwit')
  await signIn(page, await service.token('bob'))
  await other.getByRole('button', { name: 'Signed in as bob' }).waitFor()
  await untilHeading(other, 'Schedules')

  // The session is replaced without a sign-out.
  await page.context().request.post(`${service.url}/session`, {
    data: { token: await service.token('alice') },
    headers: { 'x-godwit-session': '1' },
  })
  await page.reload()
  await other.getByRole('button', { name: 'Signed in as alice' }).waitFor()

  // What the user types stays while a tab checks that it is still the same user.
  await other.goto(`${service.url}/#/new`)
  await other.getByLabel('Name (optional)').fill('Spring cleaning')
  await page.evaluate('localStorage.clear()')
  await until('the tab is signed in again', () =>
    other.evaluate(`localStorage.getItem('godwit.signed-in') === 'alice'`),
  )
  assert.equal(await other.getByLabel('Name (optional)').inputValue(), 'Spring cleaning')
  await endVisit(page)
})
