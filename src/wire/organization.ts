import {
  boolean,
  count,
  dateTime,
  each,
  enumOf,
  integer,
  literal,
  nullSchema,
  object,
  ref,
  type Static,
  string,
  uri,
  uriTemplate,
} from './schema.ts'
import type { User } from './user.ts'

export const organizationSchema = object(
  {
    login: string,
    id: integer,
    node_id: { ...string, description: 'An opaque identifier.' },
    ...each(['url', 'repos_url', 'events_url', 'hooks_url', 'issues_url', 'avatar_url'], uri),
    ...each(['members_url', 'public_members_url'], uriTemplate),
    description: { ...string, description: 'Always empty.' },
  },
  { description: 'An organization.' },
)

export const fullOrganizationSchema = object(
  {
    ...organizationSchema.properties,
    name: string,
    ...each(['has_organization_projects', 'has_repository_projects'], boolean),
    public_repos: { ...count, description: 'Number of public repositories.' },
    ...each(['public_gists', 'followers', 'following'], {
      ...count,
      description: 'Always 0: Godwit does not count these.',
    }),
    html_url: uri,
    type: literal('Organization'),
    created_at: { ...dateTime, description: 'When the account was created here.' },
    updated_at: dateTime,
    archived_at: nullSchema,
  },
  { description: 'An organization with all of its fields.' },
)

export const organizationMembershipSchema = object(
  {
    url: uri,
    state: literal('active'),
    role: { ...enumOf(['admin', 'member']), description: '`admin` for owners.' },
    organization_url: uri,
    organization: ref<Organization>('organization'),
    user: ref<User>('user'),
  },
  { description: 'The membership of an account in an organization.' },
)

export type Organization = Static<typeof organizationSchema>
export type FullOrganization = Static<typeof fullOrganizationSchema>
export type OrganizationMembership = Static<typeof organizationMembershipSchema>
