import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, test } from 'node:test'
import type { CheckResult } from '../../packages/cli/src/commands/doctor/check-result.ts'
import { clientCommandLine } from '../support/client-command-line.ts'
import { commandLine } from '../support/command-line.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { incompressible } from '../support/sample-repositories.ts'
import { type SharedService, untilEnded } from '../support/service.ts'
import { needsMount, smallDisk } from '../support/small-disk.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const MIB = 1024 * 1024
const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname

const fileCleanup = cleanupAfterFile()
let host: GitHost
/** A service on SQLite whose data directory is on a large disk. */
let onLargeDisk: SharedService

before(async () => {
  host = await gitHost()
  fileCleanup.after(host.remove)
  await host.repository('alice/large', { files: { a: incompressible(4 * MIB) } })
  onLargeDisk = await startSharedService(fileCleanup, { repositories: host.root })
})

const exportTo = (file: string) => [
  'export',
  'alice',
  '--repositories',
  host.root,
  '--output',
  file,
]

test(
  'an export to a full disk ends with one line and leaves nothing behind',
  needsMount,
  async (t) => {
    const { godwit, leftovers } = await commandLine(t)
    // Too small for the snapshot of 3.3 MB, and for the snapshot and the segment. The archive is written without the snapshot.
    for (const [megabytes, full] of [
      [1, 'scratch/\\S+/snapshot-'],
      [5, 'blobs/'],
    ] as const) {
      const disk = smallDisk(t, megabytes)
      const file = join(disk.path, 'a.tar.gz')
      const { code, stderr } = await godwit(exportTo(file))
      assert.equal(code, 1, stderr)
      const path = `${disk.path}/\\.godwit-export-\\w+/${full}`
      assertOneLine(
        stderr,
        new RegExp(`^godwit: cannot write ${path}\\S+: no space left on the disk`),
      )
      assert.deepEqual(await readdir(disk.path), [])
    }
    assert.deepEqual(await leftovers(), [])
  },
)

test(
  'on a full disk, serve, doctor and commands name it as the cause, and leave nothing behind',
  needsMount,
  async (t) => {
    const disk = smallDisk(t, 4)
    const { godwit } = await commandLine(t)
    const data = join(disk.path, 'data')
    const flags = ['--data', data, '--repositories', host.root]
    const run = (...command: string[]) => godwit([...command, ...flags])
    const checks = async () => {
      const { stdout } = await run('doctor', '--json')
      return new Map<string, CheckResult>(
        JSON.parse(String(stdout)).checks.map((each: CheckResult) => [each.check, each]),
      )
    }
    assert.equal((await run('sync')).code, 0)
    disk.fill()
    const full = /cannot write \/\S+: no space left on the disk \(\d+ bytes free\)$/
    const { stderr } = await run('serve')
    assertOneLine(stderr, new RegExp(`^godwit: cannot work in the data directory ${data}: `))
    assertOneLine(stderr, full)
    const { found, advice } = (await checks()).get('database')!
    assert.match(found, full)
    assert.match(advice!, /^free some space/)
    for (const command of [['sync'], ['check'], ['lock', 'remove', 'alice/large']])
      assertOneLine((await run(...command)).stderr, /godwit\.sqlite: no space left/)

    const home = join(data, 'git-home')
    rmSync(join(home, '.gitconfig'))
    disk.fill()
    assertOneLine((await run('sync')).stderr, full)
    assert.deepEqual(await readdir(home), [])

    disk.free()
    disk.setReadOnly(true)
    const onReadOnly = await checks()
    for (const check of ['ownership', 'git-home', 'database'])
      assert.equal(onReadOnly.get(check)?.state, 'passed', check)
    assert.match(onReadOnly.get('data')!.found, /read-only file system$/)
    const readOnly = /cannot write \/\S+godwit\.sqlite: read-only file system$/
    assertOneLine((await run('serve')).stderr, readOnly)
  },
)

test('a token that cannot be stored is reported in one line', needsMount, async (t) => {
  const disk = smallDisk(t, 4)
  const { godwit } = await commandLine(t)
  const data = ['--data', join(disk.path, 'data')]
  const { code } = await godwit(['sync', ...data, '--repositories', host.root])
  assert.equal(code, 0)
  disk.fill()
  // The database has some free pages on disk.
  for (let n = 1; ; n++) {
    const { code, stderr } = await godwit(['token', 'add', `user${n}`, ...data])
    if (code === 0 && n < 50) continue
    assertOneLine(stderr, /^godwit: cannot write \/\S+godwit\.sqlite: no space left on the disk/)
    break
  }
  disk.free()
  disk.setReadOnly(true)
  const { stderr } = await godwit(['token', 'add', 'bob', ...data])
  assertOneLine(stderr, /^godwit: cannot write \/\S+godwit\.sqlite: read-only file system$/)
})

for (const engine of ['sqlite', 'postgres'] as const) {
  test(
    `on a full disk, nothing is started, and archives, sessions and tokens can be deleted: ${engine}`,
    needsMount,
    async (t) => {
      const disk = smallDisk(t, 100)
      const data = join(disk.path, 'data')
      mkdirSync(data)
      const service = await startSharedService(t, { repositories: host.root, engine, data })
      const token = await service.token('alice')
      const request = (method: string, path: string, body?: object) =>
        service.call(token, path, {
          method,
          headers: { 'x-godwit-session': '1' },
          ...(body && { body: JSON.stringify(body) }),
        })
      const start = () => request('POST', '/user/migrations', { repositories: ['large'] })
      for (const id of [1, 2]) {
        assert.equal((await start()).status, 201)
        await untilEnded(service, token, id)
      }
      if (engine === 'sqlite')
        await until('space is reserved', () => existsSync(join(data, 'reserve')))

      disk.fill()
      const refused = await start()
      assert.equal(refused.status, 503)
      assert.match(
        await refused.text(),
        /"The server has no disk space left, so nothing was done\./,
      )
      if (engine === 'sqlite') fillDatabase(join(data, 'godwit.sqlite'))
      for (const id of [1, 2])
        assert.equal((await request('DELETE', `/user/migrations/${id}/archive`)).status, 204)
      const opened = await request('POST', '/session', { token })
      assert.equal(opened.status, 201)
      assert.equal((await request('DELETE', '/session')).status, 204)
      if (engine === 'sqlite') fillDatabase(join(data, 'godwit.sqlite'))
      await service.godwit('token', 'remove', '1')
      disk.free()
    },
  )

  test(`nothing is started while the data directory cannot be written: ${engine}`, async (t) => {
    const service =
      engine === 'sqlite'
        ? onLargeDisk
        : await startSharedService(t, { repositories: host.root, engine })
    const token = await service.token('alice')
    const body = JSON.stringify({ repositories: ['large'] })
    const start = () => service.call(token, '/user/migrations', { method: 'POST', body })
    renameSync(service.data, `${service.data}-elsewhere`)
    const { status, headers } = await start()
    renameSync(`${service.data}-elsewhere`, service.data)
    assert.deepEqual([status, headers.get('retry-after')], [503, '10'])
    const migrations = await service.call(token, '/user/migrations')
    assert.deepEqual(await migrations.json(), [])
    assert.equal((await start()).status, 201)
  })
}

test(
  'a download to a full disk says how much it needs, and continues when there is space',
  needsMount,
  async (t) => {
    const service = onLargeDisk
    const token = await service.token('alice')
    const body = JSON.stringify({ repositories: ['large'] })
    const started = await service.call(token, '/user/migrations', { method: 'POST', body })
    const { id } = (await started.json()) as { id: number }
    await untilEnded(service, token, id)
    const { migration } = await clientCommandLine(t, { url: service.url, token })
    const disk = smallDisk(t, 8)
    const folder = join(disk.path, 'downloads')
    mkdirSync(folder)
    const file = join(folder, 'a.tar.gz')
    const download = ['download', String(id), '--output', file]
    disk.fill(2 * MIB)
    const { err } = await migration(1, ...download)
    assert.match(
      err.trimEnd().split('\n').at(-1)!,
      /^godwit: cannot write \/\S+\/a\.tar\.gz\.part: no space left on the disk \(\S+ MB needed, \d+ bytes free\)$/,
    )
    assert.deepEqual((await readdir(folder)).sort(), ['a.tar.gz.part', 'a.tar.gz.part.etag'])
    disk.free()
    assert.match((await migration(0, ...download)).err, /^resuming after /m)
    assert.deepEqual(await readdir(folder), ['a.tar.gz'])
  },
)

test('output that cannot be written is reported in one line', needsMount, (t) => {
  const disk = smallDisk(t, 1)
  disk.fill()
  for (const args of [['completion', 'bash'], ['config'], ['--help']]) {
    const output = openSync(join(disk.path, args[0]!), 'w')
    const { status, stderr } = spawnSync(GODWIT, args, { stdio: ['ignore', output, 'pipe'] })
    assert.equal(status, 1, args.join(' '))
    assertOneLine(
      stderr.toString(),
      /^godwit: cannot write standard output: no space left on the disk$/,
    )
  }
})

/** Writes to the database until it has no space on a full disk: its files have free pages. */
function fillDatabase(file: string): void {
  using database = new DatabaseSync(file)
  const insert = database.prepare(
    "insert into forge_token_checks (digest, result, check_again_at) values (hex(randomblob(?)), 'rejected', 0)",
  )
  for (const bytes of [100_000, 1000, 10]) {
    const fill = () => {
      for (;;) insert.run(bytes)
    }
    assert.throws(fill, /database or disk is full/)
  }
}

function assertOneLine(stderr: string, expected: RegExp): void {
  const lines = stderr
    .trimEnd()
    .split('\n')
    .filter((line) => !/: exported$|^warning: /.test(line))
  assert.equal(lines.length, 1, stderr)
  assert.match(lines[0]!, expected)
}
