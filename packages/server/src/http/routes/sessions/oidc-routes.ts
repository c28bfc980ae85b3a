import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Checks, type OidcClient, SignInFailed } from './oidc-client.ts'
import { recordIfRefused, type SignInDependencies, signInAs } from './sign-in.ts'

const HEADERS = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/** Adds the routes by which a browser signs in with the OpenID provider. Every response is a redirect, unless a limit is exceeded. */
export function addOidcRoutes(
  app: FastifyInstance,
  oidc: OidcClient,
  dependencies: SignInDependencies,
): void {
  const base = new URL(`${dependencies.rendering.addresses.api}/`)
  const { signIn: cookie } = dependencies.cookies

  /** Returns the address of a page of this server, or of the dashboard if `path` leads anywhere else. */
  function ownPage(path: unknown): URL {
    const url = typeof path === 'string' && path.startsWith('/') ? URL.parse(path, base) : null
    return url?.origin === base.origin ? url : base
  }

  /** Sends the browser to the address that `next` returns. If that fails, sends it back to the page, which shows the problem. */
  async function redirect(reply: FastifyReply, page: URL, next: () => Promise<string>) {
    reply.headers(HEADERS)
    try {
      return reply.redirect(await next(), 302)
    } catch (error) {
      if (!(error instanceof SignInFailed)) throw error
      const shown = new URL(page)
      shown.searchParams.set('sign-in-problem', error.problem)
      return reply.redirect(shown.href, 302)
    }
  }

  app.get<{ Querystring: { return_to?: unknown } }>(
    '/session/oidc/start',
    async (request, reply) => {
      const page = ownPage(request.query.return_to)
      return redirect(reply, page, async () => {
        const { url, checks } = await oidc.start()
        const returnTo = page.pathname + page.hash
        const flow = Buffer.from(JSON.stringify({ ...checks, returnTo })).toString('base64url')
        cookie.set(reply, request, flow)
        return url
      })
    },
  )

  app.get('/session/oidc/callback', async (request, reply) => {
    const flow = readFlow(cookie.read(request))
    const page = ownPage(flow?.returnTo)
    return redirect(reply, page, async () => {
      // Each sign-in accepts one response only: even a repeated one is rejected.
      cookie.clear(reply, request)
      if (!flow) throw new SignInFailed('expired')
      const { search } = new URL(request.url, base)
      await recordIfRefused(dependencies, request, async () => {
        const identity = await dependencies.logins.verify(request.ip, () =>
          oidc.finish(search, flow),
        )
        await signInAs(dependencies, identity, request, reply)
      })
      return page.href
    })
  })

  app.get('/session/oidc/end', async (_request, reply) =>
    redirect(reply, base, async () => (await oidc.signOutUrl()) ?? base.href),
  )
}

/** Parses the cookie of a sign-in. Returns undefined if it is missing or invalid. */
function readFlow(text: string | undefined): (Checks & { returnTo: string }) | undefined {
  if (text === undefined) return undefined
  try {
    const { state, nonce, verifier, returnTo } = JSON.parse(
      Buffer.from(text, 'base64url').toString(),
    )
    const isComplete = [state, nonce, verifier].every((each) => typeof each === 'string' && each)
    return isComplete ? { state, nonce, verifier, returnTo } : undefined
  } catch {
    return undefined
  }
}
