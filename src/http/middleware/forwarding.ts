import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { addressKey } from './caller-key.ts'

const WARN_INTERVAL_MS = 3_600_000
const MAX_ADDRESSES = 1000

/** The metric that counts these requests. `godwit doctor` reads it. */
export const UNTRUSTED_FORWARDING = 'godwit_http_untrusted_forwarding_total'

export type Forwarding = ReturnType<typeof watchForwarding>

/**
 * Behind a proxy that is not trusted, every caller seems to have the address of the proxy: in the log, and where failed logins are
 * counted. The warning is logged once an hour for each address, because any client can send the header.
 */
export function watchForwarding(log: Logger, now: () => number) {
  const warned = new Set<string>()
  let warnedSince = now()
  let untrusted = 0

  function warnOnce(address: string): void {
    if (Math.abs(now() - warnedSince) >= WARN_INTERVAL_MS) {
      warned.clear()
      warnedSince = now()
    }
    const key = addressKey(address)
    if (warned.has(key) || warned.size >= MAX_ADDRESSES) return
    warned.add(key)
    log.warn(
      { address },
      'x-forwarded-for from an untrusted address: if this is your proxy, add it to --trusted-proxies',
    )
  }

  return {
    /** Warns if a request has `x-forwarded-for` but its sender is not a trusted proxy. */
    check({ headers, ips, socket }: FastifyRequest): void {
      if (!headers['x-forwarded-for']) return
      const isTrusted = ips !== undefined && ips.length > 1
      if (isTrusted) return
      untrusted++
      warnOnce(socket.remoteAddress ?? '')
    },
    /** Returns how many such requests there were. */
    untrusted: () => untrusted,
  }
}
