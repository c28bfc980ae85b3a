import type { Account } from '../accounts/account.ts'
import type { Addresses } from '../repositories/addresses.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'

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

/** A level of enforcement: administrators included. */
const EVERYONE = 2

/**
 * What a host refuses of every push, as GitHub has it: a rule for the default branch. Git's own rule is for all branches,
 * and is in the repository's config as well.
 */
export function protectedBranchRecords(
  facts: RepositoryFacts,
  migrationOwner: Account,
  addresses: Addresses,
) {
  const { denies = [], defaultBranch: name } = facts
  if (denies.length === 0) return []
  const url = addresses.repository(facts.owner.login, facts.name).html
  const creator = creatorOf(facts, migrationOwner)
  const isDenied = (what: (typeof denies)[number]) => denies.includes(what)
  return [
    {
      type: 'protected_branch',
      name,
      url: `${url}/settings/branches/${encodeURIComponent(name)}`,
      creator_url: creator === null ? null : addresses.userHtml(creator),
      repository_url: url,
      admin_enforced: true,
      block_deletions_enforcement_level: isDenied('deletes') ? EVERYONE : 0,
      block_force_pushes_enforcement_level: isDenied('nonFastForwards') ? EVERYONE : 0,
      dismiss_stale_reviews_on_push: false,
      pull_request_reviews_enforcement_level: 'off',
      require_code_owner_review: false,
      required_status_checks_enforcement_level: 'off',
      strict_required_status_checks_policy: false,
      authorized_actors_only: false,
      authorized_user_urls: [],
      authorized_team_urls: [],
      dismissal_restricted_user_urls: [],
      dismissal_restricted_team_urls: [],
      required_status_checks: [],
      requires_approving_reviews: false,
      required_approving_review_count: 0,
      requires_commit_signatures: false,
      requires_linear_history: false,
      allows_force_pushes: !isDenied('nonFastForwards'),
      allows_deletions: !isDenied('deletes'),
      requires_status_checks: false,
      restricts_review_dismissals: false,
    },
  ]
}
