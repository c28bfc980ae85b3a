import { oneLine } from '@godwit/lib/terminal-text'
import { reviewPosition } from '../formats/gitea-dump/dump-reviews.ts'
import type { Issue, IssueEvent, Reaction } from '../records/issue.ts'
import type { Author } from '../records/record.ts'
import type {
  ComparedKind,
  ComparisonRows,
  RecordsByComparedKind,
  Side,
} from './comparison-rows.ts'

/** The value of a field. It is not compared if it is undefined on either side. */
export type Value = string | number | boolean | null | undefined | readonly string[]

/** One thing of one side, in a form that can be compared. */
export interface Item {
  /** Items of both sides with the same key are compared with each other. */
  key: string
  /** The name in reports, such as `#12`. */
  name: string
  fields: Readonly<Record<string, Value>>
}

export interface ItemContext {
  side: Side
  comparisonRows: ComparisonRows
  repository: string
  /** Returns the login on the right, in lower case, of somebody who has this login on `side`. */
  person(login: Author): string
}

/** Fields with texts that people wrote, in which links may be changed by a move. */
export const TEXT_FIELDS: ReadonlySet<string> = new Set(['title', 'body', 'description'])

/**
 * Makes items of the records of each kind: these fields are compared, and the key is a number, a name, or for comments and reviews the
 * second in which they were written. Ids, URLs and the times of reactions and labels are left out: each host has its own.
 */
export const COMPARED_KINDS: {
  readonly [K in ComparedKind]: (record: RecordsByComparedKind[K], context: ItemContext) => Item
} = {
  repositories: (record, { person }) => ({
    key: '',
    name: 'settings',
    fields: {
      description: oneLine(record.description ?? ''),
      website: record.website ?? '',
      private: record.private,
      archived: record.archived,
      template: record.template,
      issues: record.hasIssues,
      wiki: record.hasWiki,
      // An empty repository has none on a server.
      'default branch': record.defaultBranch ?? undefined,
      topics: record.topics && sorted(record.topics.map(({ name }) => name)),
      collaborators: sorted(
        record.collaborators.map(({ login, permission }) => `${person(login)}: ${permission}`),
      ),
      created: seconds(record.createdAt),
    },
  }),
  branches: gitItem,
  tags: gitItem,
  other_refs: gitItem,
  wiki: gitItem,
  lfs_objects: gitItem,
  labels: ({ name, color, description, exclusive = false }) => ({
    ...named(name),
    fields: { color: color.toLowerCase(), description: description ?? '', exclusive },
  }),
  milestones: (record, { comparisonRows, side, repository }) => ({
    ...named(comparisonRows.milestoneTitle(side, repository, record.number) ?? record.title),
    fields: {
      title: record.title,
      description: record.description ?? '',
      state: record.state,
      due: seconds(record.dueOn),
      closed: seconds(record.closedAt),
      created: seconds(record.createdAt),
    },
  }),
  issues: (record, context) => ({
    ...named(`#${record.number}`),
    fields: { ...issueFields(record, context), updated: seconds(record.updatedAt) },
  }),
  issue_comments: (record, { person }) => ({
    ...written(`#${record.on.number}`, record.createdAt),
    fields: {
      author: person(record.author),
      body: record.body ?? '',
      reactions: reactionsOf(record.reactions, person),
    },
  }),
  issue_events: (record, { person }) => ({
    key: `${record.event} ${seconds(record.createdAt)}`,
    name: `#${record.on.number} ${record.event} at ${seconds(record.createdAt)}`,
    fields: { actor: person(record.actor), about: aboutOf(record, person) },
  }),
  pull_requests: (record, context) => ({
    ...named(`#${record.number}`),
    fields: {
      ...issueFields({ ...record, closedAt: record.closedAt ?? record.mergedAt }, context),
      draft: record.draft,
      merged: seconds(record.mergedAt),
      'merge commit': record.mergeCommit,
      base: record.base.ref,
      head: record.head.ref,
      'from a fork': record.head.repository?.toLowerCase() !== record.repository.toLowerCase(),
      'head commit': record.head.sha,
      'review requests': sorted(
        record.reviewRequests.map(({ reviewer }) =>
          reviewer.kind === 'user' ? context.person(reviewer.login) : `team ${reviewer.slug}`,
        ),
      ),
      diff: context.comparisonRows.diffOf(context.side, context.repository, record.number),
    },
  }),
  pull_request_reviews: (record, { person }) => ({
    ...written(`#${record.pull}`, record.submittedAt ?? record.createdAt),
    fields: {
      author: person(record.author),
      state: record.state,
      body: record.body ?? '',
      commit: record.headSha ?? undefined,
      official: record.official,
      reactions: reactionsOf(record.reactions, person),
    },
  }),
  pull_request_review_comments(record, { person, comparisonRows, side, repository }) {
    const threads = comparisonRows.recordsOn(
      'pull_request_review_threads',
      side,
      repository,
      record.pull,
    )
    const thread = threads.find(({ id }) => id === record.thread)
    return {
      ...written(`#${record.pull}`, record.createdAt),
      fields: {
        author: person(record.author),
        state: record.state,
        body: record.body ?? '',
        path: record.path,
        line: reviewPosition(record, thread).line,
        'first line': thread?.startLine ?? null,
        resolved: thread ? thread.resolvedAt !== null : undefined,
        reactions: reactionsOf(record.reactions, person),
      },
    }
  },
  commit_comments: (record, { person }) => ({
    ...written(record.commit, record.createdAt),
    fields: { author: person(record.author), body: record.body ?? '', path: record.path },
  }),
  discussions: () => ({ ...named('a discussion'), fields: {} }),
  releases: (record, { person }) => ({
    ...named(record.tag),
    fields: {
      name: record.name || record.tag,
      body: record.body ?? '',
      author: person(record.author),
      draft: record.draft,
      'pre-release': record.prerelease,
      target: record.target,
      published: record.draft ? undefined : seconds(record.publishedAt),
      reactions: record.reactions && reactionsOf(record.reactions, person),
    },
  }),
  release_assets: ({ tag, asset, digest }) => ({
    key: `${tag} ${asset.name}`,
    name: `${asset.name} of ${tag}`,
    fields: { 'SHA-256': digest ?? 'no file' },
  }),
  attachments: (record) => ({
    key: record.digest ?? `no file ${record.name}`,
    name: record.name,
    fields: { name: record.name, of: 'on' in record ? record.on.kind : 'repository' },
  }),
  protected_branches: ({ name, reviews, statusChecks, ...rules }, { person }) => ({
    ...named(name),
    fields: {
      'applies to administrators': rules.adminEnforced,
      'force pushes': rules.allowsForcePushes,
      deletions: rules.allowsDeletions,
      'limited pushes': rules.authorizedActorsOnly,
      'who may push': sorted(rules.authorizedUsers.map(person)),
      'teams that may push': sorted(rules.authorizedTeams.map(({ slug }) => slug)),
      approvals: reviews.approvals,
      'stale approvals are dismissed': reviews.dismissStaleOnPush,
      checks: sorted(statusChecks.contexts),
      'strict checks': statusChecks.strict,
      signatures: rules.requiresSignatures,
      'linear history': rules.requiresLinearHistory,
    },
  }),
}

const named = (name: string) => ({ key: name, name })

const written = (on: string, at: string) => ({
  key: `${on} ${seconds(at)}`,
  name: `${on} at ${seconds(at)}`,
})

const sorted = (values: readonly string[]): string[] => [...new Set(values)].sort()

/** Formats a time without a fraction of a second, which not every host stores. Returns undefined for 1970: an unknown time. */
export function seconds(time: string | null): string | null | undefined {
  const at = Date.parse(time ?? '')
  if (at === 0) return undefined
  return Number.isNaN(at) ? time : new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

const reactionsOf = (reactions: readonly Reaction[], person: ItemContext['person']) =>
  reactions.map(({ content, author }) => `${content} ${person(author)}`).sort()

function gitItem({ name, value }: RecordsByComparedKind['branches']): Item {
  return { ...named(name.replace(/^refs\/(?:heads|tags)\//, '')), fields: { object: value } }
}

/** Returns the fields that issues and pull requests have in common. */
function issueFields(record: Omit<Issue, 'updatedAt'>, context: ItemContext) {
  const { comparisonRows, side, repository, person } = context
  const locks = comparisonRows
    .recordsOn('issue_events', side, repository, record.number)
    .filter(({ event }) => event === 'locked' || event === 'unlocked')
    .sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
  return {
    title: record.title,
    body: record.body ?? '',
    author: person(record.author),
    state: record.closedAt === null ? 'open' : 'closed',
    locked: locks.at(-1)?.event === 'locked',
    labels: sorted(record.labels),
    milestone: comparisonRows.milestoneTitle(side, repository, record.milestone),
    assignees: sorted(record.assignees.map(person)),
    reactions: reactionsOf(record.reactions, person),
    // A server stores only the day.
    deadline: record.dueOn?.slice(0, 10) ?? null,
    dependencies: sorted((record.dependsOn ?? []).map((on) => `${on.repository}#${on.number}`)),
    pinned: record.pinOrder ?? null,
    created: seconds(record.createdAt),
    closed: seconds(record.closedAt),
  }
}

function aboutOf(
  { label, milestoneTitle, renamed, subject, commit }: IssueEvent,
  person: ItemContext['person'],
): string {
  const about = [label?.name, milestoneTitle, renamed && `${renamed.from} → ${renamed.to}`, commit]
  const who = subject && ('login' in subject ? person(subject.login) : JSON.stringify(subject))
  return [...about, who].filter(Boolean).join(' ')
}
