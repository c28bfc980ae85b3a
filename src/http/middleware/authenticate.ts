import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
import { requiresAuthentication } from './http-errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer | null
  }
}

/** `authorization: bearer T` or `token T`, in any letter case: clients send both. */
const CREDENTIALS = /^(?:bearer|token) +(\S+) *$/i

/** Returns the token of an `authorization` header, or undefined if the header has another form. */
export const parseToken = (authorization: string): string | undefined =>
  CREDENTIALS.exec(authorization)?.[1]

/** Returns the caller of a request. Throws 401 if it is anonymous. */
export function viewerOf(request: FastifyRequest): Viewer {
  if (!request.viewer) throw requiresAuthentication()
  return request.viewer
}
