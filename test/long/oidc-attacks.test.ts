import assert from 'node:assert/strict'
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { before, beforeEach, test } from 'node:test'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { RedirectFollower } from '../support/openid-provider.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import type { SharedService } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

interface Key {
  kid: string
  privateKey: KeyObject
  publicKey: KeyObject
}

const newKey = (kid: string): Key => ({
  kid,
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }),
})

/** What a provider that lies, or that somebody else controls, sends. The tests change it. */
interface Lies {
  header: object
  claims: object
  /** Changes the discovery document. */
  metadata: object
  /** Responds instead of the provider, at any path. */
  respond?: (path: string, response: ServerResponse) => boolean
  /** Called when a token is requested, before the keys are read. */
  onToken?: () => void
  /** The id token without its signature. */
  isUnsigned?: boolean
  isSecretInBody?: boolean
}

const SECRET = 'a secret of the client'
const fileCleanup = cleanupAfterFile()
const key = newKey('first')
let published: Key[]
let lies: Lies
let service: SharedService
let issuer: string
/** The parameters of the last authorization request. */
let requested: URLSearchParams
let usedCodes: Set<string>

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function idToken(): string {
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: 'RS256', kid: key.kid, ...lies.header }
  const claims = {
    ...{ iss: issuer, aud: 'godwit', sub: 'a', preferred_username: 'alice' },
    ...{ iat: now, exp: now + 60, nonce: requested.get('nonce'), ...lies.claims },
  }
  const text = `${base64url(header)}.${base64url(claims)}`
  const signature = createSign('RSA-SHA256').update(text).sign(published.at(-1)!.privateKey)
  return `${text}.${lies.isUnsigned ? '' : signature.toString('base64url')}`
}

before(async () => {
  const host = await gitHost()
  fileCleanup.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  const [port, providerPort] = [await freePort(), await freePort()]
  issuer = `http://localhost:${providerPort}`
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, issuer)
    if (lies.respond?.(pathname, response)) return
    const send = (value: object, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    }
    if (pathname === '/.well-known/openid-configuration')
      return send({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...lies.metadata,
      })
    if (pathname === '/keys')
      return send({
        keys: published.map(({ kid, publicKey }) => ({
          ...publicKey.export({ format: 'jwk' }),
          ...{ kid, use: 'sig', alg: 'RS256' },
        })),
      })
    let body = ''
    request.setEncoding('utf8').on('data', (text) => {
      body += text
    })
    request.on('end', () => {
      const form = new URLSearchParams(body)
      if (lies.isSecretInBody && form.get('client_secret') !== SECRET)
        return send({ error: 'invalid_client' }, 401)
      const code = form.get('code')!
      if (usedCodes.has(code)) return send({ error: 'invalid_grant' }, 400)
      usedCodes.add(code)
      lies.onToken?.()
      send({ access_token: 'at', token_type: 'bearer', id_token: idToken() })
    })
  })
  await new Promise<void>((resolve) => server.listen(providerPort, 'localhost', resolve))
  fileCleanup.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const secretFile = join(temporaryDirectory(fileCleanup), 'secret')
  await writeFile(secretFile, `${SECRET}\n`)
  service = await startSharedService(fileCleanup, {
    ...{ repositories: host.root, port },
    flags: [
      ...['--oidc-issuer', issuer, '--oidc-client-id', 'godwit'],
      ...['--oidc-client-secret-file', secretFile],
      ...['--oidc-admin', 'groups=admins'],
    ],
  })
})

beforeEach(async () => {
  lies = { header: {}, claims: {}, metadata: {} }
  published = [key]
  usedCodes = new Set()
})

/** Makes the service read the discovery document again, which it keeps for minutes. */
async function restart(): Promise<void> {
  await service.stop()
  await service.restart()
}

/** Begins a sign-in, and returns the address with which a provider sends the browser back. */
async function begin(browser: RedirectFollower): Promise<URL> {
  const response = await browser.send(`${service.url}/session/oidc/start`)
  requested = new URL(response.headers.get('location')!).searchParams
  const back = new URL(requested.get('redirect_uri')!)
  back.searchParams.set('code', `code ${Math.random()}`)
  back.searchParams.set('state', requested.get('state')!)
  return back
}

/** Sends the browser back, and returns the problem that the page shows; null if it is signed in. */
async function end(browser: RedirectFollower, back: URL): Promise<string | null> {
  const response = await browser.send(back.href)
  const page = new URL(response.headers.get('location')!)
  assert.equal(page.origin, service.url)
  const problem = page.searchParams.get('sign-in-problem')
  const isSignedIn = browser.cookiesOf(service.url).has('godwit_session')
  assert.equal(isSignedIn, problem === null)
  return problem
}

async function signIn(): Promise<string | null> {
  const browser = new RedirectFollower()
  return end(browser, await begin(browser))
}

test('an honest provider signs in', async () => {
  assert.equal(await signIn(), null)
})

test('a response that another browser asked for is refused (login CSRF)', async () => {
  const [attacker, victim] = [new RedirectFollower(), new RedirectFollower()]
  const back = await begin(attacker)
  assert.equal(await end(victim, back), 'expired')
  await begin(victim)
  assert.equal(await end(victim, back), 'refused')
})

test('a response is accepted once (replayed code)', async () => {
  const browser = new RedirectFollower()
  const back = await begin(browser)
  const flow = new Map(browser.cookiesOf(service.url))
  assert.equal(await end(browser, back), null)
  assert.equal(browser.cookiesOf(service.url).has('godwit_sign_in'), false)
  const copy = new RedirectFollower()
  for (const [name, value] of flow) copy.cookiesOf(service.url).set(name, value)
  assert.equal(await end(copy, back), 'refused')
})

test('a new session has a new cookie (session fixation)', async () => {
  const browser = new RedirectFollower()
  browser.cookiesOf(service.url).set('godwit_session', 'chosen-by-an-attacker')
  const back = await begin(browser)
  await browser.send(back.href)
  assert.notEqual(browser.cookiesOf(service.url).get('godwit_session'), 'chosen-by-an-attacker')
})

test('an unsigned id token is refused (alg: none)', async () => {
  lies.isUnsigned = true
  lies.header = { alg: 'none' }
  assert.equal(await signIn(), 'refused')
})

test('an id token with a signature of another key is refused', async () => {
  published = [key, newKey('first')]
  lies.respond = (path, response) => {
    if (path !== '/keys') return false
    const jwk = { ...key.publicKey.export({ format: 'jwk' }), kid: 'first' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ keys: [jwk] }))
    return true
  }
  assert.equal(await signIn(), 'refused')
})

test('an id token for another client, of another issuer, for another sign-in or of yesterday is refused', async () => {
  const yesterday = Math.floor(Date.now() / 1000) - 86_400
  for (const claims of [
    { aud: 'another' },
    { aud: ['godwit', 'another'], azp: 'another' },
    { iss: 'https://other.example' },
    { nonce: 'of another sign-in' },
    { exp: yesterday },
    { iat: yesterday + 2 * 86_400, nbf: yesterday + 2 * 86_400 },
  ]) {
    lies.claims = claims
    assert.equal(await signIn(), 'refused', JSON.stringify(claims))
  }
})

test('a clock that is 20 seconds ahead does not matter', async () => {
  lies.claims = { iat: Math.floor(Date.now() / 1000) + 20 }
  assert.equal(await signIn(), null)
})

test('a response of another provider is refused (mix-up)', async () => {
  const browser = new RedirectFollower()
  const back = await begin(browser)
  back.searchParams.set('iss', 'https://other.example')
  assert.equal(await end(browser, back), 'refused')
})

test('keys that the provider replaces during a sign-in are found', async () => {
  assert.equal(await signIn(), null)
  const next = newKey('second')
  lies.onToken = () => {
    published = [next]
  }
  lies.header = { kid: 'second' }
  assert.equal(await signIn(), null)
})

test('a provider that refuses the person says so on the page', async () => {
  const browser = new RedirectFollower()
  const back = await begin(browser)
  back.searchParams.delete('code')
  back.searchParams.set('error', 'access_denied')
  assert.equal(await end(browser, back), 'refused')
})

test('a provider that accepts the secret only in the body signs in', async () => {
  lies.isSecretInBody = true
  assert.equal(await signIn(), null)
})

test('a huge or slow discovery document does not stop the service', async () => {
  const start = async () => {
    const response = await fetch(`${service.url}/session/oidc/start`, { redirect: 'manual' })
    return new URL(response.headers.get('location')!).searchParams.get('sign-in-problem')
  }
  await restart()
  lies.metadata = { padding: 'x'.repeat(1_000_000) }
  assert.equal(await start(), 'unavailable')
  lies = { ...lies, metadata: {}, respond: (_path, response) => response.write('{') !== undefined }
  assert.equal(await start(), 'unavailable')
  delete lies.respond
  assert.equal(await start(), null)
})

test('a discovery document cannot lead the service into a private network or to plain HTTP', async () => {
  for (const [metadata, reason] of [
    [{ token_endpoint: 'https://127.0.0.1:1/token' }, 'private network'],
    [{ token_endpoint: 'https://[::ffff:10.0.0.1]/token' }, 'private network'],
    [{ token_endpoint: 'http://example.com/token' }, 'only https'],
    [{ jwks_uri: 'https://169.254.169.254/keys' }, 'private network'],
  ] as const) {
    await restart()
    lies.metadata = metadata
    assert.equal(await signIn(), 'unavailable', JSON.stringify(metadata))
    await until(`the log says ${reason}`, () => service.log().includes(reason))
  }
  await restart()
  lies.metadata = { issuer: 'https://other.example' }
  const browser = new RedirectFollower()
  const response = await browser.send(`${service.url}/session/oidc/start`)
  assert.match(response.headers.get('location')!, /sign-in-problem=unavailable/)
})

test('claims of unusual types and with unusual characters are refused or ignored', async () => {
  lies.claims = { groups: [{ toString: 1, valueOf: 1 }, null, ['admins']] }
  assert.equal(await signIn(), null)
  for (const sub of ['a\0b', '\ud800', 'é', 'x'.repeat(256), '', 7, null, {}]) {
    lies.claims = { sub }
    assert.equal(await signIn(), 'refused', JSON.stringify(sub))
  }
  for (const login of ['a\0b', 7, ['alice'], {}, null]) {
    lies.claims = { preferred_username: login }
    assert.equal(await signIn(), 'no-login', JSON.stringify(login))
  }
})

test('a discovery document with unusable addresses makes the provider unavailable', async () => {
  const problemAt = async (path: string) => {
    const response = await fetch(`${service.url}${path}`, { redirect: 'manual' })
    const location = response.headers.get('location') ?? assert.fail(await response.text())
    return URL.parse(location, service.url)?.searchParams.get('sign-in-problem')
  }
  for (const metadata of [
    { authorization_endpoint: 'nowhere', end_session_endpoint: 'nowhere' },
    { authorization_endpoint: 7, end_session_endpoint: 'https://other.example/end' },
    { authorization_endpoint: 'javascript:alert(1)', end_session_endpoint: 'javascript:alert(1)' },
  ]) {
    await restart()
    lies.metadata = { scopes_supported: 7, ...metadata }
    assert.equal(await problemAt('/session/oidc/start'), 'unavailable', JSON.stringify(metadata))
    assert.equal(await problemAt('/session/oidc/end'), 'unavailable', JSON.stringify(metadata))
  }
})

test('no secret of the client, code or token is in the log', () => {
  assert.doesNotMatch(service.log(), /a secret of the client|code(\+| |%20)0\.|eyJ/)
})
