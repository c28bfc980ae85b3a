import type * as wire from '@godwit/contract/schemas/types'
import type { components } from '@octokit/openapi-types'
import type { Account, Member } from '../../accounts/account.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { nodeId, utcTimestamp } from './rendering.ts'
import { userJson } from './user-json.ts'

type Schemas = components['schemas']

export function organizationJson({ id, login }: Account, addresses: Addresses) {
  const url = `${addresses.api}/orgs/${login}`
  return {
    login,
    id,
    node_id: nodeId('Organization', id),
    url,
    repos_url: `${url}/repos`,
    events_url: `${url}/events`,
    hooks_url: `${url}/hooks`,
    issues_url: `${url}/issues`,
    members_url: `${url}/members{/member}`,
    public_members_url: `${url}/public_members{/member}`,
    avatar_url: addresses.avatar(id),
    description: '',
  } satisfies Schemas['organization-simple'] & wire.Organization
}

export function fullOrganizationJson(account: Account, publicCount: number, addresses: Addresses) {
  const createdAt = utcTimestamp(account.createdAt)
  return {
    ...organizationJson(account, addresses),
    name: account.login,
    has_organization_projects: false,
    has_repository_projects: false,
    public_repos: publicCount,
    // Godwit has neither gists nor followers.
    public_gists: 0,
    followers: 0,
    following: 0,
    html_url: addresses.userHtml(account.login),
    type: 'Organization' as const,
    created_at: createdAt,
    updated_at: createdAt,
    archived_at: null,
  } satisfies Schemas['organization-full'] & wire.FullOrganization
}

export function membershipJson(
  { account: organization, role }: Member,
  member: Account,
  addresses: Addresses,
) {
  const json = organizationJson(organization, addresses)
  return {
    url: `${json.url}/memberships/${member.login}`,
    state: 'active' as const,
    role: role === 'owner' ? ('admin' as const) : ('member' as const),
    organization_url: json.url,
    organization: json,
    user: userJson(member, addresses),
  } satisfies Schemas['org-membership'] & wire.OrganizationMembership
}
