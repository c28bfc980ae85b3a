import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, section, signIn, untilHeading } from '../../../test/support/dashboard.ts'
import { sharedExportStory } from '../../../test/support/export-story.ts'
import { temporaryDirectory } from '../../../test/support/sample-repositories.ts'
import { slowGit } from '../../../test/support/slow-git.ts'

const GODWIT = new URL('../../../bin/godwit', import.meta.url).pathname
const run = promisify(execFile)

test(
  'a user signs in, starts a migration, downloads and verifies its archive, and deletes it',
  needsChromium,
  async (t) => {
    // The first repository is verified at once, the second on request, so that progress is visible.
    const slow = await slowGit({ afterFirst: 1 })
    t.after(slow.remove)
    const story = await sharedExportStory(t, {
      port: await dashboardPort(),
      async repositories(host) {
        const files = { 'README.md': 'Words\n'.repeat(500) }
        for (const name of ['atlas', 'birds', 'coast']) {
          await host.repository(`alice/${name}`, { files, description: `About ${name}` })
        }
      },
      flags: ['--git', slow.program, '--concurrency', '1'],
    })
    const token = await story.service.token('alice')
    const page = await visit(t, story.service.url, { expected: /401/ })

    await signInAfterErrors()
    await untilHeading(page, 'Migrations')
    await page.getByRole('heading', { name: 'No migrations yet' }).waitFor()
    await page.getByRole('link', { name: 'Start a migration' }).click()

    await untilHeading(page, 'New migration')
    await section(page, 'Repositories').getByText('alice/coast').waitFor()
    await page.getByRole('searchbox', { name: 'Find a repository' }).fill('ATLAS')
    await section(page, 'Repositories').getByText('alice/coast').waitFor({ state: 'detached' })
    await page.getByRole('checkbox', { name: 'alice/atlas' }).check()
    await page.getByRole('searchbox', { name: 'Find a repository' }).fill('birds')
    await page.getByRole('checkbox', { name: 'alice/birds' }).check()
    await section(page, 'Estimate').getByText('0 of 2').waitFor()
    await page.getByLabel('Name (optional)').fill('The move')
    await page.getByRole('button', { name: 'Start with 2 repositories' }).click()

    await untilHeading(page, 'The move (migration 1)')
    const atlas = page.getByRole('listitem').filter({ hasText: 'alice/atlas' })
    await atlas.getByText('Exported:').waitFor()
    await page.getByRole('progressbar', { name: 'alice/birds: Exporting' }).waitFor()
    assert.equal(await section(page, 'Progress').getByText('1 of 2').count(), 1)
    await slow.speedUp()
    await page.getByText('The archive is ready').waitFor()
    await page.getByRole('status').filter({ hasText: 'Migration 1 is exported' }).waitFor()

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ])
    assert.match(download.suggestedFilename(), /^migration-1-alice-The-move-/)
    const archive = join(temporaryDirectory(t), download.suggestedFilename())
    await download.saveAs(archive)
    await run(GODWIT, ['verify', archive])
    const { stdout } = await run('tar', ['-tzf', archive])
    assert.match(stdout, /repositories\/alice\/atlas\.git\//)
    assert.doesNotMatch(stdout, /coast/)

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Keep archive' }).click()
    await page.getByText('The archive is ready').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete archive' }).click()
    await page.getByText('The archive no longer exists').waitFor()
    assert.equal((await story.call('/user/migrations/1/archive')).status, 404)

    await page.getByRole('button', { name: 'Signed in as alice' }).click()
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
    await untilHeading(page, 'Sign in to Godwit')
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
    await endVisit(page)

    async function signInAfterErrors(): Promise<void> {
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Enter a token.').waitFor()
      await page.getByLabel('Token', { exact: true }).fill('nonsense')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('That token is not valid').waitFor()
      await signIn(page, token)
    }
  },
)
