import { accountTypes } from '../../accounts/account.ts'
import {
  address,
  addressOrNull,
  addressTemplate,
  all,
  count,
  flag,
  integer,
  moment,
  orNull,
  recordOf,
  schemaNamed,
  text,
  textOrNull,
} from '../description/json-schema.ts'

export const userSchema = recordOf(
  {
    login: {
      ...text,
      description: 'Shown as on the host; case is ignored when compared.',
    },
    id: integer,
    node_id: { ...text, description: 'Opaque.' },
    ...all(['avatar_url', 'url', 'html_url'], address),
    gravatar_id: { ...text, description: 'Always empty.' },
    ...all(['following_url', 'gists_url', 'starred_url', 'events_url'], addressTemplate),
    ...all(
      [
        'followers_url',
        'subscriptions_url',
        'organizations_url',
        'repos_url',
        'received_events_url',
      ],
      address,
    ),
    type: { ...text, enum: [...accountTypes] },
    site_admin: flag,
  },
  { description: 'A person or an organization.' },
)

export const currentUserSchema = recordOf(
  {
    ...userSchema.properties,
    ...all(['name', 'company', 'location', 'email', 'bio'], textOrNull),
    blog: addressOrNull,
    hireable: { type: ['boolean', 'null'] },
    public_repos: { ...count, description: 'Number of public repositories.' },
    ...all(['public_gists', 'followers', 'following'], {
      ...count,
      description: 'Always 0: a git host has none.',
    }),
    created_at: { ...moment, description: 'When the account was created here.' },
    updated_at: moment,
  },
  { description: 'The account of the token.' },
)

export const sessionSchema = recordOf(
  { user: orNull(schemaNamed('current-user')) },
  { description: 'Who is signed in with this browser.' },
)

const rate = recordOf({
  limit: { ...count, description: 'Maximum number of requests per hour; 0 for no limit.' },
  remaining: count,
  used: count,
  reset: { ...count, description: 'Time when the limit is reset, in seconds since 1970 (UTC).' },
  resource: { ...text, enum: ['core', 'search'] },
})

export const rateLimitSchema = recordOf(
  { resources: recordOf({ core: rate, search: rate }), rate },
  { description: 'The rate limit of the caller.' },
)
