import {
  address,
  addressTemplate,
  all,
  count,
  flag,
  integer,
  moment,
  recordOf,
  schemaNamed,
  text,
} from '../description/json-schema.ts'

export const organizationSchema = recordOf(
  {
    login: text,
    id: integer,
    node_id: { ...text, description: 'Opaque.' },
    ...all(['url', 'repos_url', 'events_url', 'hooks_url', 'issues_url', 'avatar_url'], address),
    ...all(['members_url', 'public_members_url'], addressTemplate),
    description: { ...text, description: 'Always empty.' },
  },
  { description: 'An organization.' },
)

export const fullOrganizationSchema = recordOf(
  {
    ...organizationSchema.properties,
    name: text,
    ...all(['has_organization_projects', 'has_repository_projects'], flag),
    public_repos: { ...count, description: 'Number of public repositories.' },
    ...all(['public_gists', 'followers', 'following'], {
      ...count,
      description: 'Always 0: a git host has none.',
    }),
    html_url: address,
    type: { const: 'Organization' },
    created_at: { ...moment, description: 'When the account was created here.' },
    updated_at: moment,
    archived_at: { type: 'null' },
  },
  { description: 'An organization, with more about it.' },
)

export const organizationMembershipSchema = recordOf(
  {
    url: address,
    state: { const: 'active' },
    role: { ...text, enum: ['admin', 'member'], description: '`admin` for owners.' },
    organization_url: address,
    organization: schemaNamed('organization'),
    user: schemaNamed('user'),
  },
  { description: 'The membership of an account in an organization.' },
)
