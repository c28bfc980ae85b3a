import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { assertFinding, doctor, validSettings } from '../../../../../test/support/doctor-scene.ts'
import { temporaryDirectory } from '../../../../../test/support/sample-repositories.ts'
import { readConfig } from '../../settings/config.ts'
import { checkLfs, checkSnapshots } from './check-repositories.ts'
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

const PROTECTED = '/proc/sys/fs/protected_hardlinks'
const isProtected = () =>
  process.geteuid?.() === 0 && readFileSync(PROTECTED, 'utf8').trim() === '1'

test('snapshots use hard links only if that works for the files of each repository', async (t) => {
  const data = temporaryDirectory(t)
  const objects = ['alice/site', 'bob/notes'].map((name, at) => ({
    name,
    file: join(data, String(at)),
  }))
  for (const { file } of objects) await writeFile(file, 'pack', { mode: 0o444 })
  const config = readConfig({ data }, {})
  const findings = async (some: typeof objects) =>
    (await Array.fromAsync(checkSnapshots(config, some))).map(({ state, found }) => [state, found])
  assert.deepEqual(await findings(objects), [['passed', 'use hard links']])
  assert.deepEqual(await findings([]), [], 'nothing is claimed that was not tried')
  if (!isProtected()) return t.skip('only root, with fs.protected_hardlinks, can forbid hard links')
  await chmod(data, 0o777)
  await chown(objects[0]!.file, 65_534, 65_534)
  const why = 'the system forbids hard links to files of other users (fs.protected_hardlinks)'
  assert.deepEqual(await asOrdinaryUser(() => findings(objects)), [
    ['passed', `use hard links, but copies of bob/notes: ${why}`],
  ])
  assert.deepEqual(await asOrdinaryUser(() => findings(objects.slice(1))), [
    ['passed', `use copies: ${why}`],
  ])
  assert.deepEqual(await readdir(data), ['0', '1'])
})
