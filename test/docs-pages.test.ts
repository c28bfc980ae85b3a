import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { architectureWithDiagram } from '../scripts/folder-diagram.ts'
import { settingsPageWithTable } from '../scripts/settings-table.ts'

test('the table in SETTINGS.md matches the code', async () => {
  const { before, after } = await settingsPageWithTable()
  assert.equal(before, after, 'run `node scripts/settings-table.ts`')
})

test('the diagram of folders in ARCHITECTURE.md matches the import rules', async () => {
  const { before, after } = await architectureWithDiagram()
  assert.equal(before, after, 'run `node scripts/folder-diagram.ts`')
})

const ROOT = new URL('..', import.meta.url).pathname

test('every relative link in the documentation leads to a file', async () => {
  const pages = glob(['*.md', 'docs/**/*.md', 'src/**/*.md', 'bench/*.md'], { cwd: ROOT })
  let links = 0
  for await (const page of pages) {
    const text = await readFile(join(ROOT, page), 'utf8')
    for (const [, address = ''] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(address)) continue
      links++
      assert.ok(existsSync(join(ROOT, dirname(page), address)), `${page} links to ${address}`)
    }
  }
  assert.ok(links > 10)
})
