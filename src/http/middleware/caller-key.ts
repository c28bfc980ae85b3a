import type { FastifyRequest } from 'fastify'

/** Returns the key under which limits count a request: the account, or the IP address of an anonymous caller. */
export function callerKey({ viewer, ip }: Pick<FastifyRequest, 'viewer' | 'ip'>): string {
  return viewer ? `account ${viewer.account.id}` : `address ${addressKey(ip)}`
}

/**
 * Returns the key under which limits count an IP address: the address itself for IPv4, and the /64 network for IPv6, because a
 * client with one IPv6 address usually has all 2^64 of its network. An IPv4 address in IPv6 notation counts as IPv4. Text that is
 * not an address (a trusted proxy may forward anything) is its own key.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address
  const groups = ipv6Groups(address)
  if (!groups) return address
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** Returns the eight 16-bit groups of an IPv6 address, or undefined if the text is not an IPv6 address. */
function ipv6Groups(address: string): number[] | undefined {
  // A zone, as in `fe80::1%eth0`, is ignored.
  const [text = ''] = address.split('%')
  const [head = '', tail, ...more] = text.split('::')
  if (more.length > 0) return undefined
  const before = parseGroups(head)
  const after = parseGroups(tail ?? '')
  const missing = 8 - before.length - after.length
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined
  const groups = [...before, ...new Array<number>(missing).fill(0), ...after]
  return groups.some(Number.isNaN) ? undefined : groups
}

/** Parses the groups on one side of `::`. An IPv4 address becomes two groups; an invalid group becomes NaN. */
function parseGroups(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    const [a, b, c, d] =
      /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(group)?.slice(1).map(Number) ?? []
    if (d !== undefined) return [(a! << 8) | b!, (c! << 8) | d]
    return /^[\da-f]{1,4}$/i.test(group) ? Number.parseInt(group, 16) : Number.NaN
  })
}
