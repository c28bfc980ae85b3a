import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
import type { Authenticator } from '../../accounts/authenticator.ts'
import type { Soon } from '../../db/soon.ts'
import { requiresAuthentication } from './refusals.ts'

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer | null
  }
}

/** `authorization: bearer T` or `token T`, in any letter case: clients in the field send both. */
const CREDENTIALS = /^(?:bearer|token) +(\S+) *$/i

export function tokenIn(authorization: string): string | undefined {
  return CREDENTIALS.exec(authorization)?.[1]
}

/** Undefined for credentials that are not good. */
export function authenticate(
  { viewerOf }: Authenticator,
  authorization: string,
): Soon<Viewer | undefined> {
  const token = tokenIn(authorization)
  return token === undefined ? undefined : viewerOf(token)
}

export function viewerOf(request: FastifyRequest): Viewer {
  if (!request.viewer) throw requiresAuthentication()
  return request.viewer
}
