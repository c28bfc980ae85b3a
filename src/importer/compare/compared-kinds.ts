import { reviewPosition } from '../../formats/gitea-dump/dump-reviews.ts'
import { oneLine } from '../../lib/terminal-text.ts'
import type { Author } from '../../records/fact.ts'
import type { Issue, IssueEvent, Reaction } from '../../records/issue.ts'
import type { ComparedKind, FactsByComparedKind, Side, Spool } from './spool.ts'

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
  spool: Spool
  repository: string
  /** Returns the login on the right, in lower case, of somebody who has this login on `side`. */
  person(login: Author): string
}

/** Fields with texts that people wrote, in which links may be changed by a move. */
export const TEXT_FIELDS: ReadonlySet<string> = new Set(['title', 'body', 'description'])

/**
 * Makes items of the facts of each kind: these fields are compared, and the key is a number, a name, or for comments and reviews the
 * second in which they were written. Ids, URLs and the times of reactions and labels are left out: each host has its own.
 */
export const COMPARED_KINDS: {
  readonly [K in ComparedKind]: (fact: FactsByComparedKind[K], context: ItemContext) => Item
} = {
  repositories: (fact, { person }) => ({
    key: '',
    name: 'settings',
    fields: {
      description: oneLine(fact.description ?? ''),
      website: fact.website ?? '',
      private: fact.private,
      archived: fact.archived,
      template: fact.template,
      issues: fact.hasIssues,
      wiki: fact.hasWiki,
      // An empty repository has none on a server.
      'default branch': fact.defaultBranch ?? undefined,
      topics: fact.topics && sorted(fact.topics.map(({ name }) => name)),
      collaborators: sorted(
        fact.collaborators.map(({ login, permission }) => `${person(login)}: ${permission}`),
      ),
      created: seconds(fact.createdAt),
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
  milestones: (fact, { spool, side, repository }) => ({
    ...named(spool.milestoneTitle(side, repository, fact.number) ?? fact.title),
    fields: {
      title: fact.title,
      description: fact.description ?? '',
      state: fact.state,
      due: seconds(fact.dueOn),
      closed: seconds(fact.closedAt),
      created: seconds(fact.createdAt),
    },
  }),
  issues: (fact, context) => ({
    ...named(`#${fact.number}`),
    fields: { ...issueFields(fact, context), updated: seconds(fact.updatedAt) },
  }),
  issue_comments: (fact, { person }) => ({
    ...written(`#${fact.on.number}`, fact.createdAt),
    fields: {
      author: person(fact.author),
      body: fact.body ?? '',
      reactions: reactionsOf(fact.reactions, person),
    },
  }),
  issue_events: (fact, { person }) => ({
    key: `${fact.event} ${seconds(fact.createdAt)}`,
    name: `#${fact.on.number} ${fact.event} at ${seconds(fact.createdAt)}`,
    fields: { actor: person(fact.actor), about: aboutOf(fact, person) },
  }),
  pull_requests: (fact, context) => ({
    ...named(`#${fact.number}`),
    fields: {
      ...issueFields({ ...fact, closedAt: fact.closedAt ?? fact.mergedAt }, context),
      draft: fact.draft,
      merged: seconds(fact.mergedAt),
      'merge commit': fact.mergeCommit,
      base: fact.base.ref,
      head: fact.head.ref,
      'from a fork': fact.head.repository?.toLowerCase() !== fact.repository.toLowerCase(),
      'head commit': fact.head.sha,
      'review requests': sorted(
        fact.reviewRequests.map(({ reviewer }) =>
          reviewer.kind === 'user' ? context.person(reviewer.login) : `team ${reviewer.slug}`,
        ),
      ),
      diff: context.spool.diffOf(context.side, context.repository, fact.number),
    },
  }),
  pull_request_reviews: (fact, { person }) => ({
    ...written(`#${fact.pull}`, fact.submittedAt ?? fact.createdAt),
    fields: {
      author: person(fact.author),
      state: fact.state,
      body: fact.body ?? '',
      commit: fact.headSha ?? undefined,
      official: fact.official,
      reactions: reactionsOf(fact.reactions, person),
    },
  }),
  pull_request_review_comments(fact, { person, spool, side, repository }) {
    const threads = spool.factsOn('pull_request_review_threads', side, repository, fact.pull)
    const thread = threads.find(({ id }) => id === fact.thread)
    return {
      ...written(`#${fact.pull}`, fact.createdAt),
      fields: {
        author: person(fact.author),
        state: fact.state,
        body: fact.body ?? '',
        path: fact.path,
        line: reviewPosition(fact, thread).line,
        'first line': thread?.startLine ?? null,
        resolved: thread ? thread.resolvedAt !== null : undefined,
        reactions: reactionsOf(fact.reactions, person),
      },
    }
  },
  commit_comments: (fact, { person }) => ({
    ...written(fact.commit, fact.createdAt),
    fields: { author: person(fact.author), body: fact.body ?? '', path: fact.path },
  }),
  discussions: () => ({ ...named('a discussion'), fields: {} }),
  releases: (fact, { person }) => ({
    ...named(fact.tag),
    fields: {
      name: fact.name || fact.tag,
      body: fact.body ?? '',
      author: person(fact.author),
      draft: fact.draft,
      'pre-release': fact.prerelease,
      target: fact.target,
      published: fact.draft ? undefined : seconds(fact.publishedAt),
      reactions: fact.reactions && reactionsOf(fact.reactions, person),
    },
  }),
  release_assets: ({ tag, asset, digest }) => ({
    key: `${tag} ${asset.name}`,
    name: `${asset.name} of ${tag}`,
    fields: { 'SHA-256': digest ?? 'no file' },
  }),
  attachments: (fact) => ({
    key: fact.digest ?? `no file ${fact.name}`,
    name: fact.name,
    fields: { name: fact.name, of: 'on' in fact ? fact.on.kind : 'repository' },
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

function gitItem({ name, value }: FactsByComparedKind['branches']): Item {
  return { ...named(name.replace(/^refs\/(?:heads|tags)\//, '')), fields: { object: value } }
}

/** Returns the fields that issues and pull requests have in common. */
function issueFields(fact: Omit<Issue, 'updatedAt'>, context: ItemContext) {
  const { spool, side, repository, person } = context
  const locks = spool
    .factsOn('issue_events', side, repository, fact.number)
    .filter(({ event }) => event === 'locked' || event === 'unlocked')
    .sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
  return {
    title: fact.title,
    body: fact.body ?? '',
    author: person(fact.author),
    state: fact.closedAt === null ? 'open' : 'closed',
    locked: locks.at(-1)?.event === 'locked',
    labels: sorted(fact.labels),
    milestone: spool.milestoneTitle(side, repository, fact.milestone),
    assignees: sorted(fact.assignees.map(person)),
    reactions: reactionsOf(fact.reactions, person),
    // A server stores only the day.
    deadline: fact.dueOn?.slice(0, 10) ?? null,
    dependencies: sorted((fact.dependsOn ?? []).map((on) => `${on.repository}#${on.number}`)),
    pinned: fact.pinOrder ?? null,
    created: seconds(fact.createdAt),
    closed: seconds(fact.closedAt),
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
