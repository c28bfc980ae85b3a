import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inTime } from '../../test/support/wait-until.ts'
import { DataDirectoryInUse, lockDataDirectory } from './data-directory-lock.ts'

test('a data directory serves one server, until it lets go', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-lock-'))
  t.after(() => rm(dir, { recursive: true }))
  const letGo = lockDataDirectory(dir)
  assert.throws(() => lockDataDirectory(dir), DataDirectoryInUse)
  letGo()
  lockDataDirectory(dir)()
})

test('kill -9 lets go of the data directory', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-lock-'))
  t.after(() => rm(dir, { recursive: true }))
  const module = new URL('./data-directory-lock.ts', import.meta.url).href
  const holder = spawn(process.execPath, [
    '--input-type=module',
    '-e',
    `const { lockDataDirectory } = await import(${JSON.stringify(module)})
     lockDataDirectory(${JSON.stringify(dir)}); console.log('locked'); setInterval(() => {}, 1000)`,
  ])
  await inTime('the holder has it', once(holder.stdout, 'data'))
  assert.throws(() => lockDataDirectory(dir), DataDirectoryInUse)
  holder.kill('SIGKILL')
  await inTime('the holder is dead', once(holder, 'exit'))
  lockDataDirectory(dir)()
})
