import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { assertFinding, doctor, validSettings } from '../../../test/support/doctor-scene.ts'
import { temporaryDirectory } from '../../../test/support/sample-repositories.ts'
import { readConfig } from '../../settings/config.ts'
import { checkLfs } from './check-repositories.ts'
import type { CheckResult } from './check-result.ts'

const check = (lfsDirectory: string) =>
  Array.fromAsync(checkLfs(readConfig({ lfsDirectory }, { PATH: process.env.PATH })))

/** Root can read everything, so the test switches to another user for a moment. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work()
  process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

/** Checks an LFS directory of which this part cannot be read. */
async function checkClosed(t: TestContext, part: string): Promise<CheckResult[]> {
  const base = temporaryDirectory(t)
  await chmod(base, 0o755)
  const lfs = join(base, 'lfs')
  for (const folder of ['ab/cd', 'ef/01']) await mkdir(join(lfs, folder), { recursive: true })
  await chmod(join(lfs, part), 0)
  try {
    return await asOrdinaryUser(() => check(lfs))
  } finally {
    // An ordinary user could not remove it otherwise.
    await chmod(join(lfs, part), 0o700)
  }
}

test('a readable LFS directory passes', async (t) => {
  const lfsDirectory = temporaryDirectory(t)
  assertFinding(
    await doctor({ ...(await validSettings(t)), lfsDirectory }),
    'lfs',
    'passed',
    /, readable$/,
  )
})

test('an LFS directory that does not exist, or is a file, is an error', async (t) => {
  const base = temporaryDirectory(t)
  assertFinding(await check(join(base, 'gone')), 'lfs', 'error', /gone: ENOENT/)
  await writeFile(join(base, 'file'), '')
  assertFinding(await check(join(base, 'file')), 'lfs', 'error', /file: ENOTDIR/)
})

test('an unreadable LFS directory is an error, and an unreadable folder in it a warning', async (t) => {
  assertFinding(await checkClosed(t, '.'), 'lfs', 'error', /lfs: EACCES/)
  assertFinding(await checkClosed(t, 'ab'), 'lfs', 'warning', /lfs: cannot be read: ab$/)
})
