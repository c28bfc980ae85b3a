import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { gitHost } from '../support/git-host.ts'
import { slowGit } from '../support/slow-git.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

test('an event stream ends with its token, and the streams of one account are limited', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  await host.repository('bob/site', { files: { a: '1' } })
  // A git that never ends keeps the migration running.
  const git = await slowGit()
  t.after(git.remove)
  const flags = ['--git', git.program, '--max-streams-per-account', '3']
  const service = await startSharedService(t, {
    repositories: host.root,
    engine: 'postgres',
    flags,
  })
  const [alice, second, third, bob] = [
    await service.token('alice'),
    await service.token('alice'),
    await service.token('alice'),
    await service.token('bob'),
  ]
  for (const token of [alice, bob]) {
    const body = JSON.stringify({ repositories: ['site'] })
    await service.call(token, '/user/migrations', { method: 'POST', body })
  }

  const openStream = (token: string, id: number, method = 'GET') =>
    service.call(token, `/user/migrations/${id}/progress`, {
      method,
      headers: { accept: 'text/event-stream' },
    })
  const openAndRead = async (token: string, id: number) => follow(await openStream(token, id))
  function follow(response: Response) {
    assert.equal(response.status, 200)
    const following = { hasEnded: false }
    void response.text().then(
      () => Object.assign(following, { hasEnded: true }),
      () => {},
    )
    return following
  }
  const streams = [
    await openAndRead(alice, 1),
    await openAndRead(second, 1),
    await openAndRead(third, 1),
  ]
  const others = await openAndRead(bob, 2)
  const refused = await openStream(alice, 1)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.match(((await refused.json()) as { message: string }).message, /secondary rate limit/)
  assert.equal((await service.call(alice, '/user/migrations')).status, 200)
  const head = await openStream(alice, 1, 'HEAD')
  assert.deepEqual(
    [head.status, head.headers.get('content-type')],
    [200, 'text/event-stream'],
    'only the headers',
  )

  const page = { 'x-godwit-session': '1' }
  const signIn = await service.call('', '/session', {
    method: 'POST',
    headers: page,
    body: JSON.stringify({ token: bob }),
  })
  const headers = { ...page, cookie: signIn.headers.get('set-cookie')!.split(';')[0]! }
  const accept = 'text/event-stream'
  const url = `${service.url}/user/migrations/2/progress`
  const inBrowser = follow(await fetch(url, { headers: { ...headers, accept } }))
  // Another API process on the same database answers the sign-out.
  const { databaseUrl } = service
  const another = await startSharedService(t, {
    repositories: host.root,
    databaseUrl: databaseUrl!,
    flags: ['--role', 'api'],
  })
  assert.equal((await fetch(`${another.url}/session`, { method: 'DELETE', headers })).status, 204)
  await until('a stream ends, because its browser has signed out', () => inBrowser.hasEnded)

  const database = new pg.Client(databaseUrl)
  await database.connect()
  t.after(() => database.end())
  async function assertEnds(index: number, because: string): Promise<void> {
    await until(`a stream ends, because ${because}`, () => streams[index]!.hasEnded)
    assert.deepEqual(
      [...streams, others].map(({ hasEnded }) => hasEnded),
      [index >= 0, index >= 1, index >= 2, false],
    )
  }
  await database.query('update tokens set revoked_at = 1 where id = 1')
  await assertEnds(0, 'its token is revoked')
  await database.query('update tokens set expires_at = $1 where id = 2', [Date.now()])
  await assertEnds(1, 'its token has expired')
  await database.query(
    "update migrations set owner_id = (select id from accounts where login = 'bob') where id = 1",
  )
  await assertEnds(2, 'the migration is no longer of its account')
  assert.equal((await openStream(third, 1)).status, 404, 'a new stream is rejected as well')
})
