import {
  boolean,
  count,
  dateTime,
  each,
  enumOf,
  integer,
  nullable,
  object,
  ref,
  type Static,
  string,
  uri,
  uriTemplate,
} from './schema.ts'

export const userSchema = object(
  {
    login: { ...string, description: 'In the spelling of the host. Comparisons ignore case.' },
    id: integer,
    node_id: { ...string, description: 'An opaque identifier.' },
    ...each(['avatar_url', 'url', 'html_url'], uri),
    gravatar_id: { ...string, description: 'Always empty.' },
    ...each(['following_url', 'gists_url', 'starred_url', 'events_url'], uriTemplate),
    ...each(
      [
        'followers_url',
        'subscriptions_url',
        'organizations_url',
        'repos_url',
        'received_events_url',
      ],
      uri,
    ),
    type: enumOf(['User', 'Organization']),
    site_admin: boolean,
  },
  { description: 'A person or an organization.' },
)

export const currentUserSchema = object(
  {
    ...userSchema.properties,
    ...each(['name', 'company', 'location', 'email', 'bio'], nullable(string)),
    blog: nullable(uri),
    hireable: nullable(boolean),
    public_repos: { ...count, description: 'Number of public repositories.' },
    ...each(['public_gists', 'followers', 'following'], {
      ...count,
      description: 'Always 0: Godwit does not count these.',
    }),
    created_at: { ...dateTime, description: 'When the account was created here.' },
    updated_at: dateTime,
  },
  { description: 'The account of the token.' },
)

export const sessionSchema = object(
  { user: nullable(ref<CurrentUser>('current-user')) },
  { description: 'Who is signed in with this browser.' },
)

const rate = object({
  limit: { ...count, description: 'Maximum number of requests per hour; 0 for no limit.' },
  remaining: count,
  used: count,
  reset: { ...count, description: 'Time when the limit is reset, in seconds since 1970 (UTC).' },
  resource: enumOf(['core', 'search']),
})

export const rateLimitSchema = object(
  { resources: object({ core: rate, search: rate }), rate },
  { description: 'The rate limit of the caller.' },
)

export type User = Static<typeof userSchema>
export type CurrentUser = Static<typeof currentUserSchema>
export type Session = Static<typeof sessionSchema>
export type RateLimit = Static<typeof rateLimitSchema>
