import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { gitHost } from '../support/git-host.ts'
import { startService, untilEnded } from '../support/service.ts'

const CANARY = 'c4n4ry0fTheMine'

test('no secret is logged, stored, or carried away in an archive', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', {
    files: { a: '1' },
    config: {
      'remote.origin.url': `https://robot:${CANARY}@git.example.com/site.git`,
      'remote.origin.mirror': 'true',
      'remote.origin.fetch': '+refs/*:refs/*',
      'http.extraHeader': `Authorization: ${CANARY}`,
      'credential.helper': `!echo password=${CANARY}`,
    },
  })
  const service = await startService(t, {
    repositories: host.root,
    flags: ['--log-level', 'trace'],
  })
  const token = await service.token('alice')
  const body = JSON.stringify({ repositories: ['site'] })
  await service.call(token, '/user/migrations', { method: 'POST', body })
  assert.equal((await untilEnded(service, token, 1)).state, 'exported')
  const status = await service.call(token, '/user/migrations/1')
  assert.ok(!(await status.text()).includes(CANARY))
  const signed = (await service.call(token, '/user/migrations/1/archive')).headers.get('location')!
  const archive = Buffer.from(await (await fetch(signed)).arrayBuffer())
  // Where secrets should not be sent, people send them.
  await service.call(token, `/user/migrations?access_token=${token}`)
  await service.call(token, `/user/migrations/${token}`)
  await service.call(`${token}x`, '/user/migrations', {
    method: 'POST',
    body: `{"token": "${token}"`,
  })
  await fetch(`${signed}0`)
  await service.kill('SIGTERM')

  const signature = new URL(signed).searchParams.get('signature')!
  const log = service.log()
  assert.match(log, /"audit":"migration.start"/)
  assert.match(log, /"path":"\/archives\//)
  for (const secret of [token.slice(4), signature, CANARY]) {
    assert.ok(!log.includes(secret), `the log contains ${secret}`)
  }
  assert.ok(!gunzipSync(archive).includes(CANARY))
  for (const file of await readdir(service.data, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const content = await readFile(join(file.parentPath, file.name))
    for (const secret of [token.slice(4), signature, CANARY]) {
      assert.ok(!content.includes(secret), `${file.name} contains ${secret}`)
    }
  }
})
