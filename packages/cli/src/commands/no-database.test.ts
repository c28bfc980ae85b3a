import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { GODWIT, run } from '../../../../test/support/doctor-scene.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { createDatabase } from '../../../../test/support/postgres.ts'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'

/** All commands that need existing data. */
const COMMANDS = [
  ['account', 'list'],
  ['account', 'list', '--json'],
  ['account', 'show', 'alice'],
  ['account', 'edit', 'alice', '--site-admin'],
  ['member', 'list'],
  ['member', 'add', 'octo', 'alice'],
  ['member', 'remove', 'octo', 'alice'],
  ['token', 'list'],
  ['token', 'show', '1'],
  ['token', 'add', 'alice'],
  ['token', 'remove', '7'],
  ['account', 'remove', 'alice'],
  ['member', 'edit', 'octo', 'alice', '--role', 'owner'],
  ['lock', 'list'],
  ['lock', 'list', '--json'],
]

test('a command that needs a database reports that none exists, and creates none', async (t) => {
  const folder = temporaryDirectory(t)
  const godwit = createCommandRunner()
  const data = join(folder, 'nope')
  const databaseUrl = await createDatabase()
  for (const command of COMMANDS) {
    const sqlite = await godwit([...command, '--data', data])
    const shown = `${command.join(' ')}: ${sqlite.stderr}`
    assert.match(
      sqlite.stderr,
      /^godwit: there is no database at \S+\/nope\/godwit\.sqlite: /,
      shown,
    )
    assert.deepEqual([sqlite.code, sqlite.stdout], [1, ''], shown)
    const postgres = await godwit([...command, '--data', data, '--database-url', databaseUrl])
    assert.match(postgres.stderr, /^godwit: postgres:\S+ has no tables of Godwit: /, shown)
    assert.equal(postgres.code, 1, shown)
  }
  for (const command of [['config'], ['settings'], ['version'], ['doctor']])
    await godwit([...command, '--data', data].slice(0, command[0] === 'version' ? 1 : undefined))
  assert.ok(!existsSync(data), 'the data directory was created')
})

test('an account is added, edited and removed, each only if it fits', async (t) => {
  const data = join(temporaryDirectory(t), 'data')
  const godwit = createCommandRunner()
  const account = (...args: string[]) => godwit(['account', ...args, '--data', data])
  const quota = { max_archive_bytes: 'default' }
  const alice = { id: 1, login: 'alice', type: 'User', site_admin: false, ...quota }
  assert.deepEqual(JSON.parse((await account('add', 'alice', '--json')).stdout), alice)
  const again = await account('add', 'Alice', '--site-admin')
  assert.equal(again.code, 1)
  assert.match(again.stderr, /account alice exists already: .*`godwit account edit alice`/)
  const typo = await account('edit', 'alcie', '--site-admin')
  assert.equal(typo.code, 1)
  assert.match(typo.stderr, /account alcie does not exist: check the spelling .*account add alcie/)
  assert.match((await account('edit', 'alice')).stderr, /nothing to change: give --type/)
  assert.match((await account('edit', 'Alice', '--site-admin')).stdout, /alice +User +yes/)
  const listed = JSON.parse((await account('list', '--json')).stdout)
  assert.deepEqual(listed, [{ ...alice, site_admin: true }])

  const alcie = JSON.parse((await account('add', 'alcie', '--json')).stdout)
  assert.equal((await account('remove', 'alcie')).stdout, 'account alcie removed\n')
  await account('add', 'alcie')
  const removed = JSON.parse((await account('remove', 'alcie', '--json')).stdout)
  assert.deepEqual(removed, { ...alcie, id: removed.id, removed: true })
  assert.equal((await account('show', 'alcie')).code, 1)
  await godwit(['token', 'add', 'alice', '--data', data])
  const used = await account('remove', 'alice')
  assert.equal(used.code, 1)
  assert.match(used.stderr, /^godwit: alice has tokens, .* so it is kept/)
  assert.equal((await account('show', 'alice')).code, 0)
})

const isRoot = process.getuid?.() === 0

test('root acts as the owner of the data directory', {
  skip: !isRoot && 'only root can give files away',
}, async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const data = join(temporaryDirectory(t), 'data')
  await mkdir(data, { mode: 0o700 })
  await chown(data, 65_534, 65_534)
  for (const folder of [dirname(host.root), host.root, dirname(data)]) await chmod(folder, 0o755)
  const settings = ['--data', data]
  const source = [...settings, '--repositories', host.root]
  if (spawnSync('test', ['-r', GODWIT], { uid: 65_534 }).status !== 0)
    return t.skip('only the owner of this checkout can run the program')
  await run(GODWIT, ['sync', ...source])
  await run(GODWIT, ['token', 'add', 'alice', ...settings])
  await run(GODWIT, ['check', ...source])
  const made = await readdir(data, { recursive: true })
  assert.ok(made.includes('godwit.sqlite'), `${made}`)
  for (const name of made) assert.equal((await stat(join(data, name))).uid, 65_534, name)
})
