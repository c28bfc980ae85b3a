import * as s from './schema.ts'
import type { User } from './user.ts'

export const organizationSchema = s.described('An organization.', {
  login: s.string,
  id: s.integer,
  node_id: s.string.describe('An opaque identifier.'),
  ...s.each(['url', 'repos_url', 'events_url', 'hooks_url', 'issues_url', 'avatar_url'], s.uri),
  ...s.each(['members_url', 'public_members_url'], s.uriTemplate),
  description: s.string.describe('Always empty.'),
})

export const fullOrganizationSchema = s.described('An organization with all of its fields.', {
  ...organizationSchema.properties,
  name: s.string,
  ...s.each(['has_organization_projects', 'has_repository_projects'], s.boolean),
  public_repos: s.count.describe('Number of public repositories.'),
  ...s.each(['public_gists', 'followers', 'following'], s.alwaysZero),
  html_url: s.uri,
  type: s.literal('Organization'),
  created_at: s.dateTime.describe('When the account was created here.'),
  updated_at: s.dateTime,
  archived_at: s.nullSchema,
})

export const organizationMembershipSchema = s.described(
  'The membership of an account in an organization.',
  {
    url: s.uri,
    state: s.literal('active'),
    role: s.enumOf(['admin', 'member']).describe('`admin` for owners.'),
    organization_url: s.uri,
    organization: s.ref<Organization>('organization'),
    user: s.ref<User>('user'),
  },
)

export type Organization = s.Static<typeof organizationSchema>
export type FullOrganization = s.Static<typeof fullOrganizationSchema>
export type OrganizationMembership = s.Static<typeof organizationMembershipSchema>
