import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, section, untilHeading } from '../../../test/support/dashboard.ts'
import { sharedExportStory } from '../../../test/support/export-story.ts'

const run = promisify(execFile)
const COUNT = 45

test(
  'repositories are chosen page by page or all at once, and shown as a command to copy',
  needsChromium,
  async (t) => {
    const story = await sharedExportStory(t, {
      port: await dashboardPort(),
      async repositories(host) {
        const first = await host.repository('alice/r-01', { files: { a: '1' } })
        for (let number = 2; number <= COUNT; number += 1) {
          const name = `alice/r-${String(number).padStart(2, '0')}`
          await cp(first, host.path(name), { recursive: true })
        }
        await cp(first, host.path('alice/other'), { recursive: true })
      },
    })
    const token = await story.service.token('alice')
    const page = await visit(t, `${story.service.url}/#/new`, { token, expected: /500/ })
    const picker = section(page, 'Repositories')
    await picker.getByRole('checkbox', { name: 'alice/r-01' }).check()
    await picker.getByRole('link', { name: 'Page 3' }).click()
    await picker.getByRole('checkbox', { name: 'alice/r-45' }).check()
    await picker.getByText('2 selected').waitFor()
    await picker.getByRole('button', { name: `Select all ${COUNT + 1}` }).click()
    await picker.getByText(`${COUNT + 1} selected`).waitFor()
    await picker.getByRole('button', { name: 'Clear' }).click()

    await page.route(/per_page=100/, (route) => route.fulfill({ status: 500 }))
    await picker.getByRole('button', { name: `Select all ${COUNT + 1}` }).click()
    await picker.getByText('The server answered with an error (500).').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await picker.getByRole('button', { name: 'Try again' }).click()
    await picker.getByText(`${COUNT + 1} selected`).waitFor()
    await picker.getByRole('button', { name: 'Clear' }).click()

    // A failed estimate does not affect the next choice.
    await page.route(/preflight$/, (route) => route.fulfill({ status: 500 }))
    await picker.getByRole('checkbox', { name: 'alice/r-45' }).check()
    const failed = section(page, 'Estimate').getByText('The server answered with an error (500).')
    await failed.waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    const estimate = Promise.withResolvers<void>()
    await page.route(/preflight$/, async (route) => {
      await estimate.promise
      await route.continue()
    })
    await picker.getByRole('checkbox', { name: 'alice/r-44' }).check()
    await failed.waitFor({ state: 'detached' })
    estimate.resolve()
    await section(page, 'Estimate').getByText('0 of 2').waitFor()
    await picker.getByRole('button', { name: 'Clear' }).click()

    // A choice made while all names are loading counts too.
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    await page.route(/per_page=100/, async (route) => {
      await isReleased
      await route.continue()
    })
    await picker.getByRole('searchbox').fill('r-')
    await picker.getByRole('button', { name: `Select all ${COUNT} found` }).click()
    await picker.getByRole('searchbox').fill('other')
    await picker.getByRole('checkbox', { name: 'alice/other' }).check()
    release()
    await picker.getByText(`${COUNT + 1} selected`).waitFor()
    await picker.getByRole('button', { name: 'Clear' }).click()
    await picker.getByRole('searchbox').fill('r-3')
    await picker.getByRole('checkbox', { name: 'alice/other' }).waitFor({ state: 'detached' })
    await picker.getByLabel('Select all', { exact: true }).check()
    await picker.getByText('10 selected').waitFor()

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    // The button shows this for a moment only; the announcement stays longer.
    await page.getByText('Command copied').waitFor()
    const command = (await page.evaluate('navigator.clipboard.readText()')) as string
    assert.ok(!command.includes('gwt_'), 'the command contains the token')
    const env = { PATH: process.env.PATH, GODWIT_TOKEN: token }
    const { stdout } = await run('bash', ['-c', command], { env, maxBuffer: 1 << 24 })
    const started = JSON.parse(stdout) as { id: number; repositories: { full_name: string }[] }
    assert.equal(started.repositories.length, 10)
    assert.ok(started.repositories.every(({ full_name }) => full_name.startsWith('alice/r-3')))

    await page.goto(`${story.service.url}/#/migrations/${started.id}`)
    await untilHeading(page, `Migration ${started.id}`)
    await page.getByText('The archive is ready').waitFor()
    await endVisit(page)
  },
)
