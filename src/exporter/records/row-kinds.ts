import { type FactsByKind, SAID_KINDS } from '../../records/facts.ts'
import type { User } from '../../records/people.ts'

/** What rows there are: the kinds of facts that a forge has, in the order of the archive's files. */
export const KINDS = [
  // People who are known only as members of the organization: not everyone may be told of them.
  'members',
  'users',
  'organizations',
  'teams',
  'repositories',
  ...SAID_KINDS,
  'protected_branches',
  'attachments',
] as const satisfies (keyof RowsByKind)[]

export type Kind = (typeof KINDS)[number]

export interface RowsByKind extends FactsByKind {
  members: User
}
