import type { Account } from './account.ts'

export const membershipRoles = ['owner', 'member'] as const
export type MembershipRole = (typeof membershipRoles)[number]

/** Who granted a membership: a command of the operator, the members file of the organization, or the forge. */
export type MembershipOrigin = 'manual' | 'file' | 'forge'

export interface Membership {
  organization: Account
  member: Account
  role: MembershipRole
  origin: MembershipOrigin
}

/** A member by all origins together: an owner by any of them is an owner. */
export interface Member {
  account: Account
  role: MembershipRole
}
