import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
import type { Authenticator } from '../../accounts/authenticator.ts'
import { requiresAuthentication } from './refusals.ts'

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer | null
  }
}

/** `authorization: bearer T` or `token T`, in any letter case: clients in the field send both. */
const CREDENTIALS = /^(?:bearer|token) +(\S+) *$/i

export const tokenIn = (authorization: string): string | undefined =>
  CREDENTIALS.exec(authorization)?.[1]

/** Undefined for credentials that are not good; `mayAskNew` as the authenticator has it. */
export function authenticate(
  { viewerOf }: Authenticator,
  authorization: string,
  mayAskNew: boolean,
): Promise<Viewer | undefined> {
  const token = tokenIn(authorization)
  return token === undefined ? Promise.resolve(undefined) : viewerOf(token, mayAskNew)
}

export function viewerOf(request: FastifyRequest): Viewer {
  if (!request.viewer) throw requiresAuthentication()
  return request.viewer
}
