import type { Account, Viewer } from './account.ts'

/**
 * Whose migrations, schedules and webhooks a question is about. Every question that somebody asks of the stores names one, and
 * an answer never tells of another's. Who may ask in which scope is decided where the scope is made.
 */
export interface Scope {
  /** A person, or an organization. */
  owner: Account
  /** The person who asks, where that is not the owner. */
  by?: Account
}

/** A person's own. */
export const ownScope = ({ account }: Viewer): Scope => ({ owner: account })
