import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readmeWithTable } from '../scripts/settings-table.ts'

test("the README's table of settings is the one the code has", async () => {
  const { before, after } = await readmeWithTable()
  assert.equal(before, after, 'run `node scripts/settings-table.ts`')
})
