import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTable, wrapDetails } from './table.ts'

const plain = (cell: string) => cell

const ROWS = [
  ['ID', 'STATE', 'REASON'],
  ['1', 'exported', '-'],
  ['12', 'failed', 'alice/site: the pack is damaged, and no backup of it exists'],
]

test('a table that fits is aligned, without spaces at the ends of lines', () => {
  assert.deepEqual(formatTable(ROWS, Number.POSITIVE_INFINITY, plain), [
    'ID  STATE     REASON',
    '1   exported  -',
    '12  failed    alice/site: the pack is damaged, and no backup of it exists',
  ])
})

test('the widest column is wrapped at words', () => {
  assert.deepEqual(formatTable(ROWS, 40, plain), [
    'ID  STATE     REASON',
    '1   exported  -',
    '12  failed    alice/site: the pack is',
    '              damaged, and no backup of',
    '              it exists',
  ])
})

test('a table that is too wide even so becomes records, and no word is lost or split', () => {
  const long = `alice/${'x'.repeat(60)}`
  const lines = formatTable([...ROWS, ['3', 'pending', long]], 24, plain)
  assert.deepEqual(lines.slice(0, 8), [
    'ID      1',
    'STATE   exported',
    'REASON  -',
    '',
    'ID      12',
    'STATE   failed',
    'REASON  alice/site: the',
    '        pack is damaged,',
  ])
  assert.equal(lines.at(-1), `REASON  ${long}`)
})

test('every word of a table is there at every width', () => {
  const words = ROWS.flat().join(' ').split(' ').sort()
  for (let width = 1; width < 90; width++) {
    const found = formatTable(ROWS, width, plain).join(' ').split(/ +/)
    for (const word of words) assert.ok(found.includes(word), `${word} at ${width}`)
  }
})

test('details are wrapped below their value', () => {
  const text = 'Migration 1 failed.\n\narchive       ready; download it with the command below'
  assert.equal(
    wrapDetails(text, 40),
    'Migration 1 failed.\n\narchive       ready; download it with\n              the command below',
  )
  assert.equal(wrapDetails('  failed: a/b: one two three', 16), '  failed: a/b:\n  one two three')
})
