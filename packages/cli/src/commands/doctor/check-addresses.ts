import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { readEvents } from '@godwit/contract/client/event-stream'
import { hasCode } from '@godwit/lib/errno'
import { isLoopback } from '@godwit/lib/ip-address'
import { formatCount } from '@godwit/lib/quantities'
import { findSigningKey } from '@godwit/server/db/inspect-database'
import { PROBED_TEXT, probeAddress } from '@godwit/server/service/probe-address'
import type { ServiceConfig } from '../service-settings.ts'
import { databaseOf } from './check-database.ts'
import { type CheckResult, errorText, failure, passed, warning } from './check-result.ts'

/** The metric in which the running service counts requests that untrusted proxies forwarded. */
const UNTRUSTED_FORWARDING = 'godwit_http_untrusted_forwarding_total'

const SET_BASE_URL = 'set --base-url to the address that clients use'
const ALL_INTERFACES = new Set(['0.0.0.0', '[::]', '::'])

export async function* checkAddresses(config: ServiceConfig): AsyncGenerator<CheckResult> {
  yield await checkBaseUrl(config)
  yield* checkListen(config)
}

/** Every link that clients get starts with the base URL, so they must be able to reach it. */
async function checkBaseUrl({
  baseUrl,
  listen,
  trustedProxies,
}: ServiceConfig): Promise<CheckResult> {
  const { hostname, protocol } = new URL(baseUrl)
  const check = 'base-url'
  if (ALL_INTERFACES.has(hostname))
    return failure(check, `${baseUrl} is not an address that clients can reach`, SET_BASE_URL)
  try {
    if (!isIP(hostname.replace(/^\[|\]$/g, ''))) await lookup(hostname)
  } catch (error) {
    const advice = 'fix --base-url or the DNS name: every link that clients get starts with it'
    return warning(check, `${baseUrl} cannot be resolved: ${errorText(error)}`, advice)
  }
  if (isLoopback(hostname)) {
    if (isLoopback(listen.host)) return passed(check, `${baseUrl}, for this machine only`)
    return warning(check, `${baseUrl} works only on this machine`, SET_BASE_URL)
  }
  if (protocol === 'http:') {
    const advice = 'put a proxy with TLS in front, and set --base-url to its https address'
    return warning(check, `${baseUrl} sends tokens without encryption`, advice)
  }
  if (!trustedProxies) {
    const advice = 'set --trusted-proxies, or every request seems to come from the proxy'
    return warning(check, `${baseUrl} is the address of a proxy`, advice)
  }
  return passed(check, baseUrl)
}

/** Checks whether the port is free, or used by this service or by another program. */
async function* checkListen(config: ServiceConfig): AsyncGenerator<CheckResult> {
  const { host, port } = config.listen
  const shown = host.includes(':') ? `[${host}]` : host
  const address = `${shown}:${port}`
  const local = `http://${ALL_INTERFACES.has(shown) ? 'localhost' : shown}:${port}`
  const response = await request(`${local}/healthz`, {}, 5000).catch((error: Error) => error)
  if (response instanceof Error) {
    const found = `${address}: ${errorText(response.cause ?? response)}`
    const advice = 'find the program that listens there (ss -ltnp), or set another --listen'
    return yield hasCode(response.cause, 'ECONNREFUSED')
      ? passed('listen', `${address} is free`)
      : warning('listen', found, advice)
  }
  const isHealthy = await response.json().then(
    (body) => response.ok && (body as { status?: unknown }).status === 'ok',
    () => false,
  )
  if (!isHealthy) {
    const advice = 'stop it, or set another --listen'
    return yield failure('listen', `${address} is used by another program`, advice)
  }
  yield passed('listen', `a service runs at ${address}`)
  yield await checkForwarding(local)
  yield* checkProxy(config)
}

/** Reads from the running service whether untrusted proxies have sent requests. */
async function checkForwarding(service: string): Promise<CheckResult> {
  const response = await fetch(`${service}/metrics`, { signal: AbortSignal.timeout(5000) })
  const counted = new RegExp(`^${UNTRUSTED_FORWARDING} (\\d+)$`, 'm').exec(await response.text())
  const times = Number(counted?.[1] ?? 0)
  if (times === 0)
    return passed('trusted-proxies', 'no request was forwarded by an untrusted proxy')
  return warning(
    'trusted-proxies',
    `${formatCount(times, 'request')} with x-forwarded-for came from an untrusted address`,
    'add your proxy to --trusted-proxies; the log shows the addresses',
  )
}

const TIMEOUT_MS = 10_000

const request = (url: string, headers: Record<string, string>, timeoutMs = TIMEOUT_MS) =>
  fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })

const RANGE = { start: 2, end: 7 }
/** If the last event arrives this soon after the first, a proxy has buffered both: the service waits far longer. */
const BUFFERED_WITHIN_MS = 1000

/** Checks the proxy between the running service and its public address. */
async function* checkProxy(config: ServiceConfig): AsyncGenerator<CheckResult> {
  const { baseUrl, listen } = config
  const { hostname, port, protocol } = new URL(baseUrl)
  // A URL does not have the default port of its protocol, and only a proxy speaks https.
  const isPort = protocol === 'http:' && Number(port || 80) === listen.port
  const isDirect = isPort && hostname.replace(/^\[|\]$/g, '') === listen.host
  if (config.origins.baseUrl === undefined || isDirect) return
  const key = await findSigningKey(databaseOf(config), 'link-key')
  if (!key) return
  try {
    yield* checkUserHeader(config)
    const problems = await Array.fromAsync(findProxyProblems(baseUrl, key))
    if (problems.length > 0) yield* problems
    else
      yield passed('proxy', `${baseUrl} reaches this service, with streams, ranges and addresses`)
  } catch (error) {
    const why = errorText((error as Error).cause ?? error)
    const advice = 'check the proxy, its certificate and the DNS name; clients use this address'
    yield warning('proxy', `${baseUrl} cannot be reached from here: ${why}`, advice)
  }
}

/** A login that nobody can have, so that nobody is signed in. */
const PROBE_LOGIN = 'godwit doctor'

/** Checks that the proxy removes the header with the name of the person from the requests of clients. */
async function* checkUserHeader({
  baseUrl,
  userHeader,
}: ServiceConfig): AsyncGenerator<CheckResult> {
  if (userHeader === undefined) return
  const headers = { [userHeader]: PROBE_LOGIN, 'x-godwit-session': '1' }
  const response = await request(`${baseUrl}/session`, headers)
  const isPassedOn = (await response.text()).includes(PROBE_LOGIN)
  yield isPassedOn
    ? failure(
        'user-header',
        `the proxy passes on ${userHeader} from clients: anybody can sign in as anybody`,
        `let the proxy replace or remove ${userHeader} in every request`,
      )
    : passed('user-header', `the proxy removes ${userHeader} from requests of clients`)
}

/** Yields what the proxy does wrong with ranges and streams. */
async function* findProxyProblems(baseUrl: string, key: Buffer): AsyncGenerator<CheckResult> {
  const headers = { range: `bytes=${RANGE.start}-${RANGE.end - 1}` }
  const response = await request(probeAddress(baseUrl, key, 'range'), headers)
  const text = await response.text()
  if (response.status === 200 && text === PROBED_TEXT) {
    const advice = 'let the proxy pass on the headers range and if-range, and switch off its cache'
    const found = `${baseUrl} does not pass on ranges: interrupted downloads start again`
    yield warning('proxy', found, advice)
  } else if (response.status !== 206 || text !== PROBED_TEXT.slice(RANGE.start, RANGE.end)) {
    const advice = 'let the proxy forward every path below --base-url to the address of --listen'
    const found = `${baseUrl} returns status ${response.status}, but not from the service that runs here`
    return yield warning('proxy', found, advice)
  }
  yield* checkStream(baseUrl, key)
}

type ProbeEvent = { peer: string; forwarded_for: string | null; is_trusted: boolean }

async function* checkStream(baseUrl: string, key: Buffer): AsyncGenerator<CheckResult> {
  const stopping = new AbortController()
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(TIMEOUT_MS)])
  const response = await fetch(probeAddress(baseUrl, key, 'stream'), {
    headers: { accept: 'text/event-stream' },
    signal,
  })
  try {
    const { event, isBuffered } = await readStream(response)
    const { peer, forwarded_for: forwarded, is_trusted: isTrusted } = event
    if (isBuffered) {
      const found = `${baseUrl} buffers streams until they end: clients cannot follow a migration`
      yield warning(
        'proxy',
        found,
        'switch off buffering in the proxy (nginx: proxy_buffering off)',
      )
    }
    if (forwarded === null) {
      const found = `the proxy at ${peer} does not send x-forwarded-for: every request seems to come from it`
      const advice = 'let the proxy send x-forwarded-for with the address of the client'
      yield warning('trusted-proxies', found, advice)
    } else if (!isTrusted) {
      const advice = `add ${peer} to --trusted-proxies, and start the service again`
      yield warning('trusted-proxies', `the proxy at ${peer} is not trusted`, advice)
    }
  } finally {
    stopping.abort()
  }
}

/** Returns the first event, and whether the last one arrived with it. */
async function readStream(response: Response) {
  const events = readEvents(response.body!)
  const first = await events.next()
  if (first.done) throw new Error('the event stream ended early')
  // This read may reject after the stream is aborted.
  const hasEnded = events.next().then(
    ({ value }) => value?.name === 'end',
    () => false,
  )
  const isBuffered = await Promise.race([hasEnded, sleep(BUFFERED_WITHIN_MS, false)])
  return { event: JSON.parse(first.value.data) as ProbeEvent, isBuffered }
}
