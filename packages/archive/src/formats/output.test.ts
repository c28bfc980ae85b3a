import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/archive-samples.ts'
import { moveDurably, moveTo } from './output.ts'

test('a failed move leaves everything as it was before', async (t) => {
  const folder = await temporaryFolder(t)
  const from = join(folder, 'from')
  await mkdir(from)
  await mkdir(join(folder, 'empty'))
  for (const owner of ['empty', 'new']) {
    const tooLong = join(folder, owner, 'x'.repeat(300))
    await assert.rejects(
      moveDurably(join(folder, owner), () => moveTo(from, tooLong)),
      { code: 'ENAMETOOLONG' },
    )
  }
  assert.deepEqual(readdirSync(folder).sort(), ['empty', 'from'])
  const to = join(folder, 'new/to')
  await moveDurably(join(folder, 'new'), () => moveTo(from, to))
  assert.ok(existsSync(to))
})

test('an error while undoing does not hide the first error', async (t) => {
  const owner = join(await temporaryFolder(t), 'owner')
  const move = async () => {
    await rmdir(owner)
    await writeFile(owner, '')
    throw new Error('the disk is gone')
  }
  await assert.rejects(
    moveDurably(owner, move),
    /^Error: the disk is gone; undoing it failed too: ENOTDIR/,
  )
})
