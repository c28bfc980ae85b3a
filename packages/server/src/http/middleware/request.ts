import { isIP, isIPv6 } from 'node:net'
import { canonicalIPv6, unwrapIPv4 } from '@godwit/lib/ip-address'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
import { type Actor, NOT_SIGNED_IN, viewerAsActor } from '../../accounts/audit-log.ts'
import { requiresAuthentication } from './http-errors.ts'

export type WithQuery = { Querystring: Record<string, unknown> }

/** Returns the id in a text, or undefined if the text is not an id. */
export const parseId = (text: unknown): number | undefined =>
  typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** Returns the id in a path. Throws 404 if it is not a number. */
export const requireId = (text: string | undefined): number => requireFound(parseId(text))

/** Throws 404 if the value is undefined: it does not exist, or the caller may not see it. */
export function requireFound<T>(value: T | undefined): T {
  if (value === undefined) throw new NotFound()
  return value
}

/** Returns the authenticated caller. Throws a 401 error if the request is anonymous. */
export function requireViewer(request: FastifyRequest): Viewer {
  if (!request.viewer) throw requiresAuthentication()
  return request.viewer
}

/** Returns the caller for the audit log. */
export const actorOf = ({ viewer, ip, id }: FastifyRequest): Actor => ({
  ...(viewer ? viewerAsActor(viewer) : NOT_SIGNED_IN),
  // A trusted proxy may forward anything.
  ...(isIP(ip) && { address: ip }),
  requestId: id,
})

/** An address with a port or in brackets, as some proxies send it. */
const WITH_PORT = /^"?(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?"?$/

/** Removes the ports from `x-forwarded-for`: with them, every connection of a client would seem to have an address of its own. */
export function removeForwardedPorts({ raw }: FastifyRequest, _reply: unknown, done: () => void) {
  const name = 'x-forwarded-for'
  const sent = raw.headers[name]
  if (sent !== undefined) {
    const entries = String(sent).split(',')
    raw.headers[name] = entries.map((entry) => addressIn(entry.trim())).join(', ')
  }
  done()
}

/** Returns the address in an entry of `x-forwarded-for`, or the entry as it is. */
function addressIn(entry: string): string {
  const [, inBrackets, plain] = WITH_PORT.exec(entry) ?? []
  const address = inBrackets ?? plain ?? ''
  return isIP(address) ? address : entry
}

/** Requests with a token count for the account, requests without one for the address. */
export type Caller = { viewer: Pick<Viewer, 'account'> | null; ip: string }

/** Returns the key under which limits count the requests of a caller. */
export const callerKey = ({ viewer, ip }: Caller): string =>
  viewer ? `account ${viewer.account.id}` : `address ${addressKey(ip)}`

/**
 * Returns the key under which limits count an IP address: the address itself for IPv4, and the /64 network for IPv6, because a
 * client with one IPv6 address usually has all 2^64 of its network. An IPv4 address within an IPv6 address counts as IPv4. Texts that are
 * not addresses share one key: a trusted proxy may forward anything, and its clients could choose a new text for each request.
 */
export function addressKey(address: string): string {
  const unwrapped = unwrapIPv4(address)
  if (!isIPv6(unwrapped)) return isIP(unwrapped) ? unwrapped : 'unknown'
  const [head = [], tail = []] = canonicalIPv6(unwrapped)
    .split('::')
    .map((side) => (side === '' ? [] : side.split(':')))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  const network = [...head, ...zeros, ...tail].slice(0, 4)
  return `${network.join(':')}::/64`
}
