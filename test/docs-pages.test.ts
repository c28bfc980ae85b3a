import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { headingsOf, PAGES_WITH_CONTENTS, pageWithContents } from '../scripts/contents.ts'
import { documentationFiles } from '../scripts/documentation-files.ts'
import { settingsPageWithTable } from '../scripts/settings-table.ts'

test('the table in SETTINGS.md matches the code', async () => {
  const { before, after } = await settingsPageWithTable()
  assert.equal(before, after, 'run `node scripts/settings-table.ts`')
})

for (const page of PAGES_WITH_CONTENTS)
  test(`the table of contents of ${page}.md matches its headings`, async () => {
    const { before, after } = await pageWithContents(page)
    assert.match(before, /<!-- contents -->/)
    assert.equal(before, after, 'run `node scripts/contents.ts`')
  })

const ROOT = new URL('..', import.meta.url).pathname

test('every long page of the documentation has a table of contents', async () => {
  const files = await Array.fromAsync(glob('docs/*.md', { cwd: ROOT }))
  const pages = files.map((file) => basename(file, '.md')).sort()
  const lengths = await Promise.all(
    pages.map(async (page) => (await readPage(`docs/${page}.md`)).split('\n').length),
  )
  assert.deepEqual(
    pages.filter((_, index) => lengths[index]! > 270),
    [...PAGES_WITH_CONTENTS].sort(),
  )
})

const readPage = (page: string) => readFile(join(ROOT, page), 'utf8')

/** The pages of the checkout. */
const allPages = () =>
  Array.fromAsync(
    glob(['*.md', '{docs,packages,bench,packaging}/**/*.md'], {
      cwd: ROOT,
      exclude: ['**/node_modules'],
    }),
  )

/** Returns the addresses of all links and images of a page, except to other sites. */
async function linksOf(page: string): Promise<string[]> {
  const text = (await readPage(page)).replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, '')
  const links = text.matchAll(/\]\(([^)\s]+)[^)]*\)|\b(?:href|src)="([^"]+)"/g)
  return Array.from(links, ([, link, attribute]) => link ?? attribute!).filter(
    (address) => !/^[a-z]+:/.test(address),
  )
}

/** Returns the links of the pages that lead to nothing. `exists` says whether there is a file or folder at a path in the checkout. */
async function deadLinks(pages: string[], exists: (path: string) => boolean): Promise<string[]> {
  const dead: string[] = []
  for (const page of pages)
    for (const address of await linksOf(page)) {
      const [path = '', anchor] = address.split('#')
      const target = path === '' ? page : join(dirname(page), path).replace(/\/$/, '')
      const isThere =
        exists(target) &&
        (anchor === undefined ||
          headingsOf(await readPage(target)).some((heading) => heading.anchor === anchor))
      if (!isThere) dead.push(`${page}: ${address}`)
    }
  return dead
}

test('every link of every page in the checkout leads to a file and a heading', async () => {
  const pages = await allPages()
  assert.ok(pages.length > 40)
  assert.deepEqual(await deadLinks(pages, (path) => existsSync(join(ROOT, path))), [])
})

test('every link of every page in the packages leads to a file in the packages', async () => {
  const files = new Set(documentationFiles())
  const folders = new Set([...files].map((file) => dirname(file)))
  const pages = [...files].filter((file) => file.endsWith('.md'))
  assert.ok(pages.length > 30)
  assert.deepEqual(await deadLinks(pages, (path) => files.has(path) || folders.has(path)), [])
  assert.ok((await deadLinks(['README.md'], () => false)).length > 20)
})

/** The folders that begin a path from the root of the checkout. */
const FROM_ROOT = /^(?:packages|scripts|test|docs|bench|packaging|bin)\//

/** Returns the files and folders that a text names and that do not exist. Paths of other forms than these are not from the root. */
function missingFiles(text: string, page: string): string[] {
  const names = Array.from(text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+)`/g), ([, name = '']) => name)
  const paths = names.flatMap((name) => {
    if (FROM_ROOT.test(name)) return name
    if (/^[a-z]+\/src\//.test(name)) return join('packages', name)
    return name.startsWith('../') && page.startsWith('packages/') ? join(dirname(page), name) : []
  })
  return paths.filter((path) => !existsSync(join(ROOT, path)))
}

test('every file that the pages name exists', async () => {
  const text =
    '`docs/none.md`, `cli/src/none.ts`, `../none.ts`, `owner/name`, `../lib/src/turns.ts`'
  const missing = ['docs/none.md', 'packages/cli/src/none.ts', 'packages/none.ts']
  assert.deepEqual(missingFiles(text, 'packages/cli/README.md'), missing)
  for (const page of await allPages()) {
    // The history of changes names files of former versions.
    if (page !== 'CHANGELOG.md')
      assert.deepEqual(missingFiles(await readPage(page), page), [], page)
  }
})
