import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { RULES } from './known-differences.ts'

test('the guide lists exactly the differences that are known', async () => {
  const guide = await readFile(new URL('../../../docs/MOVING.md', import.meta.url), 'utf8')
  const [, table = ''] =
    /<!-- known differences -->\n([\s\S]*?)<!-- \/known differences -->/.exec(guide) ?? []
  const [, ...listed] = table
    .split('\n')
    .flatMap((line) => /^\| .* \| (.*) \|$/.exec(line)?.[1] ?? [])
  assert.deepEqual(listed, [...new Set(RULES.map(({ reason }) => reason))])
})
