import type { components } from '@octokit/openapi-types'
import type { Account } from '../../accounts/account.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import type * as wire from '../../wire/types.ts'
import { utcTimestamp } from '../door/timestamps.ts'
import { userJson } from '../migrations/github-json.ts'

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
  } satisfies components['schemas']['public-user'] & wire.CurrentUser
}
