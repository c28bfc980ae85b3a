import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { ARCHIVE_READERS } from './support/archive-readers.ts'
import { ARCHIVE_WRITERS } from './support/archive-writers.ts'

const ROOT = new URL('..', import.meta.url)
const read = (path: string) => readFile(new URL(path, ROOT), 'utf8')

/** What is run by a test of its own, under these words, and not by going through a list. */
const BY_THEMSELVES: Record<string, [file: string, words: string]> = {
  'github.com': ['src/importer/dialects.test.ts', 'as it is, and what it was unpacked into'],
  'GNU tar, with a folder around it': ['src/importer/dialects.test.ts', 'around it, it is read'],
  'Python, pax, files only, in the contrary order': [
    'src/importer/dialects.test.ts',
    'files only, in the contrary order',
  ],
  'a directory that an archive was unpacked into': [
    'src/importer/dialects.test.ts',
    'a directory is verified and restored',
  ],
  'DecompressionStream of browsers': [
    'src/archive/foreign-readers.test.ts',
    'the DecompressionStream of browsers reads all of it',
  ],
  'git, on what was unpacked': ['src/importer/dialects.test.ts', 'git takes what was unpacked'],
}

async function namesBelow(heading: string): Promise<string[]> {
  const lines = (await read('docs/COMPATIBILITY.md')).split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`))
  const rows = lines.slice(start + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  const cells = rows.slice(0, end).map((row) => row.split('|').map((cell) => cell.trim()))
  return cells.filter(([, , said]) => said !== 'not run').map(([, name]) => name!)
}

test('the tables of archives name every program that is run, and no other', async () => {
  const [written, ours] = [await namesBelow('written by'), await namesBelow('ours, read by')]
  const itself = Object.keys(BY_THEMSELVES)
  const listed = [...Object.keys(ARCHIVE_WRITERS), ...Object.keys(ARCHIVE_READERS)]
  assert.deepEqual([...written, ...ours].sort(), [...listed, ...itself].sort())
  for (const name of Object.keys(ARCHIVE_WRITERS)) assert.ok(written.includes(name), name)
  for (const name of Object.keys(ARCHIVE_READERS)) assert.ok(ours.includes(name), name)
  for (const [name, [file, words]] of Object.entries(BY_THEMSELVES))
    assert.ok((await read(file)).includes(words), `${file} does not run ${name}`)
})
