import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  commandBlocks,
  godwitCalls,
  inlineCommands,
  unknownWords,
  usageErrorOf,
} from './support/docs-commands.ts'

/** test/long/docs-commands.test.ts runs their commands. */
const PAGES = ['README.md', 'docs/FIRST-DAY.md', 'docs/OPERATIONS.md']

test('every godwit command in a code block of the documentation is valid', async () => {
  let calls = 0
  for (const page of PAGES) {
    for (const { steps } of await commandBlocks(page)) {
      for (const words of steps.flatMap(({ command }) => godwitCalls(command))) {
        calls++
        assert.equal(await usageErrorOf(words), undefined, `${page}: godwit ${words.join(' ')}`)
      }
    }
  }
  assert.ok(calls > 25, `${calls} were found`)
  assert.match((await usageErrorOf(['token', 'add'])) ?? '', /missing required argument/)
  assert.match((await usageErrorOf(['sync', '--nonsense'])) ?? '', /unknown option/)
})

test('the tour works beside `npm start`, and its second terminal needs no variables of the first', async () => {
  const blocks = (await commandBlocks('README.md')).map(({ steps }) => steps)
  const first = blocks.findIndex((steps) => steps.some(({ command }) => command === SERVE))
  const settings = blocks[first]!.find(({ command }) => command.startsWith('export '))!.command
  const [, port = '3000'] = /GODWIT_LISTEN=127\.0\.0\.1:(\d+)/.exec(settings) ?? []
  assert.notEqual(port, '3000', 'the port of `npm start`')
  const others = blocks
    .slice(first + 1)
    .flat()
    .map(({ command }) => command)
  assert.ok(others.length > 10)
  for (const command of others) {
    for (const [, other] of command.matchAll(/127\.0\.0\.1:(\d+)/g)) assert.equal(other, port)
    if (/godwit (export|check|sync|doctor|serve)\b/.test(command))
      assert.match(command, / --repositories /)
  }
})

const SERVE = 'bin/godwit serve'

test('every godwit command in the text of the documentation has a known name and flags', async () => {
  let calls = 0
  for (const page of [
    ...PAGES,
    'docs/COMMANDS.md',
    'docs/MOVING.md',
    'docs/GEI.md',
    'docs/FORGE.md',
    'docs/SECURITY.md',
    'docs/SETTINGS.md',
  ]) {
    for (const words of (await inlineCommands(page)).flatMap(godwitCalls)) {
      calls++
      assert.deepEqual(await unknownWords(words), [], `${page}: godwit ${words.join(' ')}`)
    }
  }
  assert.ok(calls > 30, `${calls} were found`)
  assert.deepEqual(await unknownWords(['tokens', 'list']), ['tokens'])
  assert.deepEqual(await unknownWords(['token', 'revoke', '7']), ['revoke'])
  assert.deepEqual(await unknownWords(['token', 'list', '--nonsense']), ['--nonsense'])
})
