import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { needsChromium, openPlainTab } from '../support/browser.ts'
import { axeViolations, SIZES } from '../support/every-page.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { gitHost } from '../support/git-host.ts'
import { convertToHtml, makeReadableArchive } from '../support/html-site.ts'
import { REAL_ARCHIVE } from '../support/real-archive.ts'
import { until } from '../support/wait-until.ts'

/** Sites of `convert --to html`, opened from disk. */
describe('a site of plain files', needsChromium, () => {
  const fileCleanup = cleanupAfterFile()
  let site: string
  let page: Page
  const problems: string[] = []

  before(async () => {
    const { archive, host } = await makeReadableArchive(fileCleanup)
    site = (await convertToHtml(fileCleanup, host, () => ({ folder: archive }))).directory
    page = await openTab()
  })

  /** A page must not send requests to other places, break its own policy or throw errors. */
  async function openTab(options: { javaScriptEnabled?: boolean } = {}): Promise<Page> {
    const tab = await openPlainTab(fileCleanup, options)
    tab.on('request', (request) => {
      if (!request.url().startsWith('file:')) problems.push(`requested ${request.url()}`)
    })
    tab.on('pageerror', (error) => problems.push(error.message))
    tab.on('console', (message) => {
      // The image in the README of the test is no image.
      if (message.type() !== 'log') problems.push(message.text())
    })
    return tab
  }

  const open = (path: string, tab = page, directory = site) =>
    tab.goto(`${pathToFileURL(directory)}/${path}`)

  // The style sheet shows the same elements at all sizes and in both themes.
  const APPEARANCES = [
    { ...SIZES.wide, colorScheme: 'light', rules: 'all' },
    { ...SIZES.narrow, colorScheme: 'dark', rules: 'style' },
    { ...SIZES.wide, colorScheme: 'dark', rules: 'style' },
    { ...SIZES.narrow, colorScheme: 'light', rules: 'style' },
  ] as const

  /**
   * Checks all pages, by default at one width in each theme, and those that match `everywhere` at both widths in both
   * themes. On pages that match `lightOnly`, axe checks the light theme, and only their width is checked in the dark one.
   */
  async function checkPages(
    directory: string,
    { everywhere, lightOnly }: { everywhere: RegExp; lightOnly?: RegExp },
  ): Promise<void> {
    const tab = await openTab()
    await tab.addInitScript(axe.source)
    const files = await readdir(directory, { recursive: true })
    for (const file of files.filter((name) => name.endsWith('.html')).sort()) {
      await open(file, tab, directory)
      const appearances = APPEARANCES.slice(0, everywhere.test(file) ? 4 : 2)
      for (const { colorScheme, rules, ...size } of appearances) {
        await tab.emulateMedia({ colorScheme })
        await tab.setViewportSize(size)
        const where = `${file}, ${colorScheme}, ${size.width} pixels wide`
        if (colorScheme === 'light' || !lightOnly?.test(file))
          assert.deepEqual(await axeViolations(tab, rules), [], where)
        const overflow = await tab.evaluate('document.documentElement.scrollWidth - innerWidth')
        assert.ok(Number(overflow) <= 0, `${overflow} pixels are cut off: ${where}`)
      }
    }
    await tab.close()
    assert.deepEqual(problems, [])
  }

  test('axe finds no violation on any page, and nothing is cut off', () =>
    checkPages(site, { everywhere: /^index|site\/index|issues\/(?:index|2)|pulls\/3/ }))

  test('the same is true for an archive of github.com', REAL_ARCHIVE.needed, async (t) => {
    await using host = await gitHost()
    const { directory } = await convertToHtml(t, host, () => createReadStream(REAL_ARCHIVE.file))
    // Only labels and texts have other colors than the pages above.
    const lightOnly = /^index|test_repo\/index|(?:branches|milestones|releases|tags)\/index/
    await checkPages(directory, { everywhere: /pulls\/4/, lightOnly })
  })

  test('links lead from the start page to an issue, a pull request and back', async () => {
    await open('index.html')
    await page.getByRole('link', { name: 'alice/site' }).click()
    await page.getByRole('link', { name: /^Issues/ }).click()
    await page.getByRole('link', { name: 'Hostile text' }).click()
    await page.getByRole('link', { name: '#3', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Pull 3 #3' }).waitFor()
    await page.getByRole('navigation', { name: 'Repository' }).getByText('README').click()
    await page.getByRole('heading', { name: 'The site of alice' }).waitFor()
    await page.getByRole('link', { name: 'Repositories' }).click()
    await page.getByRole('heading', { level: 1, name: '3 repositories' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('images of the archive are shown, and hostile text changes nothing', async () => {
    await open('repositories/alice/site/issues/2.html')
    const shot = page.getByRole('img', { name: 'shot' })
    await shot.scrollIntoViewIfNeeded()
    await until('the image is loaded', () =>
      page.evaluate("document.querySelector('img[alt=shot]').naturalWidth === 1"),
    )
    assert.match(await page.title(), /^Hostile text #2/)
    assert.match(await page.getByRole('main').innerText(), /<script>document\.title/)
    assert.deepEqual(problems, [])
  })

  test('a list is filtered by text, state, label, author and milestone', async () => {
    await open('repositories/alice/site/issues/index.html')
    const titles = () => page.locator('.rows:visible > li > a').allInnerTexts()
    const bold = 'A <b>bold</b> title ‹U+202E›evil'
    await page.getByLabel('Text').fill('hostile')
    assert.deepEqual(await titles(), ['Hostile text'])
    await page.getByText('1 found').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.locator('.list').waitFor()
    for (const [name, value, expected] of [
      ['State', 'closed', bold],
      ['Label', 'bug', bold],
      ['Author', 'alice', 'Hostile text'],
      ['Milestone', 'two', 'Hostile text'],
    ] as const) {
      await page.getByLabel(name).selectOption(value)
      assert.deepEqual(await titles(), [expected], name)
      await page.getByLabel(name).selectOption('')
    }
    await open('repositories/alice/site/labels/index.html')
    await page.getByRole('link', { name: 'Pull requests', exact: true }).click()
    await page.getByText('1 found').waitFor()
    assert.deepEqual(await titles(), ['Pull 3'])
    assert.deepEqual(problems, [])
  })

  test('everything can be read without script, and on paper', async () => {
    const plain = await openTab({ javaScriptEnabled: false })
    await open('repositories/alice/site/issues/index.html', plain)
    await plain.getByRole('link', { name: 'Hostile text' }).waitFor()
    assert.equal(await plain.getByLabel('Text').isVisible(), false)
    await plain.close()
    await open('repositories/alice/site/pulls/3.html')
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    const color = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    assert.equal(color, 'rgb(255, 255, 255)')
    assert.equal(await page.getByRole('navigation').first().isVisible(), false)
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' })
    assert.deepEqual(problems, [])
  })
})
