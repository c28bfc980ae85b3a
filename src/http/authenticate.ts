import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../accounts/account.ts'
import type { Authenticator } from '../accounts/authenticator.ts'
import { badCredentials, requiresAuthentication } from './refusals.ts'

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer | null
  }
}

/** `authorization: bearer T` or `token T`, in any letter case: clients in the field send both. */
const CREDENTIALS = /^(?:bearer|token) +(\S+) *$/i

export async function authenticate(
  { viewerOf }: Authenticator,
  authorization: string | undefined,
): Promise<Viewer> {
  if (!authorization) throw requiresAuthentication()
  const token = CREDENTIALS.exec(authorization)?.[1]
  const viewer = token && (await viewerOf(token))
  if (!viewer) throw badCredentials()
  return viewer
}

export function viewerOf(request: FastifyRequest): Viewer {
  if (!request.viewer) throw requiresAuthentication()
  return request.viewer
}
