import * as S from './schema.ts'

export const userSchema = S.described('A person or an organization.', {
  login: S.string.describe('In the spelling of the host. Comparisons ignore case.'),
  id: S.integer,
  node_id: S.string.describe('An opaque identifier.'),
  ...S.each(['avatar_url', 'url', 'html_url'], S.uri),
  gravatar_id: S.string.describe('Always empty.'),
  ...S.each(['following_url', 'gists_url', 'starred_url', 'events_url'], S.uriTemplate),
  ...S.each(
    ['followers_url', 'subscriptions_url', 'organizations_url', 'repos_url', 'received_events_url'],
    S.uri,
  ),
  type: S.enumOf(['User', 'Organization']),
  site_admin: S.boolean,
})

export const currentUserSchema = S.described('The account of the token.', {
  ...userSchema.properties,
  ...S.each(['name', 'company', 'location', 'email', 'bio'], S.stringOrNull),
  blog: S.nullable(S.uri),
  hireable: S.nullable(S.boolean),
  public_repos: S.count.describe('Number of public repositories.'),
  ...S.each(['public_gists', 'followers', 'following'], S.alwaysZero),
  created_at: S.dateTime.describe('When the account was created here.'),
  updated_at: S.dateTime,
})

export const sessionSchema = S.object(
  {
    user: S.nullable(S.ref<CurrentUser>('current-user')),
    organization: S.stringOrNull.describe(
      'The only organization in which the session is valid; null for all.',
    ),
    tokens_managed_until: S.dateTimeOrNull.describe(
      'Until when the session may create and revoke tokens; null if it may not.',
    ),
  },
  {
    description: 'Who is signed in with this browser.',
    optional: ['organization', 'tokens_managed_until'],
  },
)

/** Parts of GitHub's API that this server does not have. Clients require their limits. */
export const UNSERVED_RESOURCES = ['search', 'graphql', 'integration_manifest'] as const

const rate = S.object({
  limit: S.count.describe('Maximum number of requests per hour.'),
  remaining: S.count,
  used: S.count,
  reset: S.count.describe('Time when the limit is reset, in seconds since 1970 (UTC).'),
  resource: S.enumOf(['core', ...UNSERVED_RESOURCES]),
})

export const rateLimitSchema = S.described('The rate limit of the caller.', {
  resources: S.object(S.each(['core', ...UNSERVED_RESOURCES], rate)),
  rate,
})

export type User = S.Static<typeof userSchema>
export type CurrentUser = S.Static<typeof currentUserSchema>
export type Session = S.Static<typeof sessionSchema>
export type RateLimit = S.Static<typeof rateLimitSchema>

export const organizationSchema = S.described('An organization.', {
  login: S.string,
  id: S.integer,
  node_id: S.string.describe('An opaque identifier.'),
  ...S.each(['url', 'repos_url', 'events_url', 'hooks_url', 'issues_url', 'avatar_url'], S.uri),
  ...S.each(['members_url', 'public_members_url'], S.uriTemplate),
  description: S.string.describe('Always empty.'),
})

export const fullOrganizationSchema = S.described('An organization with all of its fields.', {
  ...organizationSchema.properties,
  name: S.string,
  ...S.each(['has_organization_projects', 'has_repository_projects'], S.boolean),
  public_repos: S.count.describe('Number of public repositories.'),
  ...S.each(['public_gists', 'followers', 'following'], S.alwaysZero),
  html_url: S.uri,
  type: S.literal('Organization'),
  created_at: S.dateTime.describe('When the account was created here.'),
  updated_at: S.dateTime,
  archived_at: S.nullSchema,
})

export const organizationMembershipSchema = S.described(
  'The membership of an account in an organization.',
  {
    url: S.uri,
    state: S.literal('active'),
    role: S.enumOf(['admin', 'member']).describe('`admin` for owners.'),
    organization_url: S.uri,
    organization: S.ref<Organization>('organization'),
    user: S.ref<User>('user'),
  },
)

export type Organization = S.Static<typeof organizationSchema>
export type FullOrganization = S.Static<typeof fullOrganizationSchema>
export type OrganizationMembership = S.Static<typeof organizationMembershipSchema>
