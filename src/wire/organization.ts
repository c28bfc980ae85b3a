import * as S from './schema.ts'
import type { User } from './user.ts'

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
