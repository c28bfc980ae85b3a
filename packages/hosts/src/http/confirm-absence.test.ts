import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { type FakeForge, startForge } from '../../../../test/support/forge/fake-forge.ts'
import {
  type ForgeResponse,
  NOT_FOUND,
  PROXY_NOT_FOUND,
} from '../../../../test/support/forge/responses.ts'
import { ForgeClient } from '../forge/client/forge-client.ts'
import { HostUnavailable } from '../host-errors.ts'
import { undefinedIfAbsent } from './confirm-absence.ts'

const { signal } = new AbortController()
const NOW = Date.UTC(2030, 0, 1)

describe('confirming a 404 of a forge', () => {
  let forge: FakeForge
  before(async () => {
    forge = await startForge()
    forge.world.addUser('ann')
  })
  after(() => forge.stop())
  afterEach(() => {
    forge.faultFor = () => undefined
    forge.requests.length = 0
  })

  const find = (path: string) => {
    const client = new ForgeClient({
      url: forge.url,
      token: 'admin-token',
      pauseMs: 1,
      now: () => NOW,
    })
    return undefinedIfAbsent(client, () => client.get(path, {}, signal), signal)
  }
  const requestedPaths = () => forge.requests.map(({ path }) => path.replace('/api/v1', ''))
  const respondFirst = (of: string, times: number, response: ForgeResponse) => {
    forge.faultFor = ({ path }) =>
      path.endsWith(of) && times-- > 0 ? { response: response } : undefined
  }

  it('trusts a 404 that the forge sends twice while /version answers', async () => {
    assert.equal(await find('/users/nobody'), undefined)
    assert.deepEqual(requestedPaths(), ['/users/nobody', '/version', '/users/nobody'])
  })

  it('sends no further request if the object exists', async () => {
    assert.ok(await find('/users/ann'))
    assert.deepEqual(requestedPaths(), ['/users/ann'])
  })

  it('does not trust a 404 that the forge sends once', async () => {
    respondFirst('/users/ann', 1, NOT_FOUND)
    assert.ok(await find('/users/ann'))
  })

  it('trusts the error message of Gitea 1.15', async () => {
    const body = {
      errors: null,
      message: 'Not Found',
      documentation_url: `${forge.url}/api/swagger`,
    }
    respondFirst('/users/ann', 2, { status: 404, body })
    assert.equal(await find('/users/ann'), undefined)
  })

  const foreign: Record<string, ForgeResponse> = {
    'plain text': PROXY_NOT_FOUND,
    'a web page': {
      status: 404,
      headers: { 'content-type': 'text/html' },
      bytes: Buffer.from('<!DOCTYPE html><p>Not Found'),
    },
    'JSON from a gateway': { status: 404, body: { message: 'no Route matched' } },
    'JSON that is not an object': { status: 404, body: null },
    'truncated JSON': {
      status: 404,
      headers: { 'content-type': 'application/json' },
      bytes: Buffer.from('{"message":"Not Fo'),
    },
    empty: { status: 404 },
    'a message that is too long': {
      status: 404,
      body: { message: 'x'.repeat(70_000), url: 'http://127.0.0.1/api/swagger' },
    },
    'status 410': { ...NOT_FOUND, status: 410 },
  }
  for (const [what, response] of Object.entries(foreign))
    it(`does not trust a 404 if the body is ${what}`, async () => {
      respondFirst('/users/ann', Number.POSITIVE_INFINITY, response)
      await assert.rejects(find('/users/ann'), isUnavailable)
    })

  it('does not trust a 404 if the second one is not from the forge', async () => {
    let count = 0
    forge.faultFor = ({ path }) =>
      path.endsWith('/users/ann')
        ? { response: count++ === 0 ? NOT_FOUND : PROXY_NOT_FOUND }
        : undefined
    await assert.rejects(find('/users/ann'), isUnavailable)
  })

  for (const [what, response] of Object.entries({
    'is not found': PROXY_NOT_FOUND,
    'is empty': { body: { version: '' } },
    'is a web page': { headers: { 'content-type': 'text/html' }, bytes: Buffer.from('<p>') },
    'cannot be read': { status: 503, body: {} },
  } satisfies Record<string, ForgeResponse>))
    it(`does not trust a 404 if the version of the forge ${what}`, async () => {
      respondFirst('/version', 9, response)
      await assert.rejects(find('/users/nobody'), isUnavailable)
    })
})

function isUnavailable(error: unknown): boolean {
  assert.ok(error instanceof HostUnavailable, String(error))
  assert.equal(error.reason, 'unreachable')
  assert.equal(error.dueAt, NOW + 30_000)
  return true
}
