import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { chmod, chown, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import {
  assertFinding,
  doctor,
  doctorCommand,
  validSettings,
} from '../../../../../test/support/doctor-scene.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65_534
const rootOnly = { skip: !isRoot && 'only root can give files away' }
/** Root's commands run as the owner of the data, who must be able to load the program: not below root's own home. */
const needsReadableCheckout = {
  skip: rootOnly.skip || (!isReadableByNobody() && 'nobody may not read this checkout'),
}
const usersOnly = { skip: isRoot && 'root may use every file' }

function isReadableByNobody(): boolean {
  process.seteuid?.(NOBODY)
  try {
    readFileSync(import.meta.filename)
    return true
  } catch {
    return false
  } finally {
    process.seteuid?.(0)
  }
}

async function dataOf(t: Parameters<typeof validSettings>[0]) {
  const settings = await validSettings(t)
  await mkdir(join(settings.data, 'blobs'), { recursive: true, mode: 0o700 })
  await mkdir(join(settings.data, 'git-home'), { mode: 0o700 })
  await writeFile(join(settings.data, 'blobs/segment'), 'bytes', { mode: 0o400 })
  return settings
}

test('a data directory of one user passes', async (t) => {
  const findings = await doctor(await dataOf(t))
  assertFinding(findings, 'ownership', 'passed', /owns 3 files and directories in /)
  assertFinding(findings, 'git-home', 'passed', /permissions are correct$/)
})

test('a data directory behind a symbolic link is checked', async (t) => {
  const settings = await dataOf(t)
  const data = `${settings.data}-link`
  await symlink(settings.data, data)
  const findings = await doctor({ ...settings, data })
  assertFinding(findings, 'ownership', 'passed', /owns 3 files and directories in /)
})

test('files of another user are listed, with the command that repairs it', rootOnly, async (t) => {
  const settings = await dataOf(t)
  await chown(join(settings.data, 'blobs/segment'), NOBODY, NOBODY)
  const findings = await doctor(settings)
  assertFinding(findings, 'ownership', 'warning', /not owned by root: blobs\/segment \(nobody\)$/)
  const { advice } = findings.find(({ check }) => check === 'ownership')!
  assert.match(advice!, /`chown -R root: /)
})

test('root checks as the owner of the data', needsReadableCheckout, async (t) => {
  const settings = await dataOf(t)
  for (const name of ['.', 'blobs', 'git-home'])
    await chown(join(settings.data, name), NOBODY, NOBODY)
  await chmod(join(settings.data, 'git-home'), 0o500)
  await chmod(dirname(settings.data), 0o755)
  const flags = ['--json', '--data', settings.data, '--listen', settings.listen]
  const { code, stdout } = await doctorCommand(flags)
  const { checks } = JSON.parse(stdout)
  assertFinding(checks, 'user', 'passed', /^nobody, the owner of /)
  assertFinding(checks, 'ownership', 'error', /may not use: .*blobs\/segment \(root\)/)
  assertFinding(checks, 'git-home', 'error', /cannot be written$/)
  assert.equal(code, 1)
})

test('files that this user may not use are an error', usersOnly, async (t) => {
  const settings = await dataOf(t)
  await chmod(join(settings.data, 'git-home'), 0o500)
  await chmod(join(settings.data, 'blobs/segment'), 0o000)
  const findings = await doctor(settings)
  assertFinding(findings, 'ownership', 'error', /may not use: blobs\/segment .*git-home/)
  assertFinding(findings, 'git-home', 'error', /cannot be written$/)
})
