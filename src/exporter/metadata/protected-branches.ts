import type { Account } from '../../accounts/account.ts'
import type { ProtectedBranch } from '../../records/repository.ts'
import { writeRecord } from '../../records/write-records.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../repositories/facts.ts'
import { recordAddressesOf } from './host-addresses.ts'

/**
 * Git does not know who made a repository. It is a user in any case, and one that has a record: its owner, else who makes
 * the archive, else who administers it.
 */
export function creatorOf(
  { owner, collaborators }: RepositoryFacts,
  migrationOwner: Account,
): string | null {
  const user = [owner, migrationOwner].find(({ type }) => type === 'User')
  const admin = collaborators.find(({ permission }) => permission === 'admin')
  return user?.login ?? admin?.login ?? null
}

/**
 * What a host refuses of every push, as GitHub has it: a rule for the default branch. Git's own rule is for all branches,
 * and is in the repository's config as well.
 */
export function protectedBranchRecords(
  facts: RepositoryFacts,
  migrationOwner: Account,
  addresses: Addresses,
) {
  const { denies = [] } = facts
  if (denies.length === 0) return []
  const rule: ProtectedBranch = {
    repository: fullNameOf(facts),
    name: facts.defaultBranch,
    creator: creatorOf(facts, migrationOwner),
    adminEnforced: true,
    allowsForcePushes: !denies.includes('nonFastForwards'),
    allowsDeletions: !denies.includes('deletes'),
    authorizedActorsOnly: false,
    authorizedUsers: [],
    authorizedTeams: [],
    reviews: {
      enforcement: 'off',
      required: false,
      approvals: 0,
      dismissStaleOnPush: false,
      byCodeOwners: false,
      restrictsDismissals: false,
      dismissalUsers: [],
      dismissalTeams: [],
    },
    statusChecks: { enforcement: 'off', required: false, strict: false, contexts: [] },
    requiresSignatures: false,
    requiresLinearHistory: false,
  }
  return [writeRecord('protected_branches', rule, recordAddressesOf(addresses))]
}
