import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from './odd-repositories.ts'
import { removeLeftovers } from './place-in-memory.ts'

test('what a killed run left is removed; what belongs to a running one, or to no run, stays', async (t) => {
  const folder = temporaryDirectory(t)
  const { pid: gone } = spawnSync('true')
  const running = [`godwit-postgres-${process.pid}-a`, `godwit-tests-${process.pid}-b`]
  const others = ['godwit-tests', `other-${gone}-c`]
  for (const name of [
    `godwit-postgres-${gone}-a`,
    `godwit-tests-${gone}-b`,
    ...running,
    ...others,
  ]) {
    mkdirSync(join(folder, name, 'data'), { recursive: true })
  }
  await removeLeftovers(folder)
  assert.deepEqual(readdirSync(folder).sort(), [...running, ...others].sort())
})
