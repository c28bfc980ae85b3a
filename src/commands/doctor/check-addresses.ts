import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { hasCode } from '../../lib/errno.ts'
import type { Config } from '../../settings/config.ts'
import { checkProxy } from './check-proxy.ts'
import { type CheckResult, errorText, failure, passed, warning } from './check-result.ts'

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
    const advice = 'set --base-url to the address that clients use'
    return failure(check, `${baseUrl} is not an address that clients can reach`, advice)
  }
  try {
    if (!isIP(hostname.replace(/^\[|\]$/g, ''))) await lookup(hostname)
  } catch (error) {
    const advice = 'fix --base-url or the DNS name: every link that clients get starts with it'
    return warning(check, `${baseUrl} cannot be resolved: ${errorText(error)}`, advice)
  }
  if (isLoopback(hostname)) {
    if (isLoopback(listen.host)) return passed(check, `${baseUrl}, for this machine only`)
    const advice = 'set --base-url to the address that clients use'
    return warning(check, `${baseUrl} works only on this machine`, advice)
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

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\./.test(host)
}

/** Whether somebody is there already: us, which is well, or another program, which is not. */
async function* checkListen(config: Config): AsyncGenerator<CheckResult> {
  const { host, port } = config.listen
  const shown = host.includes(':') ? `[${host}]` : host
  const place = `${shown}:${port}`
  const near = `http://${EVERYWHERE.has(shown) ? 'localhost' : shown}:${port}`
  const answer = await fetch(`${near}/healthz`, {
    signal: AbortSignal.timeout(5000),
    redirect: 'manual',
  }).catch((error: Error) => error)
  if (answer instanceof Error) {
    const found = `${place}: ${errorText(answer.cause ?? answer)}`
    yield hasCode(answer.cause, 'ECONNREFUSED')
      ? passed('listen', `${place} is free`)
      : warning(
          'listen',
          found,
          'find the program that listens there (ss -ltnp), or set another --listen',
        )
    return
  }
  const isHealthy = await answer.json().then(
    (body) => answer.ok && (body as { status?: unknown }).status === 'ok',
    () => false,
  )
  if (!isHealthy) {
    const advice = 'stop it, or set another --listen'
    yield failure('listen', `${place} is used by another program`, advice)
    return
  }
  yield passed('listen', `a service runs at ${place}`)
  yield await checkForwarding(near)
  yield* checkProxy(config)
}

/** Only a service that runs knows who sends it requests. */
async function checkForwarding(service: string): Promise<CheckResult> {
  const answer = await fetch(`${service}/metrics`, { signal: AbortSignal.timeout(5000) })
  const counted = new RegExp(`^${UNTRUSTED_FORWARDING} (\\d+)$`, 'm').exec(await answer.text())
  const times = Number(counted?.[1] ?? 0)
  if (times === 0)
    return passed('trusted-proxies', 'no request was forwarded by an untrusted proxy')
  return warning(
    'trusted-proxies',
    `${times} requests with x-forwarded-for came from an untrusted address`,
    'add your proxy to --trusted-proxies; the log shows the addresses',
  )
}
