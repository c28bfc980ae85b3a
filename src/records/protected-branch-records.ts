import { count, list, oneOf, type Shape } from '../lib/json-shape.ts'
import { anyText, type FieldsOf, flag, orElse, part } from './field-shapes.ts'
import { login, person, repositoryName, team } from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import type { Enforcement, ProtectedBranch } from './repository.ts'

/** What a rule that is not written means: it does not hold. */
const ruled = orElse(flag, false)
const enforcement: Shape<Enforcement> = orElse(oneOf('off', 'non_admins', 'everyone'), 'off')
const logins = orElse(list(login), [])
const teams = orElse(list(team), [])
const context: Shape<string> = (value, at) =>
  typeof value === 'object'
    ? part((field) => field('context', anyText))(value, at)
    : anyText(value, at)

export function readProtectedBranch(field: FieldsOf): ProtectedBranch {
  return {
    repository: field('repository_url', repositoryName),
    name: field('name', anyText),
    creator: field('creator_url', person),
    adminEnforced: field('admin_enforced', ruled),
    allowsForcePushes: field('allows_force_pushes', ruled),
    allowsDeletions: field('allows_deletions', ruled),
    authorizedActorsOnly: field('authorized_actors_only', ruled),
    authorizedUsers: field('authorized_user_urls', logins),
    authorizedTeams: field('authorized_team_urls', teams),
    reviews: {
      enforcement: field('pull_request_reviews_enforcement_level', enforcement),
      required: field('requires_approving_reviews', ruled),
      approvals: field('required_approving_review_count', orElse(count(), 0)),
      dismissStaleOnPush: field('dismiss_stale_reviews_on_push', ruled),
      byCodeOwners: field('require_code_owner_review', ruled),
      restrictsDismissals: field('restricts_review_dismissals', ruled),
      dismissalUsers: field('dismissal_restricted_user_urls', logins),
      dismissalTeams: field('dismissal_restricted_team_urls', teams),
    },
    statusChecks: {
      enforcement: field('required_status_checks_enforcement_level', enforcement),
      required: field('requires_status_checks', ruled),
      strict: field('strict_required_status_checks_policy', ruled),
      contexts: field('required_status_checks', orElse(list(context), [])),
    },
    requiresSignatures: field('requires_commit_signatures', ruled),
    requiresLinearHistory: field('requires_linear_history', ruled),
  }
}

/** The number that stands for `everyone`. */
const BLOCKED = 2

export function writeProtectedBranch(branch: ProtectedBranch, links: Links) {
  const { reviews, statusChecks } = branch
  return {
    type: 'protected_branch',
    name: branch.name,
    url: links.protectedBranch(branch.repository, branch.name),
    creator_url: links.person(branch.creator),
    repository_url: links.repository(branch.repository),
    admin_enforced: branch.adminEnforced,
    block_deletions_enforcement_level: branch.allowsDeletions ? 0 : BLOCKED,
    block_force_pushes_enforcement_level: branch.allowsForcePushes ? 0 : BLOCKED,
    dismiss_stale_reviews_on_push: reviews.dismissStaleOnPush,
    pull_request_reviews_enforcement_level: reviews.enforcement,
    require_code_owner_review: reviews.byCodeOwners,
    required_status_checks_enforcement_level: statusChecks.enforcement,
    strict_required_status_checks_policy: statusChecks.strict,
    authorized_actors_only: branch.authorizedActorsOnly,
    authorized_user_urls: branch.authorizedUsers.map(links.person),
    authorized_team_urls: branch.authorizedTeams.map(links.team),
    dismissal_restricted_user_urls: reviews.dismissalUsers.map(links.person),
    dismissal_restricted_team_urls: reviews.dismissalTeams.map(links.team),
    required_status_checks: statusChecks.contexts,
    requires_approving_reviews: reviews.required,
    required_approving_review_count: reviews.approvals,
    requires_commit_signatures: branch.requiresSignatures,
    requires_linear_history: branch.requiresLinearHistory,
    allows_force_pushes: branch.allowsForcePushes,
    allows_deletions: branch.allowsDeletions,
    requires_status_checks: statusChecks.required,
    restricts_review_dismissals: reviews.restrictsDismissals,
  }
}
