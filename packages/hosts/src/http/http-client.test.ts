import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import {
  type FakeForge,
  type Fault,
  startForge,
} from '../../../../test/support/forge/fake-forge.ts'
import { SELF_SIGNED } from '../../../../test/support/forge/self-signed.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { ForgeClient } from '../forge/client/forge-client.ts'
import { readForgeToken } from '../forge/forge-token.ts'
import {
  HostNotFound,
  HostRequestFailed,
  HostServerError,
  HostUnavailable,
} from '../host-errors.ts'
import { normalizeHostUrl } from '../host-url.ts'
import type { RequestBudget } from './http-client.ts'

// The test runner has a timeout. Another one here would make the test depend on the speed of the machine.
const signal = new AbortController().signal
const TOKEN = 'admin-token'
const HTML = {
  response: {
    headers: { 'content-type': 'text/html' },
    bytes: Buffer.from('<!DOCTYPE html><p>Sign in'),
  },
}

describe('a forge client', () => {
  let forge: FakeForge
  before(async () => {
    forge = await startForge()
  })
  after(() => forge.stop())
  afterEach(() => {
    forge.faultFor = () => undefined
  })

  const client = (more = {}) =>
    new ForgeClient({ url: forge.url, token: TOKEN, pauseMs: 1, ...more })
  let page = 1
  const getVersion = (more = {}) => client(more).get('/version', { page }, signal)

  /** Makes the next `times` requests fail. */
  const failNext = (times: number, fault: Fault) => {
    // A request that timed out in an earlier test may still arrive.
    const ours = String(++page)
    let left = times
    forge.faultFor = ({ query }) =>
      (query.get('page') ?? ours) === ours && left-- > 0 ? fault : undefined
  }

  it('shows original authors by a name that records can have', async () => {
    const body = [
      { original_author: 'John Doe', user: { id: 1, login: 'ghost' } },
      { original_author: 'eve\nbob,mallory', user: { id: 1, login: 'ghost' } },
      { original_author: '=', user: { id: 1, login: 'ghost' } },
      { original_author: '', user: { id: -1, login: 'a/b(Git)' } },
    ]
    failNext(1, { response: { status: 200, body } })
    const { body: shown } = await getVersion({ showsOriginalAuthors: true })
    assert.deepEqual(
      (shown as { user: { login: string } }[]).map(({ user }) => user.login),
      ['John Doe', 'eve bob mallory', 'ghost', 'a b'],
    )
  })

  it('sends the token in a header only', async () => {
    const { body } = await getVersion()
    assert.deepEqual(body, { version: '1.22.3' })
    const sent = forge.requests.at(-1)
    assert.equal(sent?.headers.authorization, `token ${TOKEN}`)
    assert.doesNotMatch(`${sent?.path}?${sent?.query}`, new RegExp(TOKEN))
  })

  it('reports a refused token without showing it', async () => {
    await assert.rejects(getVersion({ token: 'very-secret' }), (error) => {
      assert.ok(error instanceof HostRequestFailed)
      assert.equal(error.message, `${forge.url} does not accept the token`)
      return !JSON.stringify([error.message, error.stack, String(error.cause)]).includes(
        'very-secret',
      )
    })
  })

  for (const status of [429, 403, 503])
    it(`rejects with the time of Retry-After for status ${status}`, async () => {
      const headers = { 'retry-after': '120' }
      failNext(9, { response: { status, headers, body: {} } })
      const before = Date.now()
      await assert.rejects(getVersion(), (error) => {
        assert.ok(error instanceof HostUnavailable)
        assert.equal(error.reason, 'rate_limited')
        const waitMs = error.dueAt - before
        return waitMs >= 119_000 && waitMs <= 180_000
      })
    })

  it('accepts a date as Retry-After, and waits a day at most', async () => {
    const later = new Date(Date.now() + 60_000).toUTCString()
    failNext(9, { response: { status: 429, headers: { 'retry-after': later }, body: {} } })
    await assert.rejects(
      getVersion(),
      (error) => error instanceof HostUnavailable && error.dueAt === Date.parse(later),
    )
    failNext(9, { response: { status: 429, headers: { 'retry-after': '99999999' }, body: {} } })
    await assert.rejects(
      getVersion(),
      (error) => error instanceof HostUnavailable && error.dueAt < Date.now() + 86_400_001,
    )
  })

  it('waits for a short Retry-After and retries', async () => {
    failNext(1, { response: { status: 429, headers: { 'retry-after': '0' }, body: {} } })
    assert.ok((await getVersion()).body)
  })

  it('passes Retry-After to the budget', async () => {
    const held: number[] = []
    const budget: RequestBudget = {
      take: async () => {},
      holdUntil: async (time) => void held.push(time),
    }
    failNext(9, { response: { status: 429, headers: { 'retry-after': '60' }, body: {} } })
    await assert.rejects(getVersion({ budget }), HostUnavailable)
    assert.equal(held.length, 1)
  })

  it('sends no request while the budget is used up', async () => {
    const budget: RequestBudget = {
      take: () => Promise.reject(new HostUnavailable(5, 'budget', 'used up')),
      holdUntil: async () => {},
    }
    const count = forge.requests.length
    await assert.rejects(
      getVersion({ budget }),
      (error) => error instanceof HostUnavailable && error.dueAt === 5,
    )
    assert.equal(forge.requests.length, count)
  })

  for (const [name, fault] of Object.entries({
    'a bad gateway': { response: { status: 502, body: {} } },
    'a truncated body': { cut: true },
    'truncated JSON': { response: { bytes: Buffer.from('[{"id":1},{"i') } },
    'a server error': { response: { status: 500, body: {} } },
  } satisfies Record<string, Fault>)) {
    it(`retries after ${name}`, async () => {
      failNext(2, fault)
      assert.deepEqual((await getVersion()).body, { version: '1.22.3' })
    })

    it(`gives up retrying after ${name}`, async () => {
      failNext(99, fault)
      const expected = name === 'a server error' ? HostServerError : HostUnavailable
      await assert.rejects(getVersion(), expected)
    })
  }

  it('times out if there is no response', async () => {
    failNext(99, { hang: true })
    await assert.rejects(getVersion({ timeoutMs: 50 }), (error) => {
      assert.ok(error instanceof HostUnavailable)
      return /did not respond within/.test(error.message)
    })
  })

  it('times out if the response arrives byte by byte', async () => {
    failNext(99, { drip: true })
    await assert.rejects(getVersion({ timeoutMs: 500 }), (error) => {
      assert.ok(error instanceof HostUnavailable)
      return /version did not respond completely within 1 s/.test(error.message)
    })
  })

  for (const [name, text, pattern] of [
    ['nested lists', '['.repeat(4_000_000), /nested deeper than 200 levels/],
    [
      'nested lists that are closed',
      '['.repeat(500) + ']'.repeat(500),
      /nested deeper than 200 levels/,
    ],
    ['many empty values', `[${'{},'.repeat(2_000_000)}{}]`, /more than 3000000 values/],
  ] as const)
    it(`refuses a response with ${name}`, async () => {
      failNext(1, { response: { bytes: Buffer.from(text) } })
      await assert.rejects(getVersion(), (error) => {
        assert.ok(error instanceof HostRequestFailed)
        return pattern.test(error.message)
      })
    })

  it('accepts strings that contain brackets and escaped quotes', async () => {
    const body = { text: `${'[{'.repeat(5000)}\\"\\`, more: ['"[', '\\\\'] }
    failNext(1, { response: { body } })
    assert.deepEqual((await getVersion()).body, body)
  })

  describe('that changes something', () => {
    const change = (method: 'POST' | 'PUT', target = '/api/v1/orgs/nobody/teams') =>
      client().change(target, { method, json: { name: 'x' } }, signal)

    it('repeats a PUT, but not a POST whose response was lost', async () => {
      let sent = 0
      forge.faultFor = () => {
        sent++
        return { response: { status: 502, body: {} } }
      }
      await assert.rejects(change('PUT'), HostUnavailable)
      assert.equal(sent, 3)
      await assert.rejects(change('POST'), HostUnavailable)
      assert.equal(sent, 4)
    })

    it('repeats a POST that the forge refused only for now', async () => {
      let sent = 0
      const body = { id: 7 }
      forge.faultFor = () =>
        sent++ === 0
          ? { response: { status: 429, headers: { 'retry-after': '0' }, body: {} } }
          : { response: { status: 201, body } }
      assert.deepEqual(await change('POST'), body)
    })

    it('reports the reason of the forge', async () => {
      const body = { message: 'team\nexists', url: 'http://x/api/swagger' }
      forge.faultFor = () => ({ response: { status: 422, body } })
      await assert.rejects(change('POST'), {
        name: 'HostRequestFailed',
        message: `POST ${forge.url}/api/v1/orgs/nobody/teams was refused with status 422: team exists`,
      })
    })

    it('sends no token to another origin', async (t) => {
      const other = await startForge()
      t.after(() => other.stop())
      await assert.rejects(change('PUT', `${other.url}/bucket/object`), HostRequestFailed)
      assert.equal(other.requests.at(-1)?.headers.authorization, undefined)
    })
  })

  it('reports a web page instead of JSON, and does not retry', async () => {
    failNext(1, HTML)
    await assert.rejects(getVersion(), (error) => {
      assert.ok(error instanceof HostRequestFailed)
      return error.message.startsWith(`${forge.url}/api/v1/version responded with a web page`)
    })
  })

  it('follows no redirect, neither to another host nor to the same one', async () => {
    const elsewhere = await startForge()
    after(() => elsewhere.stop())
    for (const to of [
      `${elsewhere.url}/api/v1/version?x=1`,
      '/api/v1/user',
      'https://127.0.0.1/x',
      '',
    ]) {
      failNext(1, { response: { status: 302, headers: { location: to } } })
      await assert.rejects(getVersion(), (error) => {
        assert.ok(error instanceof HostRequestFailed)
        return /redirects to/.test(error.message) && !error.message.includes('x=1')
      })
    }
    assert.equal(elsewhere.requests.length, 0)
  })

  it('follows the redirect of a download to a configured storage, without the token', async () => {
    const storage = await startForge()
    after(() => storage.stop())
    storage.faultFor = () => ({ response: { bytes: Buffer.from('bytes') } })
    const { origin } = new URL(storage.url)
    const redirect = {
      response: { status: 307, headers: { location: `${storage.url}/x?signature=1` } },
    }
    failNext(1, redirect)
    const response = await client({ storageOrigins: [origin] }).download('/attachments/1', signal)
    assert.equal(Buffer.concat(await Array.fromAsync(response.body)).toString(), 'bytes')
    assert.equal(storage.requests[0]?.headers.authorization, undefined)
    failNext(1, redirect)
    await assert.rejects(
      client().download('/attachments/1', signal),
      /redirects to .*name it with --forge-storage-origins/,
    )
    assert.equal(storage.requests.length, 1)
  })

  it('sends no token to a storage with the origin of the forge', async () => {
    const { origin } = new URL(forge.url)
    forge.faultFor = ({ path }) =>
      path === '/attachments/1'
        ? { response: { status: 303, headers: { location: '/bucket/1?signature=1' } } }
        : { response: { bytes: Buffer.from('bytes') } }
    const response = await client({ storageOrigins: [origin] }).download('/attachments/1', signal)
    assert.equal(Buffer.concat(await Array.fromAsync(response.body)).toString(), 'bytes')
    const [first, followed] = forge.requests.slice(-2)
    assert.ok(first?.headers.authorization)
    assert.equal(followed?.path, '/bucket/1')
    assert.equal(followed?.headers.authorization, undefined)
  })

  it('rejects with HostNotFound for an unknown repository', async () => {
    await assert.rejects(client().get('/repos/no/such', {}, signal), HostNotFound)
  })

  it('reports what the token may not read', async () => {
    failNext(1, { response: { status: 403, body: {} } })
    await assert.rejects(getVersion(), /the token may not read .*\/version/)
  })

  it('reports that no server answers, and when to retry', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    await assert.rejects(getVersion({ url }), (error) => {
      assert.ok(error instanceof HostUnavailable)
      assert.equal(error.reason, 'unreachable')
      return /nothing responds at/.test(error.message) && error.dueAt > Date.now()
    })
  })

  it('reports an untrusted certificate, and does not retry', async () => {
    const server = createServer(SELF_SIGNED, (_, response) => response.end('{}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    after(() => server.close())
    const { port } = server.address() as AddressInfo
    await assert.rejects(getVersion({ url: `https://127.0.0.1:${port}` }), (error) => {
      assert.ok(error instanceof HostRequestFailed)
      return /certificate of 127\.0\.0\.1:\d+ is not trusted/.test(error.message)
    })
  })

  it('ends immediately when the signal aborts', async () => {
    failNext(99, { hang: true })
    const stop = new AbortController()
    const request = client().get('/version', {}, stop.signal)
    stop.abort(new Error('aborted by the test'))
    await assert.rejects(request, /aborted by the test/)
  })
})

describe('the URL of a forge', () => {
  it('may have a path, and /api/v1 is removed', async () => {
    assert.equal(normalizeHostUrl('https://git.example.com/'), 'https://git.example.com')
    assert.equal(normalizeHostUrl('https://example.com/git/api/v1/'), 'https://example.com/git')
    const forge = await startForge({ path: '/git' })
    const request = new ForgeClient({ url: `${forge.url}/`, token: TOKEN }).get(
      '/version',
      {},
      signal,
    )
    assert.ok((await request).body)
    await forge.stop()
  })

  it('is refused if it is invalid or could contain a secret', () => {
    for (const url of ['https://u:pw@x.example', 'ftp://x', 'not one', 'https://x/?token=1'])
      assert.throws(
        () => normalizeHostUrl(url),
        (error) => {
          assert.ok(error instanceof Error)
          return !/pw|token=1/.test(error.message)
        },
      )
  })
})

describe('the token of a forge', () => {
  it('is read from its file, and never shown', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'godwit-token-'))
    t.after(() => rm(directory, { recursive: true }))
    const file = join(directory, 'token')
    await writeFile(file, '  abc123\n\n')
    assert.equal(await readForgeToken(file), 'abc123')
    await writeFile(file, '\n')
    await assert.rejects(readForgeToken(file), /is empty/)
    await writeFile(file, 'one-secret two-secret')
    await assert.rejects(readForgeToken(file), (error) => !/secret/.test(String(error)))
    await assert.rejects(readForgeToken(join(directory, 'none')), /ENOENT/)
  })
})
