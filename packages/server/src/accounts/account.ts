export const accountTypes = ['User', 'Organization'] as const
export type AccountType = (typeof accountTypes)[number]

export interface Account {
  id: number
  login: string
  type: AccountType
  siteAdmin: boolean
  /** Epoch milliseconds: when the account was first seen, or its oldest repository was created, whichever is earlier. */
  createdAt: number
}

/** The authenticated caller. */
export interface Viewer {
  account: Account
  tokenId: number
  /** Set if the request came with the cookie of a browser session. */
  session?: { openedAt: number; digest: string }
  isReadOnly?: true
  /** The id of the only organization in which the token is valid. For other owners, it gives no more access than no token at all. */
  organizationId?: number
}

/** The part of a viewer that decides what they may read. */
export type Reader = Pick<Viewer, 'account' | 'organizationId'>

/** Returns whether the reader's token is valid only for another owner. */
export const isTokenForOtherOwner = ({ organizationId }: Reader, owner: { id: number }): boolean =>
  organizationId !== undefined && organizationId !== owner.id

/** Returns the form in which logins and names are compared: case is ignored. */
export const nameKey = (name: string): string => name.toLowerCase()

/**
 * The owner of the migrations, schedules and webhooks that a query is about. Every query on behalf of a caller has a scope and never
 * returns data of another one. The code that creates a scope checks that the caller may use it.
 */
export interface Scope {
  /** A person, or an organization. */
  owner: Account
  /** The caller, if that is not the owner. */
  by?: Account
}

export const ownScope = ({ account }: Viewer): Scope => ({ owner: account })

export const membershipRoles = ['owner', 'member'] as const
export type MembershipRole = (typeof membershipRoles)[number]

/** Who granted a membership: a command of the operator, the members file of the organization, or the forge. */
export type MembershipOrigin = 'manual' | 'file' | 'forge'

/** A member of an organization, or an organization of a member, with the role by all origins together: `owner` wins. */
export type Member = { account: Account; role: MembershipRole }
