import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientCommandLine } from '../support/client-command-line.ts'
import { gitHost } from '../support/git-host.ts'
import { startSharedService } from '../support/start-shared-service.ts'

test('the client runs a migration of an organization from start to deletion', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  for (const name of ['octo/site', 'octo/tools', 'alice/own'])
    await host.repository(name, { files: { a: '1' } })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob owner\n')
  const service = await startSharedService(t, { repositories: host.root })
  const token = await service.token('alice')
  const { migration: mine } = await clientCommandLine(t, { url: service.url, token })
  const migration = (code: number, ...args: string[]) => mine(code, ...args, '--org', 'Octo')

  const forecast = await migration(0, 'start', 'site', 'octo/tools', '--preflight')
  assert.match(forecast.out, /octo\/site .* exported\nocto\/tools /)
  const started = await migration(0, 'start', '--all', '--lock-repositories', '--watch')
  assert.equal(started.out, '1')
  assert.match(started.err, /^migration 1 is exported: 2 of 2 repositories$/m)
  assert.match((await migration(0, 'list')).out, /^ID .*\n1 +exported +2 .* yes$/)
  assert.equal((await mine(0, 'list')).out.split('\n').length, 1, 'none of alice’s own')
  assert.match((await migration(0, 'show', '1')).out, /`godwit migration download 1 --org Octo`/)
  const { owner, url } = JSON.parse((await migration(0, 'show', '1', '--json')).out)
  assert.deepEqual([owner.type, url], ['Organization', `${service.url}/orgs/octo/migrations/1`])
  assert.match((await migration(0, 'repositories', '1')).out, /octo\/tools/)
  assert.match((await migration(0, 'watch', '1')).err, /migration 1 is exported/)
  assert.match((await migration(0, 'report', '1')).out, /of octo was exported/)
  await migration(0, 'download', '1')
  assert.match((await migration(0, 'unlock', '1', 'site')).out, /unlocked: octo\/site/)
  assert.equal((await migration(0, 'retry', '1')).out, '2')
  await migration(0, 'delete', '1')

  assert.match((await mine(3, 'show', '1')).err, /no migration 1 for this account/)
  assert.match((await migration(3, 'show', '9')).err, /no migration 9 for Octo.*list --org Octo/)
  assert.match((await migration(3, 'start', 'alice/own')).err, /may not migrate this repository/)
  const nobodys = await mine(3, 'list', '--org', 'nobody')
  assert.match(nobodys.err, /no organization nobody of which you are an owner/)
  assert.match((await mine(2, 'list', '--org', 'a/b')).err, /--org: must be the login/)

  const own = await mine(0, 'start', '--all')
  assert.equal(own.err, 'your organizations are not included: use --org octo for all of octo\n')
  const bob = await clientCommandLine(t, { url: service.url, token: await service.token('bob') })
  const none = await bob.migration(1, 'start', '--all')
  assert.match(none.err, /lists no repositories of yours: add --org octo for all of octo\n$/)
})
