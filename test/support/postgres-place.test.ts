import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from './odd-repositories.ts'
import { removeLeftovers } from './postgres-place.ts'

test('what a killed run left is removed; what runs, begins or is not PostgreSQL’s stays', async (t) => {
  const folder = temporaryDirectory(t)
  const make = (name: string, pid?: number) => {
    mkdirSync(join(folder, name, 'data'), { recursive: true })
    if (pid) writeFileSync(join(folder, name, 'data/postmaster.pid'), `${pid}\n/somewhere\n`)
  }
  const { pid: gone } = spawnSync('true')
  make('godwit-postgres-gone', gone)
  make('godwit-postgres-running', process.pid)
  make('godwit-postgres-beginning')
  make('other', gone)
  await removeLeftovers(folder)
  const left = readdirSync(folder).sort()
  assert.deepEqual(left, ['godwit-postgres-beginning', 'godwit-postgres-running', 'other'])
})
