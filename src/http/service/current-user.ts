import type { components } from '@octokit/openapi-types'
import type { FastifyInstance } from 'fastify'
import type { Account } from '../../accounts/account.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { countPublic } from '../../repositories/repository-store.ts'
import { getCurrentUser } from '../description/openapi-service.ts'
import { viewerOf } from '../door/authenticate.ts'
import { answer, isKnown, notModified } from '../door/json-answer.ts'
import { utcTimestamp } from '../door/timestamps.ts'
import { userJson } from '../migrations/github-json.ts'
import type { ServerParts } from '../server-parts.ts'

/** Clients ask who they are before anything else. */
export function currentUser(app: FastifyInstance, { db, rendering }: ServerParts): void {
  app.get('/user', { schema: getCurrentUser }, async (request, reply) => {
    const { account } = viewerOf(request)
    const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
    if (isKnown(request, reply, [JSON.stringify(body)])) return notModified(reply)
    return answer(reply, body)
  })
}

export function currentUserJson(account: Account, publicCount: number, addresses: Addresses) {
  const since = utcTimestamp(account.createdAt)
  return {
    ...userJson(account, addresses),
    name: null,
    company: null,
    blog: null,
    location: null,
    email: null,
    hireable: null,
    bio: null,
    public_repos: publicCount,
    // A git host keeps no gists and nobody follows anybody.
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: since,
    updated_at: since,
  } satisfies components['schemas']['public-user']
}
