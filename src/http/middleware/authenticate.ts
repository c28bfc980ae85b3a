import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
import { requiresAuthentication } from './http-errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller, or null for an anonymous request. */
    viewer: Viewer | null
  }
}

/** Matches `Bearer TOKEN` and `token TOKEN`, in any letter case. Clients send both. */
const CREDENTIALS = /^(?:bearer|token) +(\S+) *$/i

/** Returns the token in an `authorization` header, or undefined if the header uses another scheme or is malformed. */
export const parseToken = (authorization: string): string | undefined =>
  CREDENTIALS.exec(authorization)?.[1]

/** Returns the authenticated caller. Throws a 401 error if the request is anonymous. */
export function viewerOf(request: FastifyRequest): Viewer {
  if (!request.viewer) throw requiresAuthentication()
  return request.viewer
}
