import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Answer } from './http-request.ts'
import { ownServer, serverUnderTest, serverWith } from './server-under-test.ts'

describe('the rate limit', ownServer, () => {
  test('is in every response, and reading it is free', async () => {
    const { ask } = await serverWith('unusual', 'carol')
    const first = rateOf(await ask('GET', '/user/migrations'))
    assert.deepEqual(
      { ...first, reset: 0 },
      { limit: 5000, remaining: 4999, used: 1, reset: 0, resource: 'core' },
    )
    const ahead = first.reset - Date.now() / 1000
    assert.ok(ahead > 0 && ahead <= 3601, `reset is ${ahead} s ahead`)

    const refused = rateOf(await ask('GET', '/user/migrations/0'))
    assert.deepEqual({ ...refused, reset: 0 }, { ...first, remaining: 4998, used: 2, reset: 0 })
    const { status, body } = await ask('GET', '/rate_limit')
    assert.equal(status, 200)
    const { resources, rate } = JSON.parse(body)
    assert.deepEqual({ ...rate, reset: 0 }, { ...refused, reset: 0 })
    assert.deepEqual(resources.core, rate)
    assert.equal(rateOf(await ask('GET', '/user')).used, 3, 'asking for it was free')
  })

  test('rejects requests over the limit until the reset', async () => {
    const { ask } = await serverWith('strict', 'carol')
    await ask('GET', '/user')
    assert.equal(rateOf(await ask('GET', '/user')).remaining, 0)
    for (const [method, path] of [
      ['GET', '/user/migrations'],
      ['POST', '/user/migrations'],
      ['GET', '/api/v3/user'],
    ] as const) {
      const refused = await ask(method, path)
      assert.equal(refused.status, 403)
      assert.match(JSON.parse(refused.body).message, /^API rate limit exceeded/)
      assert.deepEqual([rateOf(refused).remaining, rateOf(refused).used], [0, 2])
      assert.ok(Number(refused.headers['retry-after']) > 0)
    }
    assert.equal(JSON.parse((await ask('GET', '/rate_limit')).body).rate.remaining, 0)
  })

  test('is not shown to unauthenticated clients', async () => {
    const { ask } = await serverUnderTest()
    for (const authorization of [undefined, 'bearer nonsense']) {
      const { status, headers } = await ask('GET', '/user', { headers: { authorization } })
      assert.equal(status, 401)
      assert.deepEqual(
        Object.keys(headers).filter((name) => name.startsWith('x-ratelimit-')),
        [],
      )
    }
  })
})

function rateOf({ headers }: Answer) {
  const number = (name: string) => Number(headers[`x-ratelimit-${name}`])
  return {
    limit: number('limit'),
    remaining: number('remaining'),
    used: number('used'),
    reset: number('reset'),
    resource: headers['x-ratelimit-resource'],
  }
}
