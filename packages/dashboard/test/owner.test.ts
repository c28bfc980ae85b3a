import assert from 'node:assert/strict'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, section, signIn, untilHeading } from '../../../test/support/dashboard.ts'
import { cleanupAfterFile } from '../../../test/support/file-cleanup.ts'
import { gitHost } from '../../../test/support/git-host.ts'
import type { SharedService } from '../../../test/support/service.ts'
import { startSharedService } from '../../../test/support/start-shared-service.ts'
import { until } from '../../../test/support/wait-until.ts'

const HOW_MANY = 31

const wholeFile = cleanupAfterFile()
let service: SharedService

before(async () => {
  const host = await gitHost()
  wholeFile.after(host.remove)
  await host.repository('alice/open', { files: { a: '1' }, public: true, description: 'For all' })
  const first = await host.repository('alice/r-01', { files: { a: '1' } })
  for (let number = 2; number <= HOW_MANY; number++)
    await cp(first, host.path(`alice/r-${String(number).padStart(2, '0')}`), { recursive: true })
  for (const name of ['octo/engine', 'octo/kit', 'carol/own'])
    await host.repository(name, { files: { a: '1' } })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob member\n')
  await host.repository('alice/broken', { files: { a: '1' } })
  await host.loseObjects('alice/broken')
  service = await startSharedService(wholeFile, {
    repositories: host.root,
    port: await dashboardPort(),
  })
})

test(
  'the html_url of an owner shows visitors the public repositories',
  needsChromium,
  async (t) => {
    const page = await visit(t, `${service.url}/alice`)
    await untilHeading(page, 'alice')
    assert.equal(page.url(), `${service.url}/#/owners/alice`)
    const list = section(page, '1 repository')
    await list.getByText('For all').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Export' }).count(), 0)
    await list.getByRole('link', { name: 'open' }).click()
    await untilHeading(page, 'alice/open')
    await section(page, 'About').getByRole('link', { name: 'alice' }).click()
    await untilHeading(page, 'alice')
    await endVisit(page)
  },
)

test(
  'an owner without public repositories is shown after signing in, with what may be exported',
  needsChromium,
  async (t) => {
    const page = await visit(t, `${service.url}/octo`, { expected: /404/ })
    await signIn(page, await service.token('alice'))
    await untilHeading(page, 'octo')
    await page.getByText('Organization', { exact: true }).waitFor()
    await section(page, '2 repositories').getByRole('link', { name: 'engine' }).waitFor()
    await page.getByRole('link', { name: 'Export' }).click()
    await untilHeading(page, 'New migration of octo')
    const picker = section(page, 'Repositories')
    await picker.getByText('2 selected').waitFor()
    await picker.getByRole('checkbox', { name: 'octo/kit' }).uncheck()
    await picker.getByText('1 selected').waitFor()
    await endVisit(page)
  },
)

test(
  'repositories of an owner are paged and searched, and all of them are selected for export',
  needsChromium,
  async (t) => {
    const page = await visit(t, `${service.url}/alice`, { token: await service.token('alice') })
    const rows = section(page, /repositor/)
      .getByRole('listitem')
      .getByRole('link')
    await section(page, `${HOW_MANY + 2} repositories`).waitFor()
    await page.getByRole('link', { name: 'Page 2' }).click()
    await page.getByRole('link', { name: 'r-31', exact: true }).waitFor()
    await page.getByRole('searchbox', { name: 'Find a repository' }).fill('OPEN')
    await section(page, '1 repository').waitFor()
    assert.deepEqual(await rows.allTextContents(), ['open'])
    await page.getByRole('searchbox', { name: 'Find a repository' }).fill('alice')
    await page.getByText('No repository has “alice” in its name.').waitFor()
    await page.getByRole('link', { name: 'Export' }).click()
    await untilHeading(page, 'New migration')
    await section(page, 'Repositories')
      .getByText(`${HOW_MANY + 2} selected`)
      .waitFor()

    // The repositories of others that one may read, but not export.
    await page.goto(`${service.url}/carol`)
    await page.getByText('None that you may read.').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Export' }).count(), 0)
    await endVisit(page)
  },
)

test('the page of a damaged repository says so', needsChromium, async (t) => {
  const token = await service.token('alice')
  const { problem } = await until('it was read', async () => {
    const response = await service.call(token, '/repos/alice/broken')
    return response.ok && ((await response.json()) as { problem: string | null })
  })
  assert.ok(problem)
  const page = await visit(t, `${service.url}/alice/broken`, { token, expected: /404/ })
  await page.getByText('Damaged', { exact: true }).waitFor()
  await page.getByText(`${problem}. Ask the operator to repair it.`).waitFor()
  await endVisit(page)
})
