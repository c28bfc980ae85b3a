import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { architectureWithPicture } from '../scripts/house-picture.ts'
import { readmeWithTable } from '../scripts/settings-table.ts'

test("the README's table of settings is the one the code has", async () => {
  const { before, after } = await readmeWithTable()
  assert.equal(before, after, 'run `node scripts/settings-table.ts`')
})

test('the picture of the rooms is the one that the imports are held to', async () => {
  const { before, after } = await architectureWithPicture()
  assert.equal(before, after, 'run `node scripts/house-picture.ts`')
})

const ROOT = new URL('..', import.meta.url).pathname

test('every link from one page of ours to another leads somewhere', async () => {
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
