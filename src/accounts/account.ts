export const accountTypes = ['User', 'Organization'] as const
export type AccountType = (typeof accountTypes)[number]

/** A person or an organization. */
export interface Account {
  id: number
  login: string
  type: AccountType
  siteAdmin: boolean
  /** The earliest known time in epoch milliseconds: when the account was first seen, or its oldest repository was created. */
  createdAt: number
}

/** The authenticated caller. */
export interface Viewer {
  account: Account
  tokenId: number
}

/** Returns the form in which logins and names are compared: case is ignored. */
export const keyOf = (name: string): string => name.toLowerCase()
