/**
 * Returns the key under which limits count a client's address. It is the address itself for IPv4, and the /64 network for IPv6:
 * whoever has one IPv6 address has all 2^64 of its network. An IPv4 address that is written as IPv6 counts as IPv4. Text that is no
 * address (a trusted proxy may forward anything) is its own key.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address
  const groups = groupsOf(address)
  if (!groups) return address
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** The eight groups of an IPv6 address, or undefined if the text is none. */
function groupsOf(address: string): number[] | undefined {
  const [text = ''] = address.split('%')
  const [head = '', tail, ...more] = text.split('::')
  if (more.length > 0) return undefined
  const before = numbersIn(head)
  const after = numbersIn(tail ?? '')
  const missing = 8 - before.length - after.length
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined
  const groups = [...before, ...new Array<number>(missing).fill(0), ...after]
  return groups.some(Number.isNaN) ? undefined : groups
}

function numbersIn(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    const [a, b, c, d] =
      /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(group)?.slice(1).map(Number) ?? []
    if (d !== undefined) return [(a! << 8) | b!, (c! << 8) | d]
    return /^[\da-f]{1,4}$/i.test(group) ? Number.parseInt(group, 16) : Number.NaN
  })
}
