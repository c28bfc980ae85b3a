import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/archive-samples.ts'
import { withTimeout } from '../../../../test/support/wait-until.ts'
import { createScratch, sweepScratch } from './scratch.ts'

const A_DAY = 86_400_000

/** Starts a process that creates a scratch directory and keeps running. */
async function anotherProcess(root: string) {
  const module = new URL('./scratch.ts', import.meta.url).href
  const code = `import { createScratch } from '${module}'
    const { directory } = await createScratch('${root}')
    console.log(directory)
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code])
  const [path] = await withTimeout('the other process has a directory', once(child.stdout, 'data'))
  return { child, directory: String(path).trim() }
}

test('the directory of a killed process is removed, that of a running one stays', async (t) => {
  const root = join(await temporaryFolder(t), 'scratch')
  const [dead, alive] = [await anotherProcess(root), await anotherProcess(root)]
  t.after(() => alive.child.kill('SIGKILL'))
  const own = await createScratch(root)
  for (const { directory } of [dead, alive, own]) {
    await mkdir(join(directory, 'snapshot'))
    await writeFile(join(directory, 'snapshot', 'pack'), 'bytes')
  }
  dead.child.kill('SIGKILL')
  await withTimeout('the other process is dead', once(dead.child, 'exit'))

  await sweepScratch(root, A_DAY)
  assert.ok(!existsSync(dead.directory))
  for (const { directory } of [alive, own])
    assert.ok(existsSync(join(directory, 'snapshot', 'pack')), directory)
  // A locked directory stays at any age.
  await sweepScratch(root, 0)
  assert.equal((await readdir(root)).length, 2)
  await own.release()
  assert.deepEqual(await readdir(root), [alive.directory.slice(root.length + 1)])
})

test('a directory without lock is removed by age', async (t) => {
  const root = await temporaryFolder(t)
  await mkdir(join(root, 'snapshot-abc'))
  await sweepScratch(root, A_DAY)
  assert.deepEqual(await readdir(root), ['snapshot-abc'])
  await sweepScratch(root, 0)
  assert.deepEqual(await readdir(root), [])
})
