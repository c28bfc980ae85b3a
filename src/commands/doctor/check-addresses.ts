import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Config } from '../../config.ts'
import { broken, type CheckResult, fine, warning, wordsOf } from './check-result.ts'

/** A name of the metrics, known here as to anybody who reads them. */
const UNTRUSTED_FORWARDING = 'godwit_http_untrusted_forwarding_total'

const EVERYWHERE = new Set(['0.0.0.0', '[::]', '::'])

export async function* checkAddresses(config: Config): AsyncGenerator<CheckResult> {
  yield await checkBaseUrl(config)
  yield* checkListen(config)
}

/** It is in every link that clients are given, so it must mean the same to them. */
async function checkBaseUrl({ baseUrl, listen, trustedProxies }: Config): Promise<CheckResult> {
  const { hostname, protocol } = new URL(baseUrl)
  const check = 'base-url'
  if (EVERYWHERE.has(hostname)) {
    const advice = 'give --base-url the address at which clients reach the API'
    return broken(check, `${baseUrl} is no address that a client can reach`, advice)
  }
  try {
    if (!isIP(hostname.replace(/^\[|\]$/g, ''))) await lookup(hostname)
  } catch (error) {
    const advice = 'mend --base-url, or the name: every link that clients are given begins with it'
    return warning(check, `${baseUrl} is not known here: ${wordsOf(error)}`, advice)
  }
  if (isLoopback(hostname)) {
    if (isLoopback(listen.host)) return fine(check, `${baseUrl}, for this machine alone`)
    const advice = 'give --base-url the address at which clients reach the API'
    return warning(check, `${baseUrl} leads other machines to themselves`, advice)
  }
  if (protocol === 'http:') {
    const advice = 'put a proxy with TLS before it and give --base-url its https address'
    return warning(check, `${baseUrl} carries tokens in the clear`, advice)
  }
  if (!trustedProxies) {
    const advice = 'give --trusted-proxies, or every caller seems to come from the proxy'
    return warning(check, `${baseUrl} is a proxy's`, advice)
  }
  return fine(check, baseUrl)
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\./.test(host)
}

/** Whether somebody is there already: us, which is well, or another program, which is not. */
async function* checkListen({ listen: { host, port } }: Config): AsyncGenerator<CheckResult> {
  const shown = host.includes(':') ? `[${host}]` : host
  const place = `${shown}:${port}`
  const near = `http://${EVERYWHERE.has(shown) ? 'localhost' : shown}:${port}`
  const answer = await fetch(`${near}/healthz`, {
    signal: AbortSignal.timeout(5000),
    redirect: 'manual',
  }).catch((error: Error) => error)
  if (answer instanceof Error) {
    const { code } = (answer.cause ?? {}) as { code?: string }
    const found = `${place}: ${wordsOf(answer.cause ?? answer)}`
    yield code === 'ECONNREFUSED'
      ? fine('listen', `${place} is free`)
      : warning('listen', found, 'see who listens there (ss -ltnp), or give another --listen')
    return
  }
  const isHealthy = await answer.json().then(
    (body) => answer.ok && (body as { status?: unknown }).status === 'ok',
    () => false,
  )
  if (!isHealthy) {
    const advice = 'stop it, or give another --listen'
    yield broken('listen', `${place} is taken by another program`, advice)
    return
  }
  yield fine('listen', `a service runs at ${place}`)
  yield await checkForwarding(near)
}

/** Only a service that runs knows who sends it requests. */
async function checkForwarding(service: string): Promise<CheckResult> {
  const answer = await fetch(`${service}/metrics`, { signal: AbortSignal.timeout(5000) })
  const counted = new RegExp(`^${UNTRUSTED_FORWARDING} (\\d+)$`, 'm').exec(await answer.text())
  const times = Number(counted?.[1] ?? 0)
  if (times === 0) return fine('trusted-proxies', 'no request was forwarded by anyone else')
  return warning(
    'trusted-proxies',
    `${times} requests had x-forwarded-for from an address that is not trusted`,
    'add your proxy to --trusted-proxies; the log names the addresses',
  )
}
