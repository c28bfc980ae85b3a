import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import { type SharedService, untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

type Json = Record<string, unknown>

const start = (service: SharedService, token: string, body: Json) =>
  service.call(token, '/user/migrations', { method: 'POST', body: JSON.stringify(body) })

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`summaries have the counts of a migration without its repositories: ${engine}`, async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    for (const name of ['one', 'two', 'broken']) {
      await host.repository(`alice/${name}`, { files: { a: name } })
    }
    await host.repository('bob/other', { files: { a: '1' } })
    await host.loseObjects('alice/broken')
    const service = await startSharedService(t, { repositories: host.root, engine })
    const alice = await service.token('alice')
    const get = async (path: string) => (await service.call(alice, path)).json() as Promise<Json>

    for (const name of ['x'.repeat(101), 'a\u0000b', 'a\u202eb', 7]) {
      const refused = await start(service, alice, { repositories: ['one'], name })
      assert.equal(refused.status, 422)
      const { errors } = (await refused.json()) as { errors: Json[] }
      assert.deepEqual(errors, [{ resource: 'Migration', field: 'name', code: 'invalid' }])
    }
    const named = await start(service, alice, {
      repositories: ['one'],
      name: '  Before: the move ',
    })
    assert.ok(!('name' in ((await named.json()) as Json)), "GitHub's body has no name")
    await untilEnded(service, alice, 1)
    assert.ok(!('name' in (await get('/user/migrations/1'))))
    assert.equal((await get('/user/migrations/1/summary')).name, 'Before: the move')
    const { url, name } = await get('/user/migrations/1/archive/link')
    assert.match(String(name), /^migration-1-alice-Before-the-move-\d{4}-\d\d-\d\d\.tar\.gz$/)
    const sent = await fetch(String(url), { method: 'HEAD' })
    assert.equal(sent.headers.get('content-disposition'), `attachment; filename=${name}`)
    const input = { repositories: ['one', 'two', 'broken'], lock_repositories: true }
    await start(service, alice, { ...input, allow_partial: true })
    await untilEnded(service, alice, 2, 'exported')

    const summary = await get('/user/migrations/2/summary')
    const { id, state, reason, repositories, allow_partial, held_locks } = summary
    assert.deepEqual([id, state, reason, allow_partial, held_locks], [2, 'exported', null, true, 3])
    const ended = { exported: 2, reused: 1, incomplete: 0, skipped: 1, failed: 0 }
    const counts = { total: 3, ...ended, remaining: 0 }
    assert.deepEqual(repositories, counts)
    const { totals } = (await get('/user/migrations/2/progress')) as { totals: Json }
    assert.equal(summary.bytes_done, totals.bytes_done)

    const listed = await service.call(alice, '/user/migrations/summaries?per_page=1')
    assert.deepEqual(await listed.json(), [summary])
    assert.equal(listed.headers.get('x-total-count'), '2')
    assert.match(
      listed.headers.get('link')!,
      /migrations\/summaries\?per_page=1&page=2>; rel="next"/,
    )

    const locks = (await get('/user/migrations/2/locks')) as unknown as Json[]
    assert.deepEqual(
      locks.map(({ full_name }) => full_name),
      ['alice/broken', 'alice/one', 'alice/two'],
    )
    const unlock = { method: 'DELETE' }
    await service.call(alice, '/user/migrations/2/repos/one/lock', unlock)
    assert.equal((await get('/user/migrations/2/summary')).held_locks, 2)

    await downloadByLink(service, alice, summary)
    await assertHiddenFromOthers(service)
    await service.call(alice, '/user/migrations/2/archive', { method: 'DELETE' })
    assert.equal((await get('/user/migrations/2/summary')).archive, null)
    assert.equal((await service.call(alice, '/user/migrations/2/archive/link')).status, 404)
  })
}

/** Downloads like a page: requests the link by `fetch`, then opens it. */
async function downloadByLink(service: SharedService, token: string, summary: Json): Promise<void> {
  const archive = summary.archive as { bytes: number; expires_at: string }
  const response = await service.call(token, '/user/migrations/2/archive/link')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  const link = (await response.json()) as { url: string; name: string; bytes: number }
  assert.deepEqual(
    [link.name, link.bytes],
    [`migration-2-alice-${String(summary.created_at).slice(0, 10)}.tar.gz`, archive.bytes],
  )
  const download = await fetch(link.url)
  assert.match(
    download.headers.get('content-disposition')!,
    new RegExp(`^attachment.*${link.name}`),
  )
  assert.equal((await download.arrayBuffer()).byteLength, archive.bytes)
  assert.ok(!service.log().includes('sig='))
}

async function assertHiddenFromOthers(service: SharedService): Promise<void> {
  const bob = await service.token('bob')
  for (const path of ['summary', 'locks', 'archive/link']) {
    assert.equal((await service.call(bob, `/user/migrations/2/${path}`)).status, 404)
  }
  const none = await service.call(bob, '/user/migrations/summaries')
  assert.deepEqual([await none.json(), none.headers.get('x-total-count')], [[], '0'])
}
