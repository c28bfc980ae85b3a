import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { addressKey } from './address-key.ts'

const HOUR = 3_600_000
const MAX_ADDRESSES = 1000

/** The metric that counts them; `godwit doctor` looks at it too. */
export const UNTRUSTED_FORWARDING = 'godwit_http_untrusted_forwarding_total'

export interface Forwarding {
  /** Warns where a request names another address than its own and whoever sent it is not trusted to. */
  check(request: FastifyRequest): void
  /** How many such requests there were. */
  untrusted(): number
}

/**
 * Behind a proxy that is not trusted every caller has the proxy's address: in the log, and where bad credentials are counted.
 * It is told once an hour for each address, since anyone can send the header.
 */
export function watchForwarding(log: Logger, now: () => number): Forwarding {
  const told = new Set<string>()
  let toldSince = now()
  let untrusted = 0

  function warnOnce(address: string): void {
    if (Math.abs(now() - toldSince) >= HOUR) {
      told.clear()
      toldSince = now()
    }
    const key = addressKey(address)
    if (told.has(key) || told.size >= MAX_ADDRESSES) return
    told.add(key)
    log.warn(
      { address },
      'x-forwarded-for from an untrusted address: if this is your proxy, add it to --trusted-proxies',
    )
  }

  return {
    check({ headers, ips, socket }) {
      if (!headers['x-forwarded-for']) return
      const isTrusted = ips !== undefined && ips.length > 1
      if (isTrusted) return
      untrusted++
      warnOnce(socket.remoteAddress ?? '')
    },
    untrusted: () => untrusted,
  }
}
