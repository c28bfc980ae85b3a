import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
// @ts-expect-error: it has no types.
import OidcProvider from 'oidc-provider'
import { freePort } from './free-port.ts'
import { temporaryDirectory } from './sample-repositories.ts'

export interface Person {
  sub: string
  preferred_username: string
  groups?: string[]
}

export interface OpenIdProvider {
  issuer: string
  /** The settings of a service whose provider this is. */
  flags: string[]
  /** Who signs in when somebody presses the button. */
  person: Person
  stop(): Promise<void>
  start(): Promise<void>
}

/** The parts of oidc-provider that are used here: it has no types. */
interface Provider {
  callback(): (request: IncomingMessage, response: ServerResponse) => void
  interactionDetails(...exchange: [IncomingMessage, ServerResponse]): Promise<{
    params: { client_id: string; scope: string }
  }>
  interactionFinished(
    request: IncomingMessage,
    response: ServerResponse,
    result: object,
  ): Promise<void>
  Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> }
}

const CLIENT_ID = 'godwit'

/**
 * Starts a certified provider for the service at this address. It is at `localhost` and the service at `127.0.0.1`, so that the two
 * are different sites for a browser.
 */
export async function startOpenIdProvider(
  t: Pick<TestContext, 'after'>,
  service: string,
): Promise<OpenIdProvider> {
  const port = await freePort()
  const issuer = `http://localhost:${port}`
  const secret = randomBytes(16).toString('hex')
  const secretFile = join(temporaryDirectory(t), 'secret')
  await writeFile(secretFile, `${secret}\n`, { mode: 0o600 })
  const people = new Map<string, Person>()
  const provider: Provider = new OidcProvider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: secret,
        redirect_uris: [`${service}/session/oidc/callback`],
        post_logout_redirect_uris: [`${service}/`],
      },
    ],
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'groups'],
    cookies: { keys: [secret] },
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: async () => people.get(id),
    }),
  })

  async function finish(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { sub: accountId } = state.person
    people.set(accountId, state.person)
    const { client_id: clientId, scope } = (await provider.interactionDetails(request, response))
      .params
    const grant = new provider.Grant({ accountId, clientId })
    grant.addOIDCScope(scope)
    const result = { login: { accountId }, consent: { grantId: await grant.save() } }
    await provider.interactionFinished(request, response, result)
  }

  const handle = provider.callback()
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/interaction/')) return handle(request, response)
    if (request.method === 'POST') return void finish(request, response)
    response.setHeader('content-type', 'text/html')
    response.end('<form method="post"><button>Continue</button></form>')
  })
  const state: OpenIdProvider = {
    issuer,
    flags: [
      ...['--oidc-issuer', issuer, '--oidc-client-id', CLIENT_ID],
      ...['--oidc-client-secret-file', secretFile],
    ],
    person: { sub: '1', preferred_username: 'nobody' },
    start: () => new Promise((resolve) => server.listen(port, 'localhost', resolve)),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  await state.start()
  t.after(state.stop)
  return state
}

/** A browser without pages: it follows redirects and keeps the cookies of each host. */
export class RedirectFollower {
  readonly #cookies = new Map<string, Map<string, string>>()

  cookiesOf(url: string): Map<string, string> {
    const { host } = new URL(url)
    const jar = this.#cookies.get(host) ?? new Map<string, string>()
    this.#cookies.set(host, jar)
    return jar
  }

  async send(url: string, init: RequestInit = {}): Promise<Response> {
    const jar = this.cookiesOf(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(init.headers as Record<string, string>), cookie }
    const response = await fetch(url, { redirect: 'manual', ...init, headers })
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      if (value === '' || /Max-Age=0|expires=Thu, 01 Jan 1970/i.test(each)) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  /** Follows redirects up to an address that `isLast` accepts, presses the provider's button, and returns that address. */
  async follow(url: string, isLast: (url: string) => boolean): Promise<string> {
    for (let next = url, method = 'GET'; ; ) {
      if (isLast(next)) return next
      const response = await this.send(next, { method })
      const location = response.headers.get('location')
      if (location === null && method === 'POST')
        throw new Error(`${next}: ${response.status} ${await response.text()}`)
      method = location === null ? 'POST' : 'GET'
      next = location === null ? next : new URL(location, next).href
    }
  }
}
