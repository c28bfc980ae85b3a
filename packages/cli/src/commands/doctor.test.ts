import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { commandLine } from '../../../../test/support/command-line.ts'
import {
  assertFinding,
  doctor,
  doctorCommand,
  errorsAmong,
  type Flags,
  findResult,
  GODWIT,
  run,
  validSettings,
} from '../../../../test/support/doctor-scene.ts'
import { DAMAGED_REPOSITORIES } from '../../../../test/support/export-damage.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { createDatabase } from '../../../../test/support/postgres.ts'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'
import { startSharedService } from '../../../../test/support/start-shared-service.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { NEWEST_SCHEMA } from '../../../server/src/db/upgrade.ts'
import { checkFreeSpace } from './doctor/check-data.ts'
import { clockResult } from './doctor/check-database.ts'
import { checkClock } from './doctor/check-machine.ts'

test('all checks pass, and no files are left behind', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' }, wiki: { 'Home.md': 'home' } })
  await host.repository('octo/tools', { files: { b: 'b' } })
  const service = await startSharedService(t, { repositories: host.root })
  const { host: listen } = new URL(service.url)
  const settings = { data: service.data, repositories: host.root, listen }
  const busy = await doctor(settings)
  assertFinding(busy, 'listen', 'passed', /^a service runs at/)
  assertFinding(busy, 'database', 'passed', new RegExp(`, schema ${NEWEST_SCHEMA}$`))

  assertFinding(busy, 'trusted-proxies', 'passed', /forwarded/)
  await fetch(`${service.url}/user`, { headers: { 'x-forwarded-for': '203.0.113.7' } })
  assertFinding(
    await doctor(settings),
    'trusted-proxies',
    'warning',
    /^1 request with x-forwarded-for/,
  )

  await service.stop()
  const before = await contents(service.data, host.root)
  const findings = await doctor(settings)
  assert.deepEqual(errorsAmong(findings), [])
  assertFinding(findings, 'git', 'passed', /^\d+\.\d+\S*, at \/\S+$/)
  assertFinding(findings, 'data', 'passed', /, writable$/)
  assertFinding(findings, 'repositories', 'passed', /^2 repositories of 2 owners in /)
  assertFinding(findings, 'locks', 'passed', /can be locked/)
  assertFinding(findings, 'database', 'passed', new RegExp(`, schema ${NEWEST_SCHEMA}$`))
  assertFinding(findings, 'listen', 'passed', /is free$/)
  assert.deepEqual(await contents(service.data, host.root), before)
})

/** Returns all files with their content, to compare them later. */
async function contents(...directories: string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const directory of directories) {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name)
      found[path] = entry.isFile() ? await readFile(path, 'latin1') : ''
    }
  }
  return found
}

describe('the command', () => {
  test('prints a mark, the result and advice, and exits 1 after an error', async (t) => {
    const { data, listen } = await validSettings(t)
    const folder = temporaryDirectory(t)
    const flags = ['--data', data, '--listen', listen]
    const { code, stdout } = await doctorCommand(flags, { PATH: folder })
    assert.match(stdout, /^✓ node +\d+\.\d+\.\d+, at \S+$/m)
    assert.match(stdout, /^✗ git +no git in \S+\n +→ install git 2\.30 or newer/m)
    assert.match(stdout, /^\d+ passed, \d+ warnings?, 1 error$/m)
    assert.equal(code, 1)
  })

  test('prints JSON, and exits 0 if there are only warnings', async (t) => {
    const { data, listen } = await validSettings(t)
    await mkdir(data)
    await chmod(data, 0o755)
    const { code, stdout } = await doctorCommand(['--json', '--data', data, '--listen', listen])
    const { errors, warnings, checks } = JSON.parse(stdout)
    assertFinding(checks, 'data', 'warning', /can be read by other users/)
    assert.deepEqual([errors, warnings > 0, code], [0, true, 0])
  })

  test('keeps its exit code when the reader closes the pipe', async (t) => {
    const { data, listen } = await validSettings(t)
    const command = 'set -o pipefail; "$@" | true; echo $?'
    const order = [GODWIT, 'doctor', '--data', data, '--listen', listen, '--git', '/nowhere/git']
    const { stdout, stderr } = await run('bash', ['-c', command, 'bash', ...order])
    assert.deepEqual([stdout, stderr], ['1\n', ''])
  })

  test('leaves no files behind when it is interrupted', async (t) => {
    const { folder, start, leftovers } = await commandLine(t)
    const [git, started] = [join(folder, 'git'), join(folder, 'started')]
    await writeFile(git, `#!/bin/sh\ntouch ${started}\nsleep 1\n`, { mode: 0o755 })
    const command = start(['doctor', '--git', git, '--data', join(folder, 'data')])
    await until('git is started', () => existsSync(started))
    command.kill('SIGINT')
    const { code, stderr } = await command.result
    assert.deepEqual([code, stderr], [130, 'godwit: stopped; no unfinished files are left\n'])
    assert.deepEqual(await leftovers(), [])
  })

  test('warns of a low limit of open files', async (t) => {
    const { data, listen } = await validSettings(t)
    const limited = async (max: number) => {
      const order = ['-c', `ulimit -n ${max}; exec "$@"`, 'sh', GODWIT, 'doctor', '--json']
      const ended = await run('sh', [...order, '--data', data, '--listen', listen]).catch(
        (error) => error,
      )
      return findResult(JSON.parse(ended.stdout).checks, 'open files').state
    }
    assert.equal(await limited(512), 'warning')
    assert.equal(await limited(128), 'error')
  })
})

describe('git', () => {
  for (const [version, state] of [
    ['git version 2.29.9', 'error'],
    ['git version 1.99.0', 'error'],
    ['git version 2.30.0', 'passed'],
    ['git version 3.0.1 (Vendor 7)', 'passed'],
    ['something else', 'error'],
  ] as const) {
    test(`that says "${version}"`, async (t) => {
      const git = join(temporaryDirectory(t), 'git')
      await writeFile(git, `#!/bin/sh\necho '${version}'\n`, { mode: 0o755 })
      const findings = await doctor({ ...(await validSettings(t)), git })
      assertFinding(findings, 'git', state, new RegExp(`at ${git}|printed`))
    })
  }

  test('that is not a program', async (t) => {
    const git = join(temporaryDirectory(t), 'git')
    await writeFile(git, '')
    assertFinding(await doctor({ ...(await validSettings(t)), git }), 'git', 'error', /EACCES/)
  })
})

describe('the data directory', () => {
  test('where a file exists instead', async (t) => {
    const settings = await validSettings(t)
    await writeFile(settings.data, '')
    assertFinding(await doctor(settings), 'data', 'error', /is not a directory$/)
  })

  test('that cannot be created', async (t) => {
    const findings = await doctor({ ...(await validSettings(t)), data: '/proc/godwit' })
    assertFinding(findings, 'data', 'error', /cannot be written/)
  })

  test('on a disk without free space or files', () => {
    const plenty = { bsize: 4096, bavail: 1e9, files: 1e6, ffree: 1e6 }
    assert.equal(checkFreeSpace(plenty).state, 'passed')
    assert.equal(checkFreeSpace({ ...plenty, bavail: 200_000 }).state, 'warning')
    assert.equal(checkFreeSpace({ ...plenty, bavail: 1000 }).state, 'error')
    assert.equal(checkFreeSpace({ ...plenty, ffree: 9999 }).state, 'warning')
    assert.equal(checkFreeSpace({ ...plenty, ffree: 3 }).state, 'error')
    assert.equal(checkFreeSpace({ ...plenty, files: 0, ffree: 0 }).state, 'passed')
  })
})

describe('repositories', () => {
  test('in a directory that does not exist, or in a file', async (t) => {
    const settings = await validSettings(t)
    const missing = await doctor({ ...settings, repositories: `${settings.data}/nowhere` })
    const reason = /the directory of repositories: it does not exist$/
    assertFinding(missing, 'repositories', 'error', reason)
    assert.match(findResult(missing, 'repositories').advice ?? '', /^create it/)
    const file = await doctor({ ...settings, repositories: import.meta.filename })
    assertFinding(file, 'repositories', 'error', /: a file where a directory should be$/)
  })

  test('that cannot be opened, served or locked are listed', async (t) => {
    await using host = await gitHost()
    for (const name of ['alice/good', 'alice/cut', 'alice/held', 'bob/x', 'BOB/y']) {
      await host.repository(name, { files: { a: 'a' } })
    }
    await host.write(host.path('alice/cut'), 'config', '[core\nnonsense')
    await host.write(host.path('alice/held'), 'config.lock', '')
    await mkdir(join(host.root, 'alice/empty.git'))
    const findings = await doctor({ ...(await validSettings(t)), repositories: host.root })
    assertFinding(findings, 'repositories', 'warning', /cannot be opened: alice\/cut \(/)
    assertFinding(findings, 'locks', 'warning', /alice\/held \(config\.lock exists\)/)
    const texts = findings.map(({ found }) => found)
    assert.ok(texts.includes('skipped: alice/empty.git (not a bare git repository)'), `${texts}`)
    assert.ok(texts.includes('names differ only in case: bob and BOB'), `${texts}`)
    assert.deepEqual(errorsAmong(findings), [], 'errors in some do not stop the rest')
  })

  test('that the last sync, check or export found damaged are named', async (t) => {
    await using host = await gitHost()
    for (const name of ['alice/good', 'alice/cut'])
      await host.repository(name, { files: { a: 'a' } })
    // A sync does not read this object.
    await mkdir(join(host.root, 'bob'))
    DAMAGED_REPOSITORIES['lost-blob']!.make(host.path('bob/lost'))
    const settings = { ...(await validSettings(t)), repositories: host.root }
    const flags = ['--data', settings.data, '--repositories', host.root]
    const godwit = createCommandRunner()
    const before = await doctor(settings)
    assertFinding(before, 'repositories', 'passed', /^3 repositories .*, all can be opened$/)
    assert.equal((await godwit(['sync', ...flags])).code, 0)
    assertFinding(await doctor(settings), 'damage', 'passed', /^none known/)

    assert.equal((await godwit(['check', 'bob', ...flags])).code, 1)
    const checked = await doctor(settings)
    assertFinding(checked, 'damage', 'warning', /^1 repository cannot be .*: bob\/lost$/)

    await host.loseObjects('alice/cut')
    const synced = await godwit(['sync', ...flags])
    assert.match(synced.stdout, /^failed: alice\/cut: /m)
    assert.match(synced.stderr, /1 of 3 repositories cannot be read/)
    assert.equal(synced.code, 1)
    const { found } = findResult(await doctor(settings), 'damage')
    assert.match(found, /^2 repositories cannot be read or exported: alice\/cut, bob\/lost$/)
  })

  test('that are not set are a warning: the sample is served', async (t) => {
    assertFinding(
      await doctor(await validSettings(t)),
      'repositories',
      'warning',
      /built-in sample/,
    )
  })

  test('that are locked by no migration, or cannot be locked, are listed', async (t) => {
    await using host = await gitHost()
    for (const name of ['alice/good', 'alice/left', 'alice/open']) {
      await host.repository(name, { files: { a: 'a' }, wiki: { 'Home.md': 'a' } })
    }
    const stray = { dir: host.path('alice/left.wiki') }
    await host.git(['config', 'receive.hideRefs', 'refs/'], stray)
    const dir = host.path('alice/open')
    await host.git(['config', 'receive.hideRefs', 'refs'], { dir })
    await host.git(['config', 'extensions.worktreeConfig', 'true'], { dir })
    await host.write(dir, 'config.worktree', '[receive]\n\thideRefs = !refs/\n')
    const findings = await doctor({ ...(await validSettings(t)), repositories: host.root })
    const locks = findings.filter(({ check }) => check === 'locks')
    assert.deepEqual(
      locks.map(({ found }) => found),
      [
        'cannot be locked: alice/open (its config.worktree shows refs again that a lock hides)',
        'locked by no migration: alice/left',
      ],
    )
    assert.match(locks[1]!.advice ?? '', /godwit lock remove OWNER\/NAME/)
  })

  const isRoot = process.getuid?.() === 0
  test('of another user', { skip: !isRoot && 'only root can give files away' }, async (t) => {
    await using host = await gitHost()
    await chown(await host.repository('alice/site', { files: { a: 'a' } }), 65_534, 65_534)
    const findings = await doctor({ ...(await validSettings(t)), repositories: host.root })
    assertFinding(findings, 'repositories', 'passed', /^1 repository of 1 owner in/)
  })

  test('that are not set, although a worker of a cluster needs them', async (t) => {
    const findings = await doctor({
      ...(await validSettings(t)),
      databaseUrl: await createDatabase(),
    })
    assertFinding(findings, 'repositories', 'error', /^not set$/)
  })
})

test('a wrong clock, or one that differs from another machine, is reported', () => {
  assert.equal(checkClock(0).state, 'error')
  assert.equal(checkClock(Date.now()).state, 'passed')
  assert.equal(clockResult('clock', 1900, 0).state, 'passed')
  assert.equal(clockResult('clock', -9000, 8000).state, 'passed')
  assert.match(clockResult('clock', -9000, 10).found, /^9\.0 s behind this machine$/)
  assert.equal(clockResult('clock', 9000, 10).state, 'warning')
  assert.equal(clockResult('clock', 90_000, 10).state, 'error')
})

describe('addresses', () => {
  for (const [given, state, found] of [
    [{ listen: '0.0.0.0:3999' }, 'error', /not an address that clients can reach/],
    [{ listen: '0.0.0.0:3999', baseUrl: 'http://localhost:1' }, 'warning', /only on this machine/],
    [{ baseUrl: 'http://192.0.2.1' }, 'warning', /tokens without encryption/],
    [{ baseUrl: 'https://godwit.invalid' }, 'warning', /cannot be resolved/],
    [{ baseUrl: 'https://192.0.2.1' }, 'warning', /address of a proxy/],
    [{ baseUrl: 'https://192.0.2.1', trustedProxies: '192.0.2.1' }, 'passed', /^https/],
  ] satisfies [Flags, string, RegExp][]) {
    test(Object.entries(given).join(' '), async (t) => {
      assertFinding(
        await doctor({ ...(await validSettings(t)), ...given }),
        'base-url',
        state,
        found,
      )
    })
  }

  test('that another program uses', async (t) => {
    const server = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello')).listen(0)
    t.after(() => server.close())
    const { port } = server.address() as { port: number }
    const findings = await doctor({ ...(await validSettings(t)), listen: `127.0.0.1:${port}` })
    assertFinding(findings, 'listen', 'error', /is used by another program/)
  })
})
