import {
  emptyProtection,
  type Label,
  type Milestone,
  type ProtectedBranch,
  type Repository,
} from '@godwit/archive/records/repository'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { labelColor } from './issue-records.ts'
import { slugOf } from './people-records.ts'

/** `labels` are those of the repository, then those of the organization that owns it. */
export function repositoryRecord(
  repository: Json,
  labels: readonly Json[],
  { owner, name, collaborators }: Pick<Repository, 'owner' | 'name' | 'collaborators'>,
): Repository {
  const createdAt = json.time(repository, 'created_at')
  return {
    owner,
    name,
    description: json.stringOrNull(repository, 'description'),
    website: json.stringOrNull(repository, 'website'),
    private: json.boolean(repository, 'private') || json.boolean(repository, 'internal'),
    hasIssues: json.boolean(repository, 'has_issues'),
    hasWiki: json.boolean(repository, 'has_wiki'),
    archived: json.boolean(repository, 'archived'),
    template: json.boolean(repository, 'template'),
    labels: labelRecords(labels, createdAt),
    collaborators,
    topics: json.strings(repository, 'topics').map((topic) => ({
      name: topic,
      creator: null,
      createdAt,
      updatedAt: createdAt,
    })),
    defaultBranch: json.boolean(repository, 'empty')
      ? null
      : json.stringOrNull(repository, 'default_branch'),
    createdAt,
    git: `repositories/${owner}/${name}.git`,
  }
}

/** Issues refer to labels by name, so a label of the organization is left out if the repository has one of the same name. */
function labelRecords(labels: readonly Json[], createdAt: string): Label[] {
  const byName = new Map<string, Label>()
  for (const label of labels) {
    const name = json.string(label, 'name')
    if (name === '' || byName.has(name)) continue
    const description = json.stringOrNull(label, 'description')
    const exclusive = json.boolean(label, 'exclusive') && { exclusive: true }
    byName.set(name, { name, color: labelColor(label), description, ...exclusive, createdAt })
  }
  return [...byName.values()]
}

export const milestoneRecord = (repository: string, milestone: Json): Milestone => {
  const isClosed = json.string(milestone, 'state') === 'closed'
  const createdAt = json.time(milestone, 'created_at')
  return {
    repository,
    number: json.integer(milestone, 'id'),
    author: null,
    title: json.string(milestone, 'title'),
    description: json.stringOrNull(milestone, 'description'),
    state: isClosed ? 'closed' : 'open',
    dueOn: json.timeOrNull(milestone, 'due_on'),
    createdAt,
    updatedAt: json.timeOrNull(milestone, 'updated_at') ?? createdAt,
    closedAt: isClosed ? json.timeOrNull(milestone, 'closed_at') : null,
  }
}

/** Gitea's lists of users who may only merge, and its file patterns, are only in `forgeRule`, because GitHub has no equivalent. */
export function protectedBranchRecord(repository: string, rule: Json): ProtectedBranch {
  const [organization = ''] = repository.split('/')
  const { created_at, updated_at, ...forgeRule } = rule
  const teams = json.strings(rule, 'push_whitelist_teams')
  const approvals = json.integer(rule, 'required_approvals')
  const hasChecks = json.boolean(rule, 'enable_status_check')
  const name = json.string(rule, 'rule_name') || json.string(rule, 'branch_name')
  const empty = emptyProtection(repository, name)
  return {
    ...empty,
    adminEnforced: json.boolean(rule, 'block_admin_merge_override'),
    allowsForcePushes: json.boolean(rule, 'enable_force_push'),
    authorizedActorsOnly:
      !json.boolean(rule, 'enable_push') || json.boolean(rule, 'enable_push_whitelist'),
    authorizedUsers: json.strings(rule, 'push_whitelist_usernames'),
    authorizedTeams: teams.map((team) => ({ organization, slug: slugOf(team) })),
    reviews: {
      ...empty.reviews,
      enforcement: approvals > 0 ? 'non_admins' : 'off',
      required: approvals > 0,
      approvals,
      dismissStaleOnPush: json.boolean(rule, 'dismiss_stale_approvals'),
    },
    statusChecks: {
      enforcement: hasChecks ? 'non_admins' : 'off',
      required: hasChecks,
      strict: json.boolean(rule, 'block_on_outdated_branch'),
      contexts: json.strings(rule, 'status_check_contexts'),
    },
    requiresSignatures: json.boolean(rule, 'require_signed_commits'),
    forgeRule,
  }
}
