export const accountTypes = ['User', 'Organization'] as const
export type AccountType = (typeof accountTypes)[number]

/** What is known of an account: no URLs. */
export interface Account {
  id: number
  login: string
  type: AccountType
  siteAdmin: boolean
  /** The earliest that is known of it, in epoch milliseconds: when it was first seen here, or its oldest repository was made. */
  createdAt: number
}

/** Who is asking. */
export interface Viewer {
  account: Account
  tokenId: number
}

/** Logins and names are shown as written and compared without regard to case. */
export const keyOf = (name: string): string => name.toLowerCase()
