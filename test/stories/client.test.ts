import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientDesk } from '../support/client-desk.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { type Service, startService } from '../support/service.ts'
import { slowGit } from '../support/slow-git.ts'
import { inTime, until } from '../support/wait-until.ts'

async function downloaded(service: Service, token: string, id: number): Promise<Buffer> {
  const { headers } = await service.call(token, `/user/migrations/${id}/archive`)
  return Buffer.from(await (await fetch(headers.get('location')!)).arrayBuffer())
}

async function twoRepositories(): Promise<GitHost> {
  const host = await gitHost()
  await host.repository('alice/site', { files: { a: '1' }, public: true })
  await host.repository('alice/tools', { files: { a: '2' } })
  return host
}

test('the whole life of a migration, by the client alone', async (t) => {
  const host = await twoRepositories()
  t.after(host.remove)
  const service = await startService(t, { repositories: host.root })
  const token = await service.token('alice')
  const { migration, folder } = await clientDesk(t, { url: service.url, token })

  const forecast = await migration(0, 'start', 'site', 'alice/tools', '--preflight')
  assert.match(forecast.out, /^REPOSITORY +SIZE +RESULT\nalice\/site .* exported\nalice\/tools /)
  assert.match(forecast.err, /nothing was started/)
  assert.equal((await migration(0, 'list')).out.split('\n').length, 1)

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
  assert.ok(!started.err.includes('\x1b'), 'escapes where no terminal is')

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
  assert.doesNotMatch(await service.godwit('locks'), /alice/)
  assert.match((await migration(3, 'unlock', '1', 'site')).err, /site is not locked by migration 1/)
  assert.match((await migration(2, 'unlock', '1', 'nope')).err, /1 does not include nope/)

  const said = JSON.parse((await migration(0, 'download', '1', '--json')).out)
  assert.deepEqual([said.id, said.checked_by], [1, 'digests'])
  const file = join(folder, `migration-1-alice-${shown.created_at.slice(0, 10)}.tar.gz`)
  assert.deepEqual(await readFile(file), await downloaded(service, token, 1))
  assert.match(
    (await migration(1, 'download', '1')).err,
    /exists already; use --force to replace it/,
  )
  const verified = await migration(0, 'download', '1', '--force', '--verify')
  assert.match(verified.out, /is intact: 2 repositories verified$/)

  await migration(0, 'delete', '1')
  assert.match((await migration(0, 'show', '1')).out, /^archive +deleted or expired$/m)
  assert.match((await migration(3, 'download', '1', '--force')).err, /migration 1 has no archive/)
  assert.equal((await readFile(file)).length, said.bytes)

  assert.equal((await migration(0, 'start', '--all')).out, '2')
  const all = JSON.parse((await migration(0, 'repositories', '2', '--json')).out)
  assert.deepEqual(all.map((each: { full_name: string }) => each.full_name).sort(), [
    'alice/site',
    'alice/tools',
  ])
})

test('a failed migration is an exit code, and retry, report and cancel do the rest', async (t) => {
  const host = await twoRepositories()
  t.after(host.remove)
  const git = await slowGit()
  t.after(git.remove)
  await git.hurry()
  const service = await startService(t, { repositories: host.root, flags: ['--git', git.program] })
  const token = await service.token('alice')
  const { migration } = await clientDesk(t, { url: service.url, token })
  await host.loseObjects('alice/site')

  const failed = await migration(1, 'start', 'site', 'tools', '--watch')
  assert.equal(failed.out, '1')
  assert.match(failed.err, /^failed: alice\/site: /m)
  assert.match(failed.err, /^godwit: migration 1 is failed.*`godwit migration report 1`/m)
  assert.match((await migration(0, 'report', '1')).out, /failed {3}alice\/site: /)
  await host.remake('alice/site', { a: '1' })
  assert.equal((await migration(0, 'retry', '1')).out, '2')
  await migration(0, 'watch', '2')

  await git.dawdle()
  await host.push('alice/site', { b: '2' })
  assert.equal((await migration(0, 'start', 'site')).out, '3')
  await git.pid()
  assert.equal((await migration(0, 'cancel', '3')).out, 'migration 3 is cancelled')
  assert.match((await migration(1, 'watch', '3')).err, /migration 3 is cancelled; /)
  assert.match((await migration(3, 'cancel', '3')).err, /The migration has already ended/)
})

test('a server that is killed and started again is watched to the end', async (t) => {
  const host = await twoRepositories()
  t.after(host.remove)
  const git = await slowGit()
  t.after(git.remove)
  const service = await startService(t, { repositories: host.root, flags: ['--git', git.program] })
  const token = await service.token('alice')
  const { migration, start, godwit } = await clientDesk(t, { url: service.url, token })
  await migration(0, 'start', 'site', 'tools')
  await git.pid()

  const watching = start(['migration', 'watch', '1'])
  let said = ''
  watching.stderr.on('data', (text: string) => {
    said += text
  })
  const says = (what: RegExp) =>
    until(
      () => `the watch says ${what}; it said ${said}`,
      () => what.test(said),
    )
  await says(/migration 1 is exporting/)
  await service.kill('SIGKILL')
  await says(/trying again/)
  assert.equal((await godwit(['migration', 'show', '1'])).code, 4)
  await git.hurry()
  await service.restart()
  const { code, stdout } = await watching.ended
  assert.equal(code, 0, said)
  assert.match(said, /exported: alice\/site/)
  assert.match(said, /exported: alice\/tools/)
  assert.match(said, /migration 1 is exported: \d of \d repositor.*\n$/)
  assert.equal(stdout.length, 0)
})

test('Ctrl-C ends the watch and not the migration', async (t) => {
  const host = await twoRepositories()
  t.after(host.remove)
  const git = await slowGit()
  t.after(git.remove)
  const service = await startService(t, { repositories: host.root, flags: ['--git', git.program] })
  const token = await service.token('alice')
  const { migration, start } = await clientDesk(t, { url: service.url, token })
  await migration(0, 'start', 'site')
  await git.pid()
  const watching = start(['migration', 'watch', '1'])
  await inTime('the watch has begun', once(watching.stderr, 'data'))
  watching.kill('SIGINT')
  const { code, stderr } = await watching.ended
  assert.equal(code, 130)
  assert.match(stderr, /stopped watching; the migration continues\n$/)
  await git.hurry()
})
