import * as s from './schema.ts'

export const userSchema = s.described('A person or an organization.', {
  login: s.string.describe('In the spelling of the host. Comparisons ignore case.'),
  id: s.integer,
  node_id: s.string.describe('An opaque identifier.'),
  ...s.each(['avatar_url', 'url', 'html_url'], s.uri),
  gravatar_id: s.string.describe('Always empty.'),
  ...s.each(['following_url', 'gists_url', 'starred_url', 'events_url'], s.uriTemplate),
  ...s.each(
    ['followers_url', 'subscriptions_url', 'organizations_url', 'repos_url', 'received_events_url'],
    s.uri,
  ),
  type: s.enumOf(['User', 'Organization']),
  site_admin: s.boolean,
})

export const currentUserSchema = s.described('The account of the token.', {
  ...userSchema.properties,
  ...s.each(['name', 'company', 'location', 'email', 'bio'], s.stringOrNull),
  blog: s.nullable(s.uri),
  hireable: s.nullable(s.boolean),
  public_repos: s.count.describe('Number of public repositories.'),
  ...s.each(['public_gists', 'followers', 'following'], s.alwaysZero),
  created_at: s.dateTime.describe('When the account was created here.'),
  updated_at: s.dateTime,
})

export const sessionSchema = s.object(
  {
    user: s.nullable(s.ref<CurrentUser>('current-user')),
    organization: s.stringOrNull.describe(
      'The only organization in which the session is valid; null for all.',
    ),
    tokens_managed_until: s.dateTimeOrNull.describe(
      'Until when the session may create and revoke tokens; null if it may not.',
    ),
  },
  {
    description: 'Who is signed in with this browser.',
    optional: ['organization', 'tokens_managed_until'],
  },
)

const rate = s.object({
  limit: s.count.describe('Maximum number of requests per hour; 0 for no limit.'),
  remaining: s.count,
  used: s.count,
  reset: s.count.describe('Time when the limit is reset, in seconds since 1970 (UTC).'),
  resource: s.enumOf(['core', 'search']),
})

export const rateLimitSchema = s.described('The rate limit of the caller.', {
  resources: s.object({ core: rate, search: rate }),
  rate,
})

export type User = s.Static<typeof userSchema>
export type CurrentUser = s.Static<typeof currentUserSchema>
export type Session = s.Static<typeof sessionSchema>
export type RateLimit = s.Static<typeof rateLimitSchema>
