import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type ClientCommandLine, clientCommandLine } from '../support/client-command-line.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { type Service, startService } from '../support/service.ts'
import { type SlowGit, slowGit } from '../support/slow-git.ts'
import { until, withTimeout } from '../support/wait-until.ts'

async function fetchArchive(service: Service, token: string, id: number): Promise<Buffer> {
  const { headers } = await service.call(token, `/user/migrations/${id}/archive`)
  return Buffer.from(await (await fetch(headers.get('location')!)).arrayBuffer())
}

const fileCleanup = cleanupAfterFile()
let host: GitHost
/** Fast unless a test slows it down. */
let git: SlowGit
let service: Service
let token: string
let client: ClientCommandLine

before(async () => {
  host = await gitHost()
  fileCleanup.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' }, public: true })
  await host.repository('alice/tools', { files: { a: '2' } })
  git = await slowGit()
  fileCleanup.after(git.remove)
  await git.speedUp()
  const flags = ['--git', git.program]
  service = await startService(fileCleanup, { repositories: host.root, flags })
  token = await service.token('alice')
  client = await clientCommandLine(fileCleanup, { url: service.url, token })
})

test('the client runs a migration from start to deletion', async () => {
  const { migration, folder } = client

  const forecast = await migration(0, 'start', 'site', 'alice/tools', '--preflight')
  assert.match(forecast.out, /^REPOSITORY +SIZE +RESULT\nalice\/site .* exported\nalice\/tools /)
  assert.match(forecast.err, /nothing was started/)
  const none = await migration(0, 'list')
  assert.deepEqual([none.out, none.err], ['', 'no migrations yet\n'])
  assert.equal((await migration(0, 'list', '--json')).out, '[]')

  const started = await migration(
    0,
    'start',
    'site',
    'alice/tools',
    '--lock-repositories',
    '--watch',
  )
  assert.equal(started.out, '1')
  assert.match(started.err, /^exported: alice\/site, \d+ bytes$/m)
  assert.match(started.err, /^migration 1 is exported: 2 of 2 repositories$/m)
  assert.ok(!started.err.includes('\x1b'), 'escape sequences without a terminal')

  assert.match((await migration(0, 'list')).out, /^ID .*\n1 +exported +2 +.+ +yes$/)
  const [listed] = JSON.parse((await migration(0, 'list', '--json')).out)
  assert.deepEqual([listed.id, listed.state], [1, 'exported'])
  const shown = JSON.parse((await migration(0, 'show', '1', '--json')).out)
  assert.deepEqual(
    [shown.guid, shown.lock_repositories, shown.repositories.length],
    [listed.guid, true, 2],
  )
  assert.ok(!('temp_clone_token' in shown.repositories[0]), 'a credential was printed')
  assert.match((await migration(0, 'show', '1')).out, /^Migration 1 is exported\.\n/)
  assert.match((await migration(0, 'show', '1')).out, /^options +lock repositories$/m)
  const repositories = await migration(0, 'repositories', '1')
  assert.match(repositories.out, /^alice\/site +public/m)
  assert.match(repositories.out, /^alice\/tools +private/m)
  assert.match((await migration(0, 'report', '1')).out, /2 exported/)

  const unlocked = await migration(0, 'unlock', '1', 'Alice/Site', 'tools')
  assert.equal(unlocked.out, 'unlocked: alice/site\nunlocked: alice/tools')
  assert.doesNotMatch(await service.godwit('lock', 'list'), /alice/)
  assert.match((await migration(3, 'unlock', '1', 'site')).err, /site is not locked by migration 1/)
  assert.match((await migration(2, 'unlock', '1', 'nope')).err, /1 does not include nope/)

  const download = JSON.parse((await migration(0, 'download', '1', '--json')).out)
  assert.deepEqual([download.id, download.checked_by], [1, 'digests'])
  const file = join(folder, `migration-1-alice-${shown.created_at.slice(0, 10)}.tar.gz`)
  assert.deepEqual(await readFile(file), await fetchArchive(service, token, 1))
  assert.match(
    (await migration(1, 'download', '1')).err,
    /exists already; use --force to replace it/,
  )
  const verified = await migration(0, 'download', '1', '--force', '--verify')
  assert.match(verified.out, /is intact: 2 repositories verified$/)

  await migration(0, 'delete', '1')
  assert.match((await migration(0, 'show', '1')).out, /^archive +deleted or expired$/m)
  assert.match(
    (await migration(3, 'download', '1', '--force')).err,
    /migration 1 has no archive: it was deleted or has expired; .*archive returned 404\)/,
  )
  assert.equal((await readFile(file)).length, download.bytes)

  assert.equal((await migration(0, 'start', '--all', '--name', 'The move')).out, '2')
  const all = JSON.parse((await migration(0, 'repositories', '2', '--json')).out)
  assert.deepEqual(all.map((each: { full_name: string }) => each.full_name).sort(), [
    'alice/site',
    'alice/tools',
  ])
  await migration(0, 'watch', '2')
  assert.match((await migration(0, 'list')).out, / NAME\n2 +exported .* The move\n1 .* -$/)
  assert.match((await migration(0, 'show', '2')).out, /^name +The move$/m)
  const both = JSON.parse((await migration(0, 'list', '--json')).out)
  assert.deepEqual(
    both.map(({ name }: { name: string | null }) => name),
    ['The move', null],
  )
  assert.equal(JSON.parse((await migration(0, 'show', '2', '--json')).out).name, 'The move')
  const named = await migration(0, 'download', '2')
  assert.match(named.out, /migration-2-alice-The-move-\d{4}-\d\d-\d\d\.tar\.gz/)
})

test('a failed migration sets the exit code, and retry, report and cancel work', async () => {
  const { migration } = client
  await host.loseObjects('alice/site')

  const failed = await migration(1, 'start', 'site', 'tools', '--watch')
  assert.equal(failed.out, '3')
  assert.match(failed.err, /^failed: alice\/site: /m)
  assert.match(failed.err, /^godwit: migration 3 failed.*`godwit migration report 3`/m)
  assert.match((await migration(0, 'report', '3')).out, /failed {3}alice\/site: /)
  await host.recreate('alice/site', { a: '1' })
  const shown = (await migration(0, 'show', '3')).out
  assert.match(shown, /^Migration 3 failed\.\n/)
  assert.equal(shown.match(/^ {2}failed: alice\/site: .+$/gm)?.length, 1, shown)
  assert.equal((await migration(0, 'status', '3')).out, shown)
  assert.match(
    (await migration(3, 'download', '3')).err,
    /3 has no archive: it failed or was cancelled; `godwit migration show 3` shows the reason/,
  )
  assert.match((await migration(3, 'download', '99')).err, /has no migration 99 for this account/)
  const retried = await migration(0, 'retry', '3', '--watch')
  assert.equal(retried.out, '4')
  assert.match(retried.err, /^exported: alice\/site/m)

  await git.slowDown()
  await host.commit(host.path('alice/site'), { b: '2' })
  assert.equal((await migration(0, 'start', 'site')).out, '5')
  await git.untilSlow()
  assert.equal((await migration(0, 'cancel', '5')).out, 'migration 5 cancelled')
  assert.match((await migration(1, 'watch', '5')).err, /migration 5 is cancelled; /)
  assert.match((await migration(3, 'cancel', '5')).err, /The migration has already ended/)
  await git.speedUp()
})

/** Starts a migration of repositories that have just changed, and waits until it is exporting. */
async function startSlowly(...names: string[]): Promise<string> {
  await git.slowDown()
  for (const name of names)
    await host.commit(host.path(`alice/${name}`), { [`file-${Date.now()}`]: 'new' })
  const { out } = await client.migration(0, 'start', ...names)
  await git.untilSlow()
  return out
}

test('a migration is watched to its end although the server is killed and started again', async () => {
  const { start } = client
  const id = await startSlowly('site', 'tools')
  const watching = start(['migration', 'watch', id])
  let output = ''
  watching.stderr.on('data', (text: string) => {
    output += text
  })
  const untilOutput = (pattern: RegExp) =>
    until(
      () => `the watch prints ${pattern}; so far: ${output}`,
      () => pattern.test(output),
    )
  await untilOutput(new RegExp(`migration ${id} is exporting`))
  await service.kill('SIGKILL')
  await untilOutput(/trying again/)
  await client.migration(4, 'show', id)
  await git.speedUp()
  await service.restartShared()
  const { code, stdout } = await watching.result
  assert.equal(code, 0, output)
  assert.match(output, /exported: alice\/site/)
  assert.match(output, /exported: alice\/tools/)
  assert.match(output, new RegExp(`migration ${id} is exported: \\d of \\d repositor.*\n$`))
  assert.equal(stdout.length, 0)
})

test('Ctrl-C ends the watch and not the migration', async () => {
  const id = await startSlowly('site')
  const watching = client.start(['migration', 'watch', id])
  await withTimeout('the watch has begun', once(watching.stderr, 'data'))
  watching.kill('SIGINT')
  const { code, stderr } = await watching.result
  assert.equal(code, 130)
  assert.match(stderr, /stopped watching; the migration continues\n$/)
  await git.speedUp()
})

test('Ctrl-C ends the watch of a migration that was started with --watch, and not the migration', async () => {
  await git.slowDown()
  await host.commit(host.path('alice/site'), { 'another-file': 'new' })
  const started = client.start(['migration', 'start', 'site', '--watch'])
  await withTimeout('the watch has begun', once(started.stderr, 'data'))
  started.kill('SIGINT')
  assert.match((await started.result).stderr, /stopped watching; the migration continues\n$/)
  await git.speedUp()
})
