import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { before, test } from 'node:test'
import type { Summary } from '../../packages/contract/src/schemas/types.ts'
import { needsChromium, visit } from '../support/browser.ts'
import { dashboardPort, section, untilHeading } from '../support/dashboard.ts'
import { DAMAGED_REPOSITORIES } from '../support/export-damage.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type SlowGit, slowGit } from '../support/slow-git.ts'
import { until } from '../support/wait-until.ts'

const fileCleanup = cleanupAfterFile()
const damage = DAMAGED_REPOSITORIES['lost-blob']!
const files = { 'README.md': 'Words\n' }
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${'c'.repeat(64)}\nsize 9\n`
let story: SharedStory
/** Fast unless a test slows it down. */
let slow: SlowGit

/** Each test has its own owner. */
before(async () => {
  if (needsChromium.skip) return
  slow = await slowGit()
  fileCleanup.after(slow.remove)
  await slow.speedUp()
  story = await sharedExportStory(fileCleanup, {
    port: await dashboardPort(),
    async repositories(host) {
      await host.repository('alice/intact', { files })
      damage.make(host.path('alice/broken'))
      await host.repository('bob/atlas', { files })
      await host.repository('carol/intact', { files: { ...files, 'a.bin': POINTER } })
      DAMAGED_REPOSITORIES.grafted!.make(host.path('carol/grafted'))
      await host.repository('dora/gone', { files })
    },
    flags: ['--git', slow.program],
  })
})

test(
  'a damaged repository is named with its reason, and a retry exports it after the repair',
  needsChromium,
  async (t) => {
    const token = await story.service.token('alice')
    const page = await visit(t, `${story.service.url}/#/new`, { token })
    await page.getByLabel('Select all').check()
    await page.getByRole('button', { name: 'Start with 2 repositories' }).click()

    await untilHeading(page, 'Migration 1')
    await page.getByText('Migration failed').waitFor()
    const broken = page.getByRole('listitem').filter({ hasText: 'alice/broken' }).last()
    await broken.getByText('objects are missing').click()
    await broken.getByText(damage.reason).waitFor()
    await page.getByText('Failed:').waitFor()

    // While nothing has changed, a retry says so, and offers to skip the repository.
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Nothing has changed' })
    await dialog.getByText('alice/broken').waitFor()
    await dialog.getByRole('button', { name: 'Do not retry' }).click()
    await page.getByRole('button', { name: 'Retry without 1 repository' }).click()
    const offered = page.getByRole('alertdialog', { name: 'Retry without these' })
    await offered.getByText('alice/broken').waitFor()
    await offered.getByRole('button', { name: 'Do not retry' }).click()

    await story.host.recreate('alice/broken', files)
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    await untilHeading(page, 'Migration 2')
    await page.getByText('The archive is ready').waitFor()
    // The good repository was not exported again.
    const intact = page.getByRole('listitem').filter({ hasText: 'alice/intact' })
    await intact.getByText('reused').waitFor()

    await page.getByRole('link', { name: 'Migrations' }).first().click()
    await untilHeading(page, 'Migrations')
    await section(page, '2 migrations').getByText('Failed:').waitFor()
  },
)

test(
  'locked repositories can be unlocked one by one, and a migration can be cancelled',
  needsChromium,
  async (t) => {
    await slow.slowDown()
    const token = await story.service.token('bob')
    const page = await visit(t, `${story.service.url}/#/new`, { token })
    await page.getByRole('checkbox', { name: 'bob/atlas' }).check()
    await page.getByRole('checkbox', { name: 'Lock repositories' }).check()
    await page.getByRole('button', { name: 'Start with 1 repository' }).click()

    await page.getByRole('heading', { level: 1, name: /^Migration \d+$/ }).waitFor()
    await page.getByRole('button', { name: 'Unlock bob/atlas' }).click()
    const question = page.getByRole('alertdialog', { name: 'Unlock bob/atlas?' })
    await question.getByText('It accepts pushes again').waitFor()
    await question.getByRole('button', { name: 'Unlock' }).click()
    await page.getByText('Locked', { exact: true }).waitFor({ state: 'detached' })
    await until('the repository accepts pushes', () =>
      story.host.push('bob/atlas', { b: '2' }).then(
        () => true,
        () => false,
      ),
    )

    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel migration' }).click()
    await page.getByText('Migration cancelled').waitFor()
    await page.getByText('Cancelled', { exact: true }).waitFor()
    await slow.speedUp()
  },
)

test(
  'repositories that cannot be exported are shown before the start',
  needsChromium,
  async (t) => {
    const token = await story.service.token('carol')
    const page = await visit(t, `${story.service.url}/#/new`, { token })
    await page.getByLabel('Select all').check()
    const estimate = section(page, 'Estimate')
    await estimate.getByText('so the migration would fail').waitFor()
    await estimate.getByText(/has grafts/).waitFor()
    await page.getByLabel('Skip repositories that cannot be exported').check()
    await estimate.getByText('will be skipped').waitFor()
    // The summary is empty so far; progress is newer.
    await page.route(/\/summary$/, async (route) => {
      const summary = (await (await route.fetch()).json()) as Summary
      const repositories = { ...summary.repositories, skipped: 0, remaining: 2 }
      await route.fulfill({ json: { ...summary, state: 'exporting', archive: null, repositories } })
    })
    await page.getByRole('button', { name: 'Start with 2 repositories' }).click()
    await page.getByText('Partly exported', { exact: true }).waitFor()
    // A summary may be on its way through the handler, which `unroute` does not wait for.
    await page.unrouteAll({ behavior: 'wait' })
    await page.reload()
    const banner = page.getByRole('region', { name: 'The archive is ready' })
    const counts = '1 of 2 repositories, 1 skipped, 1 with missing LFS objects'
    await banner.getByText(`The archive is ready, with ${counts}`).waitFor()
    await banner.getByText(/has grafts/).waitFor()
    await banner.getByText('verified except for LFS objects').waitFor()
    await banner.getByText('carol/intact: 1 LFS object is missing').waitFor()
    const bar = section(page, 'Progress').getByRole('progressbar')
    // The bar follows the stream, the text follows the migration: neither waits for the other.
    await bar.and(page.locator('[aria-valuenow="50"][data-tone="attention"]')).waitFor()
    await page.getByRole('link', { name: 'Migrations' }).first().click()
    const row = section(page, '1 migration').getByRole('listitem').first()
    await row.getByText('Partly exported:').waitFor()
    await row.getByText(counts).waitFor()

    await page.route(/\/summary$/, async (route) => {
      const summary = (await (await route.fetch()).json()) as Summary
      await route.fulfill({
        json: { ...summary, archive: { ...summary.archive, damaged: true } },
      })
    })
    await row.getByRole('link').first().click()
    await page.getByText('The archive is damaged').waitFor()
    assert.equal(await page.getByText('The archive is ready').count(), 0)
  },
)

test('a selected repository that no longer exists can be deselected', needsChromium, async (t) => {
  const token = await story.service.token('dora')
  const page = await visit(t, `${story.service.url}/#/new`, { token, expected: /422/ })
  await page.getByRole('checkbox', { name: 'dora/gone' }).check()
  await rm(story.host.path('dora/gone'), { recursive: true })
  await story.service.godwit('sync')
  await page.getByRole('button', { name: 'Start with 1 repository' }).click()
  const failed = page.getByRole('alert').filter({ hasText: 'The migration was not started' })
  await failed.getByText('dora/gone: it does not exist').waitFor()
  await failed.getByRole('button', { name: 'Deselect 1 repository' }).click()
  await page.getByText('0 selected').waitFor()
  // The button is gone; the focus stays at its place.
  await page.locator('div:focus').getByRole('button', { name: 'Start migration' }).waitFor()
})
