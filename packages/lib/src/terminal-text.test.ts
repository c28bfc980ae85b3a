import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  escapeForTerminal,
  escapeJsonForTerminal,
  escapeJsonLinesForTerminal,
  escapeLinesForTerminal,
} from './terminal-text.ts'

const EVIL = 'a\x1b]0;x\x07b\u009b31mc\u202ed\u2066e\u200ff\x7f\r\n\tg\u2028'
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const UNSAFE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

test('control characters are escaped', () => {
  assert.equal(escapeForTerminal('größe/日本 👩‍💻'), 'größe/日本 👩‍💻')
  assert.equal(escapeForTerminal('\x1b[31m'), '\\u{1b}[31m')
  assert.doesNotMatch(escapeForTerminal(EVIL), UNSAFE)
  assert.ok(!escapeForTerminal(EVIL).includes('\n'))
  assert.equal(escapeLinesForTerminal('a\n\x1bb'), 'a\n\\u{1b}b')
})

test('escaped JSON parses to the same value', () => {
  const text = escapeJsonForTerminal({ [EVIL]: [EVIL, 1] })
  assert.doesNotMatch(text, UNSAFE)
  assert.deepEqual(JSON.parse(text), { [EVIL]: [EVIL, 1] })
})

test('escaped lines of JSON parse to the same values', () => {
  const line = `${JSON.stringify({ [EVIL]: EVIL })}\n`
  assert.doesNotMatch(escapeJsonLinesForTerminal(line), UNSAFE)
  assert.deepEqual(JSON.parse(escapeJsonLinesForTerminal(line)), { [EVIL]: EVIL })
  assert.equal(escapeJsonLinesForTerminal('{"a":"größe 日本 👩‍💻"}\n'), '{"a":"größe 日本 👩‍💻"}\n')
})
