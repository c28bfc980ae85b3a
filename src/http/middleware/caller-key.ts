import type { FastifyRequest } from 'fastify'
import { addressKey } from './address-key.ts'

/** Returns the key of whoever a request is counted against: its account, or without a token its address. */
export function callerKey({ viewer, ip }: Pick<FastifyRequest, 'viewer' | 'ip'>): string {
  return viewer ? `account ${viewer.account.id}` : `address ${addressKey(ip)}`
}
