import { BlockList, isIP, isIPv4 } from 'node:net'
import { unwrapIPv4 } from '../ip-address.ts'

/** IPv4 networks that are not public: private, local, reserved or multicast. */
const NOT_PUBLIC_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
]

/** All public IPv6 addresses are in here, except the networks for documentation and for embedded IPv4 addresses below. */
const PUBLIC_IPV6 = ['2000::/3']
const NOT_PUBLIC_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

export type IsAddressAllowed = (address: string) => boolean

/** Allows public addresses, and those of the networks that the operator configured. */
export function createAddressFilter(networks: readonly string[]): IsAddressAllowed {
  const isConfigured = createNetworkFilter(networks)
  return (address) => isConfigured(address) || isPublic(unwrapIPv4(address))
}

/** Allows only addresses of these networks. */
export function createNetworkFilter(networks: readonly string[]): IsAddressAllowed {
  const list = listOf(networks)
  return (address) => isIn(list, unwrapIPv4(address))
}

const notPublic = listOf([...NOT_PUBLIC_IPV4, ...NOT_PUBLIC_IPV6])
const public6 = listOf(PUBLIC_IPV6)

function isPublic(address: string): boolean {
  if (isIP(address) === 0 || isIn(notPublic, address)) return false
  return isIPv4(address) || isIn(public6, address)
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const type = isIPv4(address) ? 'ipv4' : 'ipv6'
    list.addSubnet(address, Number(bits ?? (type === 'ipv4' ? 32 : 128)), type)
  }
  return list
}

const isIn = (list: BlockList, address: string): boolean =>
  list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
