import { isIPv6 } from 'node:net'

/** Returns the canonical spelling of an IPv6 address, which the URL standard defines, without its zone (`fe80::1%eth0`). */
export const canonicalIPv6 = (address: string): string =>
  new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1)

/** Returns the IPv4 address within an IPv6 address: mapped (`::ffff:`), or NAT64 (`64:ff9b::`). Returns other text unchanged. */
export function unwrapIPv4(address: string): string {
  if (!isIPv6(address)) return address
  const match = /^(?:::ffff|64:ff9b:):(\w+):(\w+)$/.exec(canonicalIPv6(address))
  if (!match) return address
  const groups = match.slice(1).map((group) => Number.parseInt(group, 16))
  return groups.flatMap((group) => [group >> 8, group & 0xff]).join('.')
}

/** Returns whether requests to this host, which may be an IPv6 address with or without brackets, stay on this machine. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127\.[\d.]+|::1|\[::1\])$/.test(host)
