import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { readableLine } from './readable-line.ts'

const TIME = '2026-11-15T23:17:05.123Z'
const shown = (line: object) => stripVTControlCharacters(readableLine(JSON.stringify(line)))

test('a line has time, level and message, and what the message does not say', () => {
  const line = { level: 30, time: TIME, method: 'GET', status: 200, login: null, msg: 'request' }
  assert.equal(shown(line), '2026-11-15 23:17:05 INFO  request  method=GET status=200\n')
})

test('what the message says is not said again', () => {
  const reason = 'objects/ab is damaged'
  const fields = { migration: 7, repository: 'alice/site', reason }
  const msg = `alice/site could not be exported: ${reason}`
  assert.equal(
    shown({ level: 40, time: TIME, ...fields, msg }),
    `2026-11-15 23:17:05 WARN  ${msg}  migration=7\n`,
  )
})

test('an error has its stack below, and nothing can steer the terminal', () => {
  const err = { stack: 'Error: \u001b[2Jgone\n    at here' }
  const text = shown({ level: 50, time: TIME, err, msg: 'job \u001b[31mfailed' })
  assert.equal(
    text,
    '2026-11-15 23:17:05 ERROR job \\u{1b}[31mfailed\n    Error: \\u{1b}[2Jgone\n        at here\n',
  )
})
