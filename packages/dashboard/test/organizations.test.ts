import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, section, signIn, untilHeading } from '../../../test/support/dashboard.ts'
import { gitHost } from '../../../test/support/git-host.ts'
import type { SharedService } from '../../../test/support/service.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'
import { until } from '../../../test/support/wait-until.ts'

const run = promisify(execFile)

test(
  'an owner switches between their own migrations and those of an organization',
  needsChromium,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    for (const name of ['alice/own', 'octo/engine', 'octo/kit', 'bob/own'])
      await host.repository(name, { files: { a: '1' } })
    await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob member\n')
    const service = await startSharedService(t, {
      repositories: host.root,
      port: await dashboardPort(),
    })
    const [alice, bob] = [await service.token('alice'), await service.token('bob')]

    const page = await visit(t, `${service.url}/godwit.svg`, { token: alice })
    // With hundreds of organizations, this one may be on the second page.
    await page.route(/memberships\/orgs/, (route) => {
      const url = new URL(route.request().url())
      if (url.searchParams.get('page') === '2')
        return route.continue({ url: url.href.replace('page=2', 'page=1') })
      url.searchParams.set('page', '2')
      return route.fulfill({ json: [], headers: { link: `<${url.href}>; rel="next"` } })
    })
    await page.goto(service.url)
    await page.getByRole('button', { name: 'Migrations of alice' }).click()
    await page.getByRole('menuitemradio', { name: 'octo' }).click()
    await untilHeading(page, 'Migrations of octo')
    await page.getByRole('link', { name: 'New migration' }).click()
    await untilHeading(page, 'New migration of octo')
    const picker = section(page, 'Repositories')
    await picker.getByRole('checkbox', { name: 'octo/kit' }).check()
    assert.equal(await picker.getByRole('checkbox', { name: 'alice/own' }).count(), 0)
    await picker.getByRole('searchbox').fill('engine')
    await picker.getByRole('checkbox', { name: 'octo/engine' }).check()
    await page.getByRole('button', { name: 'Start with 2 repositories' }).click()
    await untilHeading(page, 'Migration 1')
    assert.match(page.url(), /#\/orgs\/octo\/migrations\/1$/)
    await page.getByText('The archive is ready').waitFor()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByRole('menuitem', { name: 'Status' }).click()
    await page.getByText('Copied').first().waitFor()
    const command = (await page.evaluate('navigator.clipboard.readText()')) as string
    const { stdout } = await run('bash', ['-c', command], {
      env: { PATH: process.env.PATH, GODWIT_TOKEN: alice },
    })
    assert.equal((JSON.parse(stdout) as { owner: { login: string } }).owner.login, 'octo')

    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByRole('menuitem', { name: 'Download' }).click()
    await until('the other command is copied', async () => {
      const copied = (await page.evaluate('navigator.clipboard.readText()')) as string
      return /migration-1-octo-[\d-]+\.tar\.gz/.test(copied)
    })

    await page.getByRole('link', { name: 'Migrations of octo' }).click()
    await page.getByRole('link', { name: 'Migration 1' }).waitFor()
    await page.getByRole('button', { name: 'Migrations of octo' }).click()
    await page.getByRole('menuitemradio', { name: 'alice (you)' }).click()
    await untilHeading(page, 'Migrations')
    await page.getByText('No migrations yet').waitFor()

    await endVisit(page)
    const other = await visit(t, `${service.url}/#/orgs/octo/migrations/1`, {
      token: bob,
      expected: /404/,
    })
    await untilHeading(other, 'Not found')
    await other.goto(`${service.url}/#/`)
    await untilHeading(other, 'Migrations')
    assert.equal(await other.getByRole('button', { name: /^Migrations of/ }).count(), 0)
    await endVisit(other)
    await openRepository(t, service, { alice, bob })
  },
)

/** Follows the `html_url` of a repository as its owner, as another user, and signed out. */
async function openRepository(
  t: TestContext,
  service: SharedService,
  { alice, bob }: { alice: string; bob: string },
): Promise<void> {
  const start = { repositories: ['alice/own'], lock_repositories: true }
  await service.call(alice, '/user/migrations', { method: 'POST', body: JSON.stringify(start) })
  const record = await service.call(alice, '/repos/octo/kit')
  const { html_url, clone_url } = (await record.json()) as Record<string, string>
  assert.equal(html_url, `${service.url}/octo/kit`)

  const page = await visit(t, html_url!, { token: alice })
  await untilHeading(page, 'octo/kit')
  await section(page, 'Branches').getByText('main').waitFor()
  await section(page, 'Tags').getByText('No tags.').waitFor()
  await section(page, 'Migrations of octo').getByRole('link', { name: 'Migration 1' }).waitFor()
  await section(page, 'Your migrations').getByText('No recent migration').waitFor()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy HTTP URL' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('HTTP URL copied').waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), clone_url)
  // The operator has not configured an SSH server.
  assert.equal(await section(page, 'Clone').getByText('SSH').count(), 0)
  await page.goto(`${service.url}/alice/own`)
  await untilHeading(page, 'alice/own')
  await page.getByText('Migration 2 of alice locks this repository').waitFor()
  await section(page, 'Your migrations').getByRole('link', { name: 'Migration 2' }).click()
  await untilHeading(page, 'Migration 2')
  await page.getByRole('link', { name: 'alice/own' }).click()
  await untilHeading(page, 'alice/own')

  await endVisit(page)
  const other = await visit(t, html_url!, { token: bob, expected: /404/ })
  await untilHeading(other, 'Not found')
  await endVisit(other)
  const signedOut = await visit(t, `${service.url}/octo/kit`, { expected: /404/ })
  await untilHeading(signedOut, 'Sign in to Godwit')
  await signIn(signedOut, alice)
  await untilHeading(signedOut, 'octo/kit')
  await endVisit(signedOut)
}
