import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

export type Address = { address: string; family: 4 | 6 }

/** Returns all addresses of a host. Throws if there are none. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<Address[]>

const DNS_TIMEOUT_MS = 4000

/**
 * Queries name servers directly. getaddrinfo would block one of the few threads that also read and write files: a name server that does
 * not respond would delay exports. Names in /etc/hosts are used as well.
 */
export function createResolver({ servers }: { servers?: string[] } = {}): Resolve {
  return async (host, signal) => {
    if (isIP(host)) return [addressOf(host)]
    const listed = await inHostsFile(host)
    if (listed.length > 0) return listed
    const dns = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 1 })
    if (servers) dns.setServers(servers)
    const stop = () => dns.cancel()
    signal.addEventListener('abort', stop, { once: true })
    try {
      const lookups = await Promise.allSettled([dns.resolve4(host), dns.resolve6(host)])
      signal.throwIfAborted()
      const found = lookups.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
      const [first] = lookups
      if (found.length === 0) throw first.status === 'rejected' ? first.reason : noSuchName()
      return found.map(addressOf)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

const noSuchName = () => Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })

const addressOf = (address: string): Address => ({ address, family: isIP(address) === 6 ? 6 : 4 })

async function inHostsFile(host: string): Promise<Address[]> {
  const text = await readFile('/etc/hosts', 'utf8').catch(() => '')
  const name = host.toLowerCase().replace(/\.$/, '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return isIP(address) && names.includes(name) ? [addressOf(address)] : []
  })
}
