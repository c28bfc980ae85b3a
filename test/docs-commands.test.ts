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
