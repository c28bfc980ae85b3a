import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDescription } from './description.ts'

test('a description is one line of text', () => {
  for (const [file, shown] of [
    ['A site\n', 'A site'],
    ['Two\r\nlines\n\n\tand a tab\0\x1b[31m', 'Two lines and a tab [31m'],
    ['one\u2028two\u0085three', 'one two three'],
    ['Größe, 日本語, 🦆 and 👩‍👩‍👧', 'Größe, 日本語, 🦆 and 👩‍👩‍👧'],
    ["Unnamed repository; edit this file 'description' to name the repository.\n", ''],
    ['   \n', ''],
    ['', ''],
  ] as const) {
    assert.equal(parseDescription(Buffer.from(file)), shown)
  }
})

test('a description that is not UTF-8 is read as Latin-1', () => {
  assert.equal(parseDescription(Buffer.from('Größe', 'latin1')), 'Größe')
})

test('no text gives a line end, a control character or half a character', () => {
  let seed = 1
  const next = (below: number) => {
    seed = (seed * 48271) % 2147483647
    return seed % below
  }
  for (let round = 0; round < 500; round++) {
    const bytes = Buffer.from(Array.from({ length: next(80) }, () => next(256)))
    const text = parseDescription(bytes)
    assert.doesNotMatch(text, /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|^\s|\s$/u)
    assert.equal(parseDescription(Buffer.from(text)), text)
  }
  const cut = Buffer.from(`a${'日'.repeat(2000)}`).subarray(0, 4096)
  assert.equal(parseDescription(cut), `a${'日'.repeat(1365)}`)
})
