import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { HttpResponse } from './http-request.ts'
import { ownServer, serverUnderTest, serverWith } from './server-under-test.ts'

describe('the rate limit', ownServer, () => {
  test('is in every response, and reading it is free', async () => {
    const { request } = await serverWith('unusual', 'carol')
    const first = rateOf(await request('GET', '/user/migrations'))
    assert.deepEqual(
      { ...first, reset: 0 },
      { limit: 5000, remaining: 4999, used: 1, reset: 0, resource: 'core' },
    )
    const ahead = first.reset - Date.now() / 1000
    assert.ok(ahead > 0 && ahead <= 3601, `reset is ${ahead} s ahead`)

    const refused = rateOf(await request('GET', '/user/migrations/0'))
    assert.deepEqual({ ...refused, reset: 0 }, { ...first, remaining: 4998, used: 2, reset: 0 })
    const { status, body } = await request('GET', '/rate_limit')
    assert.equal(status, 200)
    const { resources, rate } = JSON.parse(body)
    assert.deepEqual({ ...rate, reset: 0 }, { ...refused, reset: 0 })
    assert.deepEqual(resources.core, rate)
    for (const unserved of ['search', 'graphql', 'integration_manifest'])
      assert.equal(resources[unserved].limit, 0, unserved)
    assert.equal(
      rateOf(await request('GET', '/user')).used,
      3,
      'reading the rate limit was counted',
    )
  })

  test('rejects requests over the limit until the reset', async () => {
    const { request } = await serverWith('strict', 'carol')
    await request('GET', '/user')
    assert.equal(rateOf(await request('GET', '/user')).remaining, 0)
    for (const [method, path] of [
      ['GET', '/user/migrations'],
      ['POST', '/user/migrations'],
      ['GET', '/api/v3/user'],
    ] as const) {
      const refused = await request(method, path)
      assert.equal(refused.status, 403)
      assert.match(JSON.parse(refused.body).message, /^API rate limit exceeded/)
      assert.deepEqual([rateOf(refused).remaining, rateOf(refused).used], [0, 2])
      // A `retry-after` would mark a secondary limit.
      assert.equal(refused.headers['retry-after'], undefined)
    }
    assert.equal(JSON.parse((await request('GET', '/rate_limit')).body).rate.remaining, 0)
  })

  test('of an address is shown only where it is requested', async () => {
    const { request } = await serverUnderTest()
    for (const authorization of [undefined, 'bearer nonsense']) {
      const { status, headers } = await request('GET', '/user', { headers: { authorization } })
      assert.equal(status, 401)
      assert.deepEqual(
        Object.keys(headers).filter((name) => name.startsWith('x-ratelimit-')),
        [],
      )
    }
    const { status, body } = await request('GET', '/rate_limit', {
      headers: { authorization: undefined },
    })
    assert.deepEqual([status, JSON.parse(body).rate.limit], [200, 60])
  })
})

function rateOf({ headers }: HttpResponse) {
  const number = (name: string) => Number(headers[`x-ratelimit-${name}`])
  return {
    limit: number('limit'),
    remaining: number('remaining'),
    used: number('used'),
    reset: number('reset'),
    resource: headers['x-ratelimit-resource'],
  }
}
