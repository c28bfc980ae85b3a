import { normalizeHostUrl } from '@godwit/hosts/host-url'
import { invalidNameReason } from '@godwit/lib/names'
import { createAddressFilter } from '@godwit/lib/outgoing-requests/address-filter'
import { createResolver } from '@godwit/lib/outgoing-requests/resolve-host'
import { type OutgoingRequestFailed, sendRequest } from '@godwit/lib/outgoing-requests/send-request'
import * as openid from 'openid-client'
import { type OidcClient, SignInFailed } from '../http/routes/sessions/oidc-client.ts'

const TIMEOUT_SECONDS = 5
/** Discovery documents, keys and claims are far smaller. */
const MAX_RESPONSE_BYTES = 256 * 1024
/** How long the discovery document is kept. Keys are read anew at each sign-in, since they may be replaced at any time. */
const DISCOVERY_TTL_MS = 5 * 60_000

export interface OidcClientSettings {
  baseUrl: string
  forge: string | undefined
  oidcIssuer: string | undefined
  oidcLoginClaim: string
  oidcRequire: Claim[] | undefined
  oidcAdmin: Claim[] | undefined
}

type Claim = { claim: string; value: string }

export interface OidcDependencies {
  now: () => number
  log: { warn(fields: object, message: string): void }
}

/** Godwit as a client of a provider. */
type Registration = { issuer: URL; clientId: string; secret: string }

/** Returns a function that creates the configuration of a request: the client, and what the provider says about itself. */
function discovery({ issuer, clientId, secret }: Registration, now: () => number) {
  const execute = [openid.enableNonRepudiationChecks]
  if (issuer.protocol === 'http:') execute.push(openid.allowInsecureRequests)
  const send = createFetch(issuer)
  const options = { execute, timeout: TIMEOUT_SECONDS, [openid.customFetch]: send }
  let known: { at: number; found: Promise<openid.Configuration> } | undefined

  /** Returns a new configuration, which has no keys cached. */
  return async (authenticate = openid.ClientSecretBasic(secret)) => {
    if (!known || Math.abs(now() - known.at) >= DISCOVERY_TTL_MS) {
      known = { at: now(), found: openid.discovery(issuer, clientId, {}, undefined, options) }
      known.found.catch(() => {
        known = undefined
      })
    }
    const server = (await known.found).serverMetadata()
    const client = new openid.Configuration(server, clientId, {}, authenticate)
    client[openid.customFetch] = send
    client.timeout = TIMEOUT_SECONDS
    for (const extend of execute) extend(client)
    return { server, client }
  }
}

/** Creates a client of the provider. Sends no request yet, since the provider may be unavailable. */
export function createOidcClient(
  settings: OidcClientSettings,
  registration: Registration,
  { now, log }: OidcDependencies,
): OidcClient {
  const { issuer, secret } = registration
  const createConfiguration = discovery(registration, now)
  const configure = (authenticate?: openid.ClientAuth) =>
    createConfiguration(authenticate).catch((error: unknown) => {
      throw fail('unavailable', error)
    })

  /** Logs why a sign-in failed, and returns the error to throw. Only messages are logged, because other fields may contain tokens. */
  function fail(problem: SignInFailed['problem'], error: unknown, identity?: string) {
    const { message, cause, error: code } = error as Error & { error?: unknown }
    const texts = [message, (cause as Error | undefined)?.message, code]
    const known = texts.filter((each) => typeof each === 'string')
    const reason = known.join(': ').slice(0, 300)
    const { oidcIssuer } = settings
    log.warn({ issuer: oidcIssuer, reason }, `sign-in with ${oidcIssuer} failed: ${reason}`)
    return new SignInFailed(problem, problem, { issuer: oidcIssuer, identity })
  }

  /** Builds an address from the discovery document, which may contain anything. */
  function addressOf(name: string, build: () => URL): URL {
    try {
      return build()
    } catch (error) {
      throw fail('unavailable', new Error(`${name} is not valid`, { cause: error }))
    }
  }

  const redirectUri = `${settings.baseUrl}/session/oidc/callback`
  const { oidcLoginClaim: loginClaim, oidcRequire: required = [], oidcAdmin: admin } = settings
  const usedClaims = [loginClaim, ...[...required, ...(admin ?? [])].map(({ claim }) => claim)]
  const isForge =
    settings.forge !== undefined &&
    normalizeHostUrl(settings.forge) === normalizeHostUrl(issuer.href)

  return {
    async start() {
      const { client, server } = await configure()
      const checks = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        verifier: openid.randomPKCECodeVerifier(),
      }
      const hasGroups = [server.scopes_supported].flat().includes('groups')
      const parameters = {
        redirect_uri: redirectUri,
        scope: hasGroups ? 'openid profile groups' : 'openid profile',
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
      }
      const url = addressOf('authorization_endpoint', () =>
        openid.buildAuthorizationUrl(client, parameters),
      )
      if (!isAllowedUrl(url, issuer))
        throw fail('unavailable', new Error(`${url.origin} is not https`))
      return { url: url.href, checks }
    },

    async finish(query, { state, nonce, verifier }) {
      const { client, server } = await configure()
      const url = new URL(query, redirectUri)
      let claims: { sub: string; [claim: string]: unknown }
      try {
        const exchange = (by: typeof client) =>
          openid.authorizationCodeGrant(by, url, {
            expectedState: state,
            expectedNonce: nonce,
            pkceCodeVerifier: verifier,
            idTokenExpected: true,
          })
        const tokens = await exchange(client).catch(async (error: { error?: unknown }) => {
          if (error.error !== 'invalid_client') throw error
          // Some providers accept the secret only in the body. Gitea does not decode special characters in the header.
          return exchange((await configure(openid.ClientSecretPost(secret))).client)
        })
        claims = tokens.claims()!
        const isComplete = usedClaims.every((name) => name in claims)
        if (!isComplete && server.userinfo_endpoint)
          claims = {
            ...(await openid.fetchUserInfo(client, tokens.access_token, claims.sub)),
            ...claims,
          }
      } catch (error) {
        throw fail(isUnavailable(error) ? 'unavailable' : 'refused', error)
      }
      const { sub: subject, [loginClaim]: login } = claims
      if (!SUBJECT.test(subject)) throw fail('refused', new Error('the claim sub is not valid'))
      if (!required.every((each) => hasClaim(claims, each)))
        throw fail('not-allowed', new Error(`${subject} lacks a claim of --oidc-require`), subject)
      const invalid = typeof login === 'string' ? invalidNameReason(login) : 'it is missing'
      if (typeof login !== 'string' || invalid)
        throw fail(
          'no-login',
          new Error(`${subject}: the claim ${loginClaim} is not a valid login: ${invalid}`),
          subject,
        )
      return {
        issuer: server.issuer,
        subject,
        login,
        siteAdmin: admin?.some((each) => hasClaim(claims, each)),
        forgeId: isForge && /^\d{1,15}$/.test(subject) ? Number(subject) : undefined,
      }
    },

    async signOutUrl() {
      const { client, server } = await configure()
      if (!server.end_session_endpoint) return undefined
      const parameters = { post_logout_redirect_uri: `${settings.baseUrl}/` }
      const url = addressOf('end_session_endpoint', () =>
        openid.buildEndSessionUrl(client, parameters),
      )
      // The provider ends its own session: no other site can.
      if (url.origin !== issuer.origin)
        throw fail('unavailable', new Error(`end_session_endpoint is at ${url.origin}`))
      return url.href
    },
  }
}

/** OpenID Connect limits a subject to 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/

/** Returns whether a claim has this value, or is a list that contains it. */
function hasClaim(claims: Readonly<Record<string, unknown>>, { claim, value }: Claim): boolean {
  return [claims[claim]]
    .flat()
    .some((each) => ['string', 'number', 'boolean'].includes(typeof each) && String(each) === value)
}

/** Returns whether the provider did not respond properly, so that the same sign-in may succeed later. */
function isUnavailable(error: unknown): boolean {
  const { code, cause, status } = error as { code?: unknown; cause?: unknown; status?: unknown }
  if (typeof status === 'number') return status >= 500
  return (
    code === 'OAUTH_TIMEOUT' ||
    code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' ||
    error instanceof ProviderUnavailable ||
    (cause !== undefined && isUnavailable(cause))
  )
}

/** Only the origin of the issuer may use plain HTTP. Its discovery document may name any other address, which must use https. */
const isAllowedUrl = (url: URL, issuer: URL): boolean =>
  url.origin === issuer.origin || url.protocol === 'https:'

class ProviderUnavailable extends Error {
  override name = 'ProviderUnavailable'
}

/** Returns a function that sends the requests of openid-client. Only the origin of the issuer may be on a private network. */
function createFetch(issuer: URL): openid.CustomFetch {
  const publicOnly = { isAllowed: createAddressFilter([]), resolve: createResolver() }

  return async (
    address,
    { method, headers, body, signal = AbortSignal.timeout(1000 * TIMEOUT_SECONDS) },
  ) => {
    const url = new URL(address)
    if (!isAllowedUrl(url, issuer))
      throw new ProviderUnavailable(`${url.origin}: only https is allowed`)
    const addresses = url.origin === issuer.origin ? undefined : publicOnly
    const text = body === undefined || body === null ? undefined : String(body)
    try {
      return await sendRequest(
        { url, method, headers, body: text },
        { addresses, maxBodyBytes: MAX_RESPONSE_BYTES, signal },
        async (response) => {
          const bytes = Buffer.concat(await Array.fromAsync(response.body))
          return new Response(bytes.length > 0 ? bytes : null, {
            status: response.statusCode,
            headers: { 'content-type': response.headers['content-type'] ?? '' },
          })
        },
      )
    } catch (error) {
      const reason = signal.aborted ? 'no response in time' : reasonOf(error, url)
      throw new ProviderUnavailable(`${url.origin}: ${reason}`)
    }
  }
}

/** Returns what the log says about a failed request. Unlike the owner of a webhook, the operator sees addresses. */
function reasonOf(error: unknown, { hostname }: URL): string {
  const { isAddressRefused, cause, message } = error as OutgoingRequestFailed
  if (isAddressRefused) return `${hostname} is on a private network`
  return cause instanceof Error ? cause.message : message
}
