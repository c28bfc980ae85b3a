import assert from 'node:assert/strict'
import { readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'

test('a copy into the data directory of the source is refused, and nothing is created', async (t) => {
  const folder = temporaryDirectory(t)
  const godwit = createCommandRunner()
  const data = join(folder, 'data')
  assert.equal((await godwit(['account', 'add', 'alice', '--data', data])).code, 0)
  await symlink(data, join(folder, 'link'))
  const before = await readdir(data)
  for (const to of [
    ['--to', join(data, 'backup')],
    ['--to', join(folder, 'link', 'new', 'backup')],
    ['--to-blobs', join(data, 'blobs')],
  ]) {
    const { code, stderr } = await godwit(['copy', '--online', ...to, '--data', data])
    assert.deepEqual([code, stderr.includes('inside the data directory of the source')], [2, true])
  }
  assert.deepEqual(await readdir(data), before)
})

test('a service that was moved refuses commands until --unmark-source, which prints JSON with --json', async (t) => {
  const folder = temporaryDirectory(t)
  const godwit = createCommandRunner()
  const data = ['--data', join(folder, 'data')]
  assert.equal((await godwit(['account', 'add', 'alice', ...data])).code, 0)
  assert.equal((await godwit(['copy', '--to', join(folder, 'copy'), ...data])).code, 0)
  assert.match((await godwit(['account', 'list', ...data])).stderr, /this service was moved to /)
  const repositories = ['--repositories', temporaryDirectory(t)]
  const doctor = await godwit(['doctor', ...data, ...repositories])
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /this service was moved to .*\n.*`godwit copy --unmark-source`/)
  const { stdout } = await godwit(['copy', '--unmark-source', '--json', ...data])
  assert.deepEqual(JSON.parse(stdout), { source_moved: false })
  assert.equal((await godwit(['account', 'list', ...data])).code, 0)
  assert.equal((await godwit(['doctor', ...data, ...repositories])).code, 0)
  const entriesIn = async (folder: string[]) => {
    const { stdout } = await godwit(['audit', '--json', ...folder])
    const entries = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    return entries.map(({ action, details }) => [action, details.to, details.online])
  }
  const copied = ['service.copy', join(folder, 'copy'), false]
  const [latest, ...earlier] = await entriesIn(data)
  assert.deepEqual([latest![0], earlier[0]], ['service.unmark', copied])
  assert.deepEqual((await entriesIn(['--data', join(folder, 'copy')]))[0], copied)
})
