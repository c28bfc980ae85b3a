import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { SELF_SIGNED } from '../../../../test/support/forge/self-signed.ts'
import {
  type Misdeed,
  type StandInForge,
  startForge,
} from '../../../../test/support/forge/stand-in-forge.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { ForgeError, ForgeNotFound, ForgeRefused, WaitUntil } from '../../forge-errors.ts'
import { readForgeToken } from '../forge-token.ts'
import { forgeAddress } from './forge-address.ts'
import type { ForgeBudget } from './forge-client.ts'
import { ForgeClient } from './forge-client.ts'

// What hangs is ended by the runner: a bound for the whole file would be one on the speed of the machine.
const signal = new AbortController().signal
const TOKEN = 'admin-token'
const HTML = {
  answer: {
    headers: { 'content-type': 'text/html' },
    bytes: Buffer.from('<!DOCTYPE html><p>Sign in'),
  },
}

describe('a client of a forge', () => {
  let forge: StandInForge
  before(async () => {
    forge = await startForge()
  })
  after(() => forge.stop())
  afterEach(() => {
    forge.misbehave = () => undefined
  })

  const client = (more = {}) =>
    new ForgeClient({ url: forge.url, token: TOKEN, pauseMs: 1, ...more })
  let page = 1
  const ask = (more = {}) => client(more).get('/version', { page }, signal)

  /** The first so many requests from here on go wrong. */
  const wrong = (times: number, misdeed: Misdeed) => {
    // One that was given up before may still be on its way.
    const ours = String(++page)
    let left = times
    forge.misbehave = ({ query }) =>
      (query.get('page') ?? ours) === ours && left-- > 0 ? misdeed : undefined
  }

  it('sends the token in a header, and nowhere else', async () => {
    const { body } = await ask()
    assert.deepEqual(body, { version: '1.22.3' })
    const sent = forge.requests.at(-1)
    assert.equal(sent?.headers.authorization, `token ${TOKEN}`)
    assert.doesNotMatch(`${sent?.path}?${sent?.query}`, new RegExp(TOKEN))
  })

  it('says that the token is refused, without it', async () => {
    await assert.rejects(ask({ token: 'very-secret' }), (error) => {
      assert.ok(error instanceof ForgeRefused)
      assert.equal(error.message, `${forge.url} does not accept the token`)
      return !JSON.stringify([error.message, error.stack, String(error.cause)]).includes(
        'very-secret',
      )
    })
  })

  for (const status of [429, 403, 503])
    it(`waits until told, when asked to by ${status}`, async () => {
      const headers = { 'retry-after': '120' }
      wrong(9, { answer: { status, headers, body: {} } })
      const before = Date.now()
      await assert.rejects(ask(), (error) => {
        assert.ok(error instanceof WaitUntil)
        assert.equal(error.why, 'rate_limited')
        const waitMs = error.dueAt - before
        return waitMs >= 119_000 && waitMs <= 180_000
      })
    })

  it('takes a date to come back at, and no longer than a day', async () => {
    const later = new Date(Date.now() + 60_000).toUTCString()
    wrong(9, { answer: { status: 429, headers: { 'retry-after': later }, body: {} } })
    await assert.rejects(
      ask(),
      (error) => error instanceof WaitUntil && error.dueAt === Date.parse(later),
    )
    wrong(9, { answer: { status: 429, headers: { 'retry-after': '99999999' }, body: {} } })
    await assert.rejects(
      ask(),
      (error) => error instanceof WaitUntil && error.dueAt < Date.now() + 86_400_001,
    )
  })

  it('waits a moment by itself, where it is no more', async () => {
    wrong(1, { answer: { status: 429, headers: { 'retry-after': '0' }, body: {} } })
    assert.ok((await ask()).body)
  })

  it('tells others to hold back', async () => {
    const held: number[] = []
    const budget: ForgeBudget = {
      take: async () => {},
      holdUntil: async (time) => void held.push(time),
    }
    wrong(9, { answer: { status: 429, headers: { 'retry-after': '60' }, body: {} } })
    await assert.rejects(ask({ budget }), WaitUntil)
    assert.equal(held.length, 1)
  })

  it('sends nothing while the budget says so', async () => {
    const budget: ForgeBudget = {
      take: () => Promise.reject(new WaitUntil(5, 'budget', 'used up')),
      holdUntil: async () => {},
    }
    const count = forge.requests.length
    await assert.rejects(
      ask({ budget }),
      (error) => error instanceof WaitUntil && error.dueAt === 5,
    )
    assert.equal(forge.requests.length, count)
  })

  for (const [name, misdeed] of Object.entries({
    'a bad gateway': { answer: { status: 502, body: {} } },
    'a body that is cut': { cut: true },
    'JSON that breaks off': { answer: { bytes: Buffer.from('[{"id":1},{"i') } },
    'a failure of the server': { answer: { status: 500, body: {} } },
  } satisfies Record<string, Misdeed>)) {
    it(`tries again after ${name}`, async () => {
      wrong(2, misdeed)
      assert.deepEqual((await ask()).body, { version: '1.22.3' })
    })

    it(`does not try for ever after ${name}`, async () => {
      wrong(99, misdeed)
      const expected = name === 'a failure of the server' ? ForgeError : WaitUntil
      await assert.rejects(ask(), expected)
    })
  }

  it('gives up on an answer that does not come', async () => {
    wrong(99, { hang: true })
    await assert.rejects(ask({ timeoutMs: 50 }), (error) => {
      assert.ok(error instanceof WaitUntil)
      return /did not answer within/.test(error.message)
    })
  })

  it('gives up on an answer that comes byte by byte', async () => {
    wrong(99, { drip: true })
    await assert.rejects(ask({ timeoutMs: 100 }), (error) => {
      assert.ok(error instanceof WaitUntil)
      return /version did not answer completely within 0\.2 s/.test(error.message)
    })
  })

  for (const [name, text, words] of [
    ['lists in lists', '['.repeat(4_000_000), /nested deeper than 200 levels/],
    ['complete lists in lists', '['.repeat(500) + ']'.repeat(500), /nested deeper than 200 levels/],
    ['many empty values', `[${'{},'.repeat(2_000_000)}{}]`, /more than 3000000 values/],
  ] as const)
    it(`refuses an answer of ${name}`, async () => {
      wrong(1, { answer: { bytes: Buffer.from(text) } })
      await assert.rejects(ask(), (error) => {
        assert.ok(error instanceof ForgeRefused)
        return words.test(error.message)
      })
    })

  it('takes an answer whose texts hold brackets and escaped quotes', async () => {
    const body = { text: `${'[{'.repeat(5000)}\\"\\`, more: ['"[', '\\\\'] }
    wrong(1, { answer: { body } })
    assert.deepEqual((await ask()).body, body)
  })

  it('says that a web page came instead of JSON, and does not try again', async () => {
    wrong(1, HTML)
    await assert.rejects(ask(), (error) => {
      assert.ok(error instanceof ForgeRefused)
      return error.message.startsWith(`${forge.url}/api/v1/version answers with a web page`)
    })
  })

  it('never follows a redirect, to elsewhere or not', async () => {
    const elsewhere = await startForge()
    after(() => elsewhere.stop())
    for (const to of [
      `${elsewhere.url}/api/v1/version?x=1`,
      '/api/v1/user',
      'https://127.0.0.1/x',
      '',
    ]) {
      wrong(1, { answer: { status: 302, headers: { location: to } } })
      await assert.rejects(ask(), (error) => {
        assert.ok(error instanceof ForgeRefused)
        return /redirects to/.test(error.message) && !error.message.includes('x=1')
      })
    }
    assert.equal(elsewhere.requests.length, 0)
  })

  it('follows a download to a storage that the operator named, without the token', async () => {
    const storage = await startForge()
    after(() => storage.stop())
    storage.misbehave = () => ({ answer: { bytes: Buffer.from('bytes') } })
    const { origin } = new URL(storage.url)
    const redirect = {
      answer: { status: 307, headers: { location: `${storage.url}/x?signature=1` } },
    }
    wrong(1, redirect)
    const answer = await client({ storageOrigins: [origin] }).download('/attachments/1', signal)
    assert.equal(Buffer.concat(await Array.fromAsync(answer.body)).toString(), 'bytes')
    assert.equal(storage.requests[0]?.headers.authorization, undefined)
    wrong(1, redirect)
    await assert.rejects(
      client().download('/attachments/1', signal),
      /redirects to .*name it with --forge-storage-origins/,
    )
    assert.equal(storage.requests.length, 1)
  })

  it('sends no token to a storage at the address of the forge itself', async () => {
    const { origin } = new URL(forge.url)
    forge.misbehave = ({ path }) =>
      path === '/attachments/1'
        ? { answer: { status: 303, headers: { location: '/bucket/1?signature=1' } } }
        : { answer: { bytes: Buffer.from('bytes') } }
    const answer = await client({ storageOrigins: [origin] }).download('/attachments/1', signal)
    assert.equal(Buffer.concat(await Array.fromAsync(answer.body)).toString(), 'bytes')
    const [asked, followed] = forge.requests.slice(-2)
    assert.ok(asked?.headers.authorization)
    assert.equal(followed?.path, '/bucket/1')
    assert.equal(followed?.headers.authorization, undefined)
  })

  it('says that something is not there', async () => {
    await assert.rejects(client().get('/repos/no/such', {}, signal), ForgeNotFound)
  })

  it('says that a token may not read something', async () => {
    wrong(1, { answer: { status: 403, body: {} } })
    await assert.rejects(ask(), /the token may not read .*\/version/)
  })

  it('says that nothing answers, and when it will look again', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    await assert.rejects(ask({ url }), (error) => {
      assert.ok(error instanceof WaitUntil)
      assert.equal(error.why, 'unreachable')
      return /nothing answers at/.test(error.message) && error.dueAt > Date.now()
    })
  })

  it('says that a certificate is wrong, and does not wait for a better one', async () => {
    const server = createServer(SELF_SIGNED, (_, response) => response.end('{}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    after(() => server.close())
    const { port } = server.address() as AddressInfo
    await assert.rejects(ask({ url: `https://127.0.0.1:${port}` }), (error) => {
      assert.ok(error instanceof ForgeRefused)
      return /certificate of 127\.0\.0\.1:\d+ is not trusted/.test(error.message)
    })
  })

  it('ends at once when it is told to', async () => {
    wrong(99, { hang: true })
    const stop = new AbortController()
    const asked = client().get('/version', {}, stop.signal)
    stop.abort(new Error('enough'))
    await assert.rejects(asked, /enough/)
  })
})

describe('the address of a forge', () => {
  it('may have a path, and what people copy after it is taken off', async () => {
    assert.equal(forgeAddress('https://git.example.com/'), 'https://git.example.com')
    assert.equal(forgeAddress('https://example.com/git/api/v1/'), 'https://example.com/git')
    const forge = await startForge({ path: '/git' })
    const asked = new ForgeClient({ url: `${forge.url}/`, token: TOKEN }).get(
      '/version',
      {},
      signal,
    )
    assert.ok((await asked).body)
    await forge.stop()
  })

  it('is refused where it could hold a secret, or is none', () => {
    for (const said of ['https://u:pw@x.example', 'ftp://x', 'not one', 'https://x/?token=1'])
      assert.throws(
        () => forgeAddress(said),
        (error) => {
          assert.ok(error instanceof Error)
          return !/pw|token=1/.test(error.message)
        },
      )
  })
})

describe('the token of a forge', () => {
  it('is read from its file, and never told', async (t) => {
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
