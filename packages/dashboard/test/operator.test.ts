import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import {
  dashboardPort,
  section,
  speedUpTimers,
  untilHeading,
} from '../../../test/support/dashboard.ts'
import { DAMAGED_REPOSITORIES } from '../../../test/support/export-damage.ts'
import { type SharedStory, sharedExportStory } from '../../../test/support/export-story.ts'

test('only an operator sees the whole service', needsChromium, async (t) => {
  const story = await sharedExportStory(t, {
    port: await dashboardPort(),
    async repositories(host) {
      await host.repository('alice/atlas', { files: { a: '1' } })
      await host.repository('alice/birds', { files: { a: '2' } })
      DAMAGED_REPOSITORIES.grafted!.make(host.path('alice/grafted'))
    },
  })
  await story.migrate(['alice/atlas', 'alice/birds'], { lock_repositories: true })
  await story.migrate(['alice/atlas', 'alice/birds'])
  await story.migrate(['alice/grafted'], {}, 'failed')
  await story.service.godwit('account', 'add', 'operator', '--site-admin')
  const [operator, alice] = [
    await story.service.token('operator'),
    await story.service.token('alice'),
  ]

  const page = await visit(t, story.service.url, { token: operator, expected: /500/ })
  await page.getByRole('link', { name: 'Service' }).click()
  await untilHeading(page, 'Service')
  const figure = (name: string) => page.locator('dl > div').filter({ hasText: name })
  await figure('Exported so far').getByText('2', { exact: true }).waitFor()
  await figure('Workers').getByText('1', { exact: true }).waitFor()
  await figure('Locks').getByText('2', { exact: true }).waitFor()
  await section(page, 'Locks').getByRole('cell', { name: 'alice/atlas', exact: true }).waitFor()
  await section(page, 'Recent failures')
    .getByText(/has grafts/)
    .waitFor()

  // Half of the exported repositories were reused: shown as a chart with a name, and as a table.
  await page.getByRole('img', { name: /2 of 4 repositories were reused/ }).waitFor()
  const reuse = section(page, 'Reuse')
  await reuse.getByText('Show as table').click()
  assert.ok((await reuse.getByRole('row').count()) >= 2)
  await page.getByRole('button', { name: 'Week' }).click()
  await page.getByRole('img', { name: /^Throughput in the last week: \d/ }).waitFor()
  assert.ok(page.url().endsWith('#/service?period=week'), page.url())
  // Nobody else can open a migration of alice.
  const archive = section(page, 'Largest archives').getByRole('row').last()
  assert.equal(await archive.getByRole('link').allInnerTexts().then(String), 'alice')
  await section(page, 'Locks').getByRole('link', { name: 'alice/birds' }).waitFor()

  await runActions(page, story)
  await readAuditLog(page)
  await page.getByRole('link', { name: 'Migrations' }).first().click()
  await speedUpTimers(page, 15_000)
  await page.getByRole('link', { name: 'Service' }).first().click()
  await section(page, 'Tokens').getByRole('row').first().waitFor()
  await page.route(/\/admin\/tokens$/, (route) => route.fulfill({ status: 500 }))
  await section(page, 'Tokens').getByText('May be out of date').waitFor()
  await page.reload()
  await section(page, 'Tokens').getByText('The server answered with an error (500).').waitFor()
  await endVisit(page)

  const other = await visit(t, `${story.service.url}/#/service`, { token: alice, expected: /404/ })
  await untilHeading(other, 'Not found')
  assert.equal(await other.getByRole('link', { name: 'Service' }).count(), 0)
  for (const at of ['service', 'orgs/nosuch/', 'schedules/99', 'webhooks/99']) {
    await other.goto(`${story.service.url}/#/${at}`)
    await other.getByRole('heading', { name: 'Not found', exact: true }).waitFor()
    await other.getByText('It does not exist, or you may not see it.').waitFor()
    assert.equal(await other.getByRole('button', { name: 'Try again' }).count(), 0, at)
  }
  await endVisit(other)
})

/** Filters the audit log by the actions before, and downloads it. */
async function readAuditLog(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Audit log' }).click()
  await untilHeading(page, 'Audit log')
  await section(page, 'Entries').getByRole('cell', { name: 'admin.lock.release' }).waitFor()
  await page.getByLabel('Actor').fill('OPERATOR')
  await page.getByLabel('Action').selectOption('admin.migration.delete_archive')
  await page.getByRole('button', { name: 'Filter' }).click()
  const entries = section(page, 'Entries')
  await entries.getByRole('cell', { name: 'admin.lock.release' }).waitFor({ state: 'detached' })
  await entries.getByRole('cell', { name: 'migration 1', exact: true }).waitFor()
  const filters = '?actor=OPERATOR&action=admin.migration.delete_archive'
  assert.ok(page.url().endsWith(`#/audit${filters}`), page.url())
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download as JSON lines' }).click()
  const file = await (await downloading).path()
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  const actions = lines.map((line) => (JSON.parse(line) as { action: string }).action)
  assert.deepEqual(actions, ['admin.migration.delete_archive'])
}

/** Runs each action of the operator, confirms its dialog, and waits for its effect. */
async function runActions(page: Page, story: SharedStory): Promise<void> {
  const confirmAction = async (label: string, confirm: string) => {
    await page.getByRole('button', { name: label }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: confirm, exact: true }).click()
  }
  await confirmAction('Release the locks of alice/atlas', 'Release')
  await section(page, 'Locks')
    .getByRole('cell', { name: 'alice/atlas', exact: true })
    .waitFor({ state: 'detached' })
  await story.host.push('alice/atlas', { more: '1' })
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  await page.route(/\/migrations\/1\/archive$/, async (route) => {
    await isReleased
    await route.continue()
  })
  await confirmAction('Delete the archive of migration 1', 'Delete')
  // The button keeps its name while the request runs.
  const button = page.getByRole('button', { name: 'Delete the archive of migration 1' })
  await button.and(page.locator('[data-loading="true"]')).waitFor()
  release()
  await button.waitFor({ state: 'detached' })
  assert.equal((await story.call('/user/migrations/1/archive')).status, 404)
  await confirmAction('Retry migration 3', 'Retry')
  await section(page, 'Recent failures')
    .getByRole('button', { name: 'Retry migration 4' })
    .waitFor()
  const tokens = section(page, 'Tokens')
  const spare = await story.service.token('alice', '--name', 'spare')
  await page.reload()
  await tokens.getByText('(spare)').waitFor()
  const row = tokens.getByRole('row').filter({ hasText: '(spare)' })
  await row.getByRole('button').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke', exact: true }).click()
  await tokens.getByText('(spare)').waitFor({ state: 'detached' })
  assert.equal((await story.service.call(spare, '/user')).status, 401)
}
