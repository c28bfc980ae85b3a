import type { Label, Milestone, ProtectedBranch, Repository } from '../../../records/repository.ts'
import type { Entry } from '../client/forge-pages.ts'
import {
  flagIn,
  numberIn,
  textIn,
  textOrNull,
  textsIn,
  timeIn,
  timeOrNull,
} from '../client/forge-values.ts'
import { labelColor } from './event-facts.ts'
import { slugOf } from './people-facts.ts'

export interface RepositoryAnswers {
  repository: Entry
  owner: string
  name: string
  /** Of the repository, and of the organization that owns it. */
  labels: readonly Entry[]
  collaborators: readonly { login: string; permission: string }[]
}

export function repositoryFact(answers: RepositoryAnswers): Repository {
  const { repository, owner, name, labels, collaborators } = answers
  const createdAt = timeIn(repository, 'created_at')
  return {
    owner,
    name,
    description: textOrNull(repository, 'description'),
    website: textOrNull(repository, 'website'),
    private: flagIn(repository, 'private') || flagIn(repository, 'internal'),
    hasIssues: flagIn(repository, 'has_issues'),
    hasWiki: flagIn(repository, 'has_wiki'),
    archived: flagIn(repository, 'archived'),
    labels: labelFacts(labels, createdAt),
    collaborators,
    topics: textsIn(repository, 'topics').map((topic) => ({
      name: topic,
      creator: null,
      createdAt,
      updatedAt: createdAt,
    })),
    defaultBranch: flagIn(repository, 'empty') ? null : textOrNull(repository, 'default_branch'),
    createdAt,
    git: `repositories/${owner}/${name}.git`,
  }
}

/** A label of the repository goes before one of the organization that has the same name: issues name labels by it. */
function labelFacts(labels: readonly Entry[], createdAt: string): Label[] {
  const faultByName = new Map<string, Label>()
  for (const label of labels) {
    const name = textIn(label, 'name')
    if (name === '' || faultByName.has(name)) continue
    const description = textOrNull(label, 'description')
    faultByName.set(name, { name, color: labelColor(label), description, createdAt })
  }
  return [...faultByName.values()]
}

export const milestoneFact = (repository: string, milestone: Entry): Milestone => {
  const isClosed = textIn(milestone, 'state') === 'closed'
  const createdAt = timeIn(milestone, 'created_at')
  return {
    repository,
    number: numberIn(milestone, 'id'),
    author: null,
    title: textIn(milestone, 'title'),
    description: textOrNull(milestone, 'description'),
    state: isClosed ? 'closed' : 'open',
    dueOn: timeOrNull(milestone, 'due_on'),
    createdAt,
    updatedAt: timeOrNull(milestone, 'updated_at') ?? createdAt,
    closedAt: isClosed ? timeOrNull(milestone, 'closed_at') : null,
  }
}

/** A rule of Gitea in GitHub's words. Who may merge only, and patterns of files, have none. */
export function protectedBranchFact(repository: string, rule: Entry): ProtectedBranch {
  const [organization = ''] = repository.split('/')
  const teams = (names: readonly string[]) =>
    names.map((name) => ({ organization, slug: slugOf(name) }))
  const approvals = numberIn(rule, 'required_approvals')
  const hasChecks = flagIn(rule, 'enable_status_check')
  return {
    repository,
    name: textIn(rule, 'rule_name') || textIn(rule, 'branch_name'),
    creator: null,
    adminEnforced: flagIn(rule, 'block_admin_merge_override'),
    allowsForcePushes: flagIn(rule, 'enable_force_push'),
    allowsDeletions: false,
    authorizedActorsOnly: !flagIn(rule, 'enable_push') || flagIn(rule, 'enable_push_whitelist'),
    authorizedUsers: textsIn(rule, 'push_whitelist_usernames'),
    authorizedTeams: teams(textsIn(rule, 'push_whitelist_teams')),
    reviews: {
      enforcement: approvals > 0 ? 'non_admins' : 'off',
      required: approvals > 0,
      approvals,
      dismissStaleOnPush: flagIn(rule, 'dismiss_stale_approvals'),
      byCodeOwners: false,
      restrictsDismissals: false,
      dismissalUsers: [],
      dismissalTeams: [],
    },
    statusChecks: {
      enforcement: hasChecks ? 'non_admins' : 'off',
      required: hasChecks,
      strict: flagIn(rule, 'block_on_outdated_branch'),
      contexts: textsIn(rule, 'status_check_contexts'),
    },
    requiresSignatures: flagIn(rule, 'require_signed_commits'),
    requiresLinearHistory: false,
  }
}
