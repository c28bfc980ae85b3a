import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { ARCHIVE_READERS } from './support/archive-readers.ts'
import { ARCHIVE_WRITERS } from './support/archive-writers.ts'

const ROOT = new URL('..', import.meta.url)
const read = (path: string) => readFile(new URL(path, ROOT), 'utf8')

/** Entries that have their own tests in packages/archive/src and packages/archive/src/tar, outside the lists of readers and writers. */
const TESTED_SEPARATELY = [
  'github.com',
  'GNU tar, with a folder around it',
  'Python, pax, files only, in reverse order',
  'a directory that an archive was unpacked into',
  'DecompressionStream of browsers',
  'git, on what was unpacked',
]

async function namesBelow(heading: string): Promise<string[]> {
  const lines = (await read('docs/COMPATIBILITY.md')).split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`))
  const rows = lines.slice(start + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  const cells = rows.slice(0, end).map((row) => row.split('|').map((cell) => cell.trim()))
  return cells.filter(([, , result]) => result !== 'not run').map(([, name]) => name!)
}

test('the compatibility tables name exactly the programs that tests run', async () => {
  const [writers, readers] = [await namesBelow('written by'), await namesBelow('ours, read by')]
  const listed = [...Object.keys(ARCHIVE_WRITERS), ...Object.keys(ARCHIVE_READERS)]
  assert.deepEqual([...writers, ...readers].sort(), [...listed, ...TESTED_SEPARATELY].sort())
  for (const name of Object.keys(ARCHIVE_WRITERS)) assert.ok(writers.includes(name), name)
  for (const name of Object.keys(ARCHIVE_READERS)) assert.ok(readers.includes(name), name)
})
