import type * as wire from '@godwit/contract/schemas/types'
import type { components } from '@octokit/openapi-types'
import type { Account } from '../../accounts/account.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { nodeId, utcTimestamp } from './rendering.ts'

type Schemas = components['schemas']

export function userJson(account: Account, addresses: Addresses) {
  const url = `${addresses.api}/users/${account.login}`
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId(account.type, account.id),
    avatar_url: addresses.avatar(account.id),
    gravatar_id: '',
    url,
    html_url: addresses.userHtml(account.login),
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: account.type,
    site_admin: account.siteAdmin,
  } satisfies Schemas['simple-user'] & wire.User
}

export function currentUserJson(account: Account, publicCount: number, addresses: Addresses) {
  const createdAt = utcTimestamp(account.createdAt)
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
    // Godwit has neither gists nor followers.
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: createdAt,
    updated_at: createdAt,
  } satisfies Schemas['public-user'] & wire.CurrentUser
}
