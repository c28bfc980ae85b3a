import type { Account, Viewer } from './account.ts'

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

/** Returns the scope of the caller's own data. */
export const ownScope = ({ account }: Viewer): Scope => ({ owner: account })
