import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { endVisit, needsChromium, visit } from '../support/browser.ts'
import { dashboardPort, section, untilHeading } from '../support/dashboard.ts'
import { SIZES } from '../support/every-page.ts'
import { DAMAGED_REPOSITORIES } from '../support/export-damage.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'

const LONG_NAME = `alice/${'a-very-long-name-'.repeat(5)}end`
/** By how many pixels the page is wider than the screen. */
const OVERFLOW_WIDTH = 'document.documentElement.scrollWidth - innerWidth'
const LONG_OWNER = 'an-organization-with-a-very-long-name'
const wholeFile = cleanupAfterFile()
let story: SharedStory
let token: string

before(async () => {
  if (needsChromium.skip) return
  story = await sharedExportStory(wholeFile, {
    port: await dashboardPort(),
    async repositories(host) {
      for (let number = 10; number < 25; number += 1)
        await host.repository(`alice/r-${number}`, { files: { a: '1' } })
      await host.repository(LONG_NAME, { files: { a: '1' } })
      await host.repository(`${LONG_OWNER}/kit`, { files: { a: '1' } })
      await writeFile(join(host.root, LONG_OWNER, 'godwit-members'), 'alice owner\n')
      DAMAGED_REPOSITORIES.grafted!.make(host.path('alice/damaged'))
    },
    flags: ['--ssh-url', 'git@git.example.com:{owner}/{name}.git'],
  })
  token = await story.service.token('alice')
})

async function visitNarrow(t: Parameters<typeof visit>[0], at: string): Promise<Page> {
  const page = await visit(t, `${story.service.url}/`, { token })
  await page.setViewportSize(SIZES.narrow)
  await page.goto(`${story.service.url}/${at}`)
  return page
}

/** Fails unless the whole element is on the screen, and nothing covers its corners. */
async function assertSeen(page: Page, selector: string, element: Locator): Promise<void> {
  await element.waitFor()
  const { x, y, width, height } = (await element.boundingBox())!
  const inset = 8
  for (const left of [x + inset, x + width - inset]) {
    for (const top of [y + inset, y + height - inset]) {
      const at = `document.elementFromPoint(${left}, ${top})`
      assert.ok(await page.evaluate(`${at}?.closest('${selector}') != null`), `${left}, ${top}`)
    }
  }
  assert.equal(await page.evaluate(OVERFLOW_WIDTH), 0)
}

test('menus of the header open above it, and name the account', needsChromium, async (t) => {
  const page = await visitNarrow(t, '#/')
  await untilHeading(page, 'Migrations')
  const owner = page.getByRole('button', { name: 'Migrations of alice' })
  assert.equal((await owner.innerText()).trim(), 'alice')
  for (const name of ['Migrations of alice', 'Signed in as alice', 'Theme: System']) {
    await page.getByRole('button', { name }).click()
    await assertSeen(page, '[role=menu]', page.getByRole('menu'))
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
  }
  await page.goto(`${story.service.url}/#/orgs/${LONG_OWNER}`)
  await untilHeading(page, `Migrations of ${LONG_OWNER}`)
  await assertSeen(page, '[aria-label^=Signed]', page.getByRole('button', { name: 'Signed in as' }))
  await assertSeen(page, '[aria-label^=Migr]', page.getByRole('button', { name: LONG_OWNER }))
  await endVisit(page)
})

test(
  'the start button and the estimate stay visible, and a reload keeps the selection',
  needsChromium,
  async (t) => {
    const page = await visitNarrow(t, '#/new')
    const picker = section(page, 'Repositories')
    await picker.getByRole('checkbox', { name: 'alice/r-10' }).check()
    const start = page.getByRole('button', { name: 'Start with 1 repository' })
    await assertSeen(page, 'button', start)
    await page.getByText(/^1 repository · .* to write/).waitFor()
    await page.reload()
    await picker.getByText('1 selected').waitFor()
    assert.ok(await picker.getByRole('checkbox', { name: 'alice/r-10' }).isChecked())

    await picker.getByRole('checkbox', { name: 'alice/damaged' }).check()
    const damaged = picker.getByRole('listitem').filter({ hasText: 'alice/damaged' })
    await damaged.getByText('Damaged', { exact: true }).waitFor()
    const warning = page.getByText('1 repository cannot be exported, so the migration would fail')
    await assertSeen(page, 'p', warning.and(page.locator('p:not([aria-live] *)')))
    // At a zoom of 200 %, the footer does not take the space of the form.
    await page.setViewportSize({ width: 640, height: 400 })
    await page.evaluate('scrollTo(0, 0)')
    const button = page.getByRole('button', { name: 'Start with 2 repositories' })
    assert.ok((await button.boundingBox())!.y > 400)
    await page.setViewportSize(SIZES.narrow)
    await picker.getByRole('checkbox', { name: 'alice/damaged' }).uncheck()
    await damaged.getByText('Damaged', { exact: true }).waitFor({ state: 'detached' })

    // A long name wraps beside its icon.
    const long = picker.getByRole('listitem').filter({ hasText: LONG_NAME })
    const icon = await long.locator('label > svg').boundingBox()
    const words = await long.locator('label > span').boundingBox()
    assert.ok(words!.height > 2 * icon!.height, 'it wraps')
    assert.ok(words!.x >= icon!.x + icon!.width && icon!.y < words!.y + icon!.height)

    await start.click()
    await untilHeading(page, 'Migration 1')
    await page.goto(`${story.service.url}/#/new`)
    await picker.getByText('0 selected').waitFor()
    await picker.getByRole('checkbox', { name: 'alice/r-11' }).check()
    await page.getByRole('button', { name: 'Signed in as alice' }).click()
    // By the keyboard: a menu on a narrow screen is moved after it has opened, and a fast click misses the item.
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).press('Enter')
    await untilHeading(page, 'Sign in to Godwit')
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
    await endVisit(page)
  },
)

test('the filter of a long list of repositories is not cut off', needsChromium, async (t) => {
  const names = Array.from({ length: 12 }, (_, index) => `alice/r-${index + 10}`)
  const { id } = await story.migrate(names)
  const page = await visitNarrow(t, `#/migrations/${id}`)
  const filter = page.getByRole('button', { name: 'All, Filter by state' })
  await filter.scrollIntoViewIfNeeded()
  await assertSeen(page, 'button', filter)
  await assertSeen(page, 'input', page.getByLabel('Find a repository of this migration'))
  await filter.click()
  await page.getByRole('menuitemradio', { name: 'Failed' }).click()
  await section(page, '12 repositories').getByText('None.').waitFor()
  await endVisit(page)
})

test('a repository whose last check failed is marked', needsChromium, async (t) => {
  await assert.rejects(story.service.godwit('check', 'alice/damaged'))
  const page = await visitNarrow(t, '#/new')
  const choice = section(page, 'Repositories').getByRole('listitem')
  await choice.filter({ hasText: 'alice/damaged' }).getByText('Damaged', { exact: true }).waitFor()
  assert.equal(await page.getByText('Damaged', { exact: true }).count(), 1)
  await endVisit(page)
})

test(
  'a repository has its configured SSH URL and can be selected for a migration',
  needsChromium,
  async (t) => {
    const page = await visitNarrow(t, '#/repositories/alice/r-10')
    await section(page, 'Clone').getByText('git@git.example.com:alice/r-10.git').waitFor()
    await page.getByRole('button', { name: 'New migration' }).click()
    await untilHeading(page, 'New migration')
    await section(page, 'Repositories').getByText('1 selected').waitFor()
    assert.ok(await page.getByRole('checkbox', { name: 'alice/r-10' }).isChecked())
    await endVisit(page)
  },
)

test('a long object id in the problem of a repository wraps', needsChromium, async (t) => {
  const page = await visitNarrow(t, '#/')
  const problem = `the object ${'0123456789'.repeat(4)} is missing`
  await page.route(/\/repos\/alice\/r-10$/, async (route) => {
    const repository = (await (await route.fetch()).json()) as object
    await route.fulfill({ json: { ...repository, problem } })
  })
  await page.goto(`${story.service.url}/#/repositories/alice/r-10`)
  await page.getByText(problem).waitFor()
  for (const width of [320, SIZES.narrow.width]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await page.evaluate(OVERFLOW_WIDTH), 0, `at ${width}`)
  }
  await endVisit(page)
})

test('the header of a site admin fits on the smallest screens', needsChromium, async (t) => {
  await story.service.godwit('account', 'add', 'admin', '--site-admin')
  const page = await visit(t, `${story.service.url}/#/service`, {
    token: await story.service.token('admin'),
  })
  await untilHeading(page, 'Service')
  const nav = page.getByRole('navigation', { name: 'Pages' })
  for (const width of [320, 360]) {
    await page.setViewportSize({ width, height: 800 })
    const link = (await nav.getByRole('link', { name: 'Service' }).boundingBox())!
    assert.ok(link.x + link.width <= width, `${link.x + link.width} at ${width}`)
    assert.equal(await page.evaluate(OVERFLOW_WIDTH), 0, `at ${width}`)
  }
  await endVisit(page)
})
