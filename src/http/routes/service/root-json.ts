import type { components } from '@octokit/openapi-types'
import type { Addresses } from '../../../repositories/addresses.ts'
import type * as wire from '../../../wire/types.ts'
import { previewTypeOf } from '../../middleware/api-headers.ts'

/** The URLs of GitHub's API. This server does not serve all of them. */
export function rootJson(addresses: Addresses, vendor: string, signIn: wire.Root['sign_in']) {
  const { api } = addresses
  const search = (type: string) => `${api}/search/${type}?q={query}{&page,per_page,sort,order}`
  return {
    current_user_url: `${api}/user`,
    current_user_authorizations_html_url: `${addresses.userHtml('settings')}/connections/applications{/client_id}`,
    authorizations_url: `${api}/authorizations`,
    code_search_url: search('code'),
    commit_search_url: search('commits'),
    emails_url: `${api}/user/emails`,
    emojis_url: `${api}/emojis`,
    events_url: `${api}/events`,
    feeds_url: `${api}/feeds`,
    followers_url: `${api}/user/followers`,
    following_url: `${api}/user/following{/target}`,
    gists_url: `${api}/gists{/gist_id}`,
    issue_search_url: search('issues'),
    issues_url: `${api}/issues`,
    keys_url: `${api}/user/keys`,
    label_search_url: `${api}/search/labels?q={query}&repository_id={repository_id}{&page,per_page}`,
    notifications_url: `${api}/notifications`,
    organization_url: `${api}/orgs/{org}`,
    organization_repositories_url: `${api}/orgs/{org}/repos{?type,page,per_page,sort}`,
    organization_teams_url: `${api}/orgs/{org}/teams`,
    public_gists_url: `${api}/gists/public`,
    rate_limit_url: `${api}/rate_limit`,
    repository_url: `${api}/repos/{owner}/{repo}`,
    repository_search_url: search('repositories'),
    current_user_repositories_url: `${api}/user/repos{?q,type,page,per_page,sort}`,
    starred_url: `${api}/user/starred{/owner}{/repo}`,
    starred_gists_url: `${api}/gists/starred`,
    topic_search_url: `${api}/search/topics?q={query}{&page,per_page}`,
    user_url: `${api}/users/{user}`,
    user_organizations_url: `${api}/user/orgs`,
    user_repositories_url: `${api}/users/{user}/repos{?type,page,per_page,sort}`,
    user_search_url: search('users'),
    // GitHub does not have these fields.
    user_migrations_url: `${api}/user/migrations{?page,per_page}`,
    user_migration_url: `${api}/user/migrations/{migration_id}`,
    documentation_url: addresses.documentation,
    repository_ssh_url: addresses.ssh,
    media_type: previewTypeOf(vendor),
    sign_in: signIn,
  } satisfies components['schemas']['root'] & wire.Root
}
