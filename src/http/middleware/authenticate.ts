import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
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

export function viewerOf(request: FastifyRequest): Viewer {
  if (!request.viewer) throw requiresAuthentication()
  return request.viewer
}
