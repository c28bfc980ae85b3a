import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

export interface Address {
  address: string
  family: 4 | 6
}

/** All addresses of a host. Throws where there are none. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<Address[]>

const TIMEOUT_MS = 4000

/**
 * Asks name servers by itself. The usual way (getaddrinfo) waits in one of the few threads that also read and write files: a
 * name that is never answered would be in the way of exports. Names in /etc/hosts count as they do everywhere.
 */
export function resolver({ servers }: { servers?: string[] } = {}): Resolve {
  return async (host, signal) => {
    if (isIP(host)) return [addressOf(host)]
    const known = await inHostsFile(host)
    if (known.length > 0) return known
    const asking = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
    if (servers) asking.setServers(servers)
    const stop = () => asking.cancel()
    signal.addEventListener('abort', stop, { once: true })
    try {
      const answers = await Promise.allSettled([asking.resolve4(host), asking.resolve6(host)])
      signal.throwIfAborted()
      const found = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
      const [first] = answers
      if (found.length === 0) throw first.status === 'rejected' ? first.reason : noSuchName()
      return found.map(addressOf)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

const noSuchName = () => Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })

const addressOf = (address: string): Address => ({
  address,
  family: isIP(address) === 6 ? 6 : 4,
})

async function inHostsFile(host: string): Promise<Address[]> {
  const text = await readFile('/etc/hosts', 'utf8').catch(() => '')
  const name = host.toLowerCase().replace(/\.$/, '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return isIP(address) && names.includes(name) ? [addressOf(address)] : []
  })
}
