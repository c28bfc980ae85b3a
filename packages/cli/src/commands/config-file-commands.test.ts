import assert from 'node:assert/strict'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertFinding } from '../../../../test/support/doctor-scene.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { createDatabase } from '../../../../test/support/postgres.ts'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'
import { readConfig } from '../settings/config.ts'
import type { ConfigFile } from '../settings/config-file.ts'
import { requireKnownDataDirectory } from './command-line.ts'

test('commands find the data directory through the configuration file', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const folder = temporaryDirectory(t)
  const godwit = createCommandRunner({ cwd: folder })
  for (const [path, text] of [
    ['sqlite', 'data = data\n'],
    ['postgres', `data = data-beside\ndatabase-url = ${await createDatabase()}\n`],
  ] as const) {
    const file = join(folder, path)
    writeFileSync(file, `${text}repositories = ${host.root}\n`)
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await godwit(args)
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
      return stdout
    }
    assert.match(await run('sync', '--config', file), /^1 repository,/)
    assert.match(await run('--config', file, 'token', 'add', 'alice'), /^gwt_/)
    assert.match(await run('token', 'list', '--config', file), /alice/)
    assert.match(await run('token', 'show', '1', '--config', file), /alice/)
    assert.equal(await run('member', 'list', `--config=${file}`), '')
    assert.equal(await run('lock', 'list', '--config', file), '')
    assert.match(await run('check', '--config', file), /^1 passed/)
    await run('lock', 'remove', 'alice/site', '--config', file)
    const { stdout } = await godwit(['account', 'list', '--json'], { GODWIT_CONFIG: file })
    assert.equal(JSON.parse(stdout)[0].login, 'alice')
    const archive = join(folder, `${path}.tar.gz`)
    await run('export', 'alice', '--config', file, '--output', archive)
    assert.ok(existsSync(archive))
  }
  assert.ok(!existsSync(join(folder, 'var')), 'the default data directory was created')
})

test('`config` shows where each value comes from, as text and as JSON', async (t) => {
  const file = join(temporaryDirectory(t), 'config')
  writeFileSync(file, 'vendor = forge\nlog-level = warn\n')
  const godwit = createCommandRunner()
  const { stdout } = await godwit(['config', '--json', '--data', '/d'], {
    GODWIT_CONFIG: file,
    GODWIT_LOG_LEVEL: 'error',
  })
  const { file: read, settings } = JSON.parse(stdout)
  assert.deepEqual(read, { path: file, from: 'environment', state: 'read' })
  const settingOf = (wanted: string) => {
    const found = settings.find(({ name }: { name: string }) => name === wanted)
    return [found.value, found.from, found.at]
  }
  assert.deepEqual(settingOf('data'), ['/d', 'flag', null])
  assert.deepEqual(settingOf('log-level'), ['error', 'environment', null])
  assert.deepEqual(settingOf('vendor'), ['forge', 'file', `${file}:1`])
  assert.deepEqual(settingOf('link-ttl'), ['5m', 'default', null])
  assert.deepEqual(settingOf('forge'), [null, null, null])
})

test('commands find the bucket through the file `environment`, and name what is missing in it', async (t) => {
  const folder = temporaryDirectory(t)
  const GODWIT_CONFIG = join(folder, 'config')
  writeFileSync(GODWIT_CONFIG, 'data = data\nblobs = s3://archives\n')
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('AWS_')),
  )
  const godwit = createCommandRunner({ env })
  const environment = (...lines: string[]) =>
    writeFileSync(join(folder, 'environment'), lines.join('\n'))
  environment('AWS_ENDPOINT_URL=http://127.0.0.1:1', 'GODWIT_VENDOR=forge', 'PATH=/nowhere')
  assert.equal((await godwit(['account', 'add', 'alice'], { GODWIT_CONFIG })).code, 0)
  const { stdout } = await godwit(['config', '--json'], { GODWIT_CONFIG, GODWIT_VENDOR: 'shell' })
  const { settings } = JSON.parse(stdout)
  const vendor = settings.find(({ name }: { name: string }) => name === 'vendor')
  assert.equal(vendor.value, 'shell', 'the environment of the command takes precedence')

  const copy = ['copy', '--to-blobs', 's3://other', '--keep-source']
  for (const args of [['check', '--store', '--lost'], copy]) {
    const { code, stderr } = await godwit(args, { GODWIT_CONFIG })
    assert.equal(code, 1)
    assert.match(stderr, /^godwit: the bucket \(--blobs\) has no region: set AWS_REGION, .*\n$/)
  }
  environment(
    '; for the service',
    'AWS_ENDPOINT_URL=http://127.0.0.1:1',
    'AWS_REGION="here"',
    'AWS_MAX_ATTEMPTS = 1',
    'AWS_ACCESS_KEY_ID=id',
    'AWS_SECRET_ACCESS_KEY=s#cret=',
  )
  for (const args of [['check', '--store', '--lost'], copy]) {
    const { code, stderr } = await godwit(args, { GODWIT_CONFIG })
    assert.equal(code, 4, stderr)
    assert.match(stderr, /^godwit: the bucket: .*ECONNREFUSED.*\n$/)
  }
})

test('a command does nothing if the configuration file has errors', async (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'config')
  writeFileSync(file, `data = ${folder}/data\nlistne = 127.0.0.1:80\nlayout = deep\n`)
  const { code, stderr, stdout } = await createCommandRunner()(['sync', '--config', file])
  assert.deepEqual([code, stdout], [2, ''])
  assert.equal(
    stderr,
    `godwit: ${file}:2: listne: unknown setting; did you mean listen?\n` +
      `godwit: ${file}:3: layout: must be one of owner/name, flat, any-depth\n`,
  )
  assert.ok(!existsSync(join(folder, 'data')))
})

test('the value of a setting matters only to commands that use it', async (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'config')
  const text = `data = ${folder}/data\nlfs-directory = ~/lfs\nlisten = 80\n`
  writeFileSync(file, text)
  const env = { GODWIT_CONFIG: file, GODWIT_RATE_LIMIT: 'none' }
  const godwit = createCommandRunner()
  const added = await godwit(['account', 'add', 'alice'], env)
  assert.equal(added.code, 0, added.stderr)
  const { code, stderr } = await godwit(['serve'], env)
  assert.equal(code, 2)
  for (const named of [`${file}:2: lfs-directory`, `${file}:3: listen`, 'GODWIT_RATE_LIMIT'])
    assert.match(stderr, new RegExp(`^godwit: ${RegExp.escape(named)}: `, 'm'))
  const misspelt = await godwit(['account', 'list'], { ...env, GODWIT_RATE_LIMTI: '1' })
  assert.match(misspelt.stderr, /^godwit: GODWIT_RATE_LIMTI: unknown setting; did you mean/)
  writeFileSync(file, `${text}lisetn = 80\n`)
  const unknown = await godwit(['account', 'list'], env)
  assert.equal(unknown.stderr, `godwit: ${file}:4: lisetn: unknown setting; did you mean listen?\n`)
})

test('doctor warns of secrets in a world-readable file', async (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'config')
  writeFileSync(file, `data = data\ntoken = t0ken\nurl = http://127.0.0.1:1\n`)
  const godwit = createCommandRunner()
  const checks = async () => {
    const { stdout } = await godwit(['doctor', '--json', '--config', file])
    assert.ok(!stdout.includes('t0ken'))
    return JSON.parse(stdout).checks
  }
  assertFinding(await checks(), 'config', 'warning', /every user .* contains secrets: token$/)
  chmodSync(file, 0o640)
  assertFinding(await checks(), 'config', 'passed', /config$/)
})

test('a command refuses to guess the data directory if the configuration file is unreadable', () => {
  const nothing = { settings: new Map(), mistakes: [], exposedSecrets: [] }
  const file: ConfigFile = {
    path: '/etc/godwit/config',
    from: 'default',
    isDenied: true,
    ...nothing,
  }
  const denied = /this user may not read \/etc\/godwit\/config, .* run the command as root or/
  assert.throws(() => requireKnownDataDirectory(readConfig({}, {}, { file })), denied)
  assert.throws(
    () => requireKnownDataDirectory(readConfig({ vendor: 'forge' }, {}, { file })),
    denied,
  )
  for (const [flags, env] of [
    [{ data: '/d' }, {}],
    [{}, { GODWIT_DATA: '/d' }],
    [{ databaseUrl: 'postgres://db/godwit' }, {}],
  ] as const)
    assert.ok(requireKnownDataDirectory(readConfig(flags, env, { file })))
})
