import type { Account } from './account.ts'

export const membershipRoles = ['owner', 'member'] as const
export type MembershipRole = (typeof membershipRoles)[number]

/** By whose word somebody is a member: a command of the operator, the file of the organization, a forge. */
export type MembershipOrigin = 'manual' | 'file' | 'forge'

export interface Membership {
  organization: Account
  member: Account
  role: MembershipRole
  origin: MembershipOrigin
}

/** A member by everyone's word: who is an owner by any of them is one. */
export interface Member {
  account: Account
  role: MembershipRole
}
