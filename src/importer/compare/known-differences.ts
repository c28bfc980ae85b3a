import type { Item, Value } from './compared-kinds.ts'
import type { ComparedKind } from './spool.ts'

export interface KnownContext {
  /** What the archive is compared with. Between two archives no difference is expected. */
  target: 'archive' | 'forge' | 'github'
  isFinished: boolean
  /** Returns whether `--people` names this login of the right side. */
  isMapped(login: string): boolean
  /** Returns whether what this login of the right side wrote belongs to its account there. */
  isLinked(login: string): boolean
  /** Returns whether the archive has an issue or pull request with this number. */
  hasIssue(number: number): boolean
  /** The keys of the comments on lines of the archive. */
  lineComments: ReadonlySet<string>
  /** The head commits of the pull requests. */
  pullHeads: ReadonlySet<string>
}

interface Pair {
  left: Item | undefined
  right: Item | undefined
  context: KnownContext
}

interface Rule {
  on: readonly KnownContext['target'][]
  kinds: readonly ComparedKind[]
  /** Fields, or `missing` or `extra` for the whole. */
  what: readonly string[]
  reason: string
  /** `godwit finish` transfers it. */
  byFinish?: true
  /** The host does not show it, so that it counts neither as equal nor as different. */
  isUnreadable?: true
  when?(pair: Pair): boolean
}

const BOTH = ['forge', 'github'] as const
const ISSUES = ['issues', 'pull_requests'] as const
const REVIEWS = ['pull_request_reviews', 'pull_request_review_comments'] as const
const EVERYTHING = ['missing', 'extra', 'actor', 'about'] as const

const field = (item: Item | undefined, name: string): Value => item?.fields[name]
const namesIn = (value: Value): readonly string[] => (Array.isArray(value) ? value : [])

/** Returns whether the right side lacks only people whom `--people` does not map, so that they may have no account there. */
const lacksOnlyUnmapped =
  (name: string) =>
  ({ left, right, context }: Pair): boolean => {
    const there = new Set(namesIn(field(right, name)))
    const lacking = namesIn(field(left, name)).filter((each) => !there.has(each))
    const isSubset = there.isSubsetOf(new Set(namesIn(field(left, name))))
    return isSubset && !lacking.some((each) => context.isMapped(each.split(':')[0]!))
  }

/** Every difference that a move is expected to make. docs/MOVING.md has the same list. */
export const RULES: readonly Rule[] = [
  {
    on: BOTH,
    kinds: ['repositories'],
    what: ['created'],
    reason: 'a new repository has its own creation time',
  },
  {
    on: BOTH,
    kinds: ['repositories'],
    what: ['issues', 'wiki'],
    reason: 'issues and the wiki are turned on in a new repository',
    when: ({ right }) => field(right, 'issues') !== false && field(right, 'wiki') !== false,
  },
  {
    on: BOTH,
    kinds: ['repositories'],
    what: ['collaborators'],
    reason: 'collaborators need an account on the new host',
    when: lacksOnlyUnmapped('collaborators'),
  },
  {
    on: ['forge'],
    kinds: ['repositories'],
    what: ['website', 'archived', 'collaborators'],
    reason: 'restore-repo sets no website, archived flag and collaborators; godwit finish does',
    byFinish: true,
  },
  {
    on: BOTH,
    kinds: ['branches'],
    what: ['extra'],
    reason: 'an open pull request from a fork gets a branch',
    when: ({ right, context }) => context.pullHeads.has(String(field(right, 'object'))),
  },
  {
    on: BOTH,
    kinds: ['other_refs'],
    what: ['extra'],
    reason: 'the host has a ref for the head of each pull request',
    when: ({ right }) => /^refs\/pull\/\d+\//.test(right!.key),
  },
  {
    on: ['github'],
    kinds: ['other_refs'],
    what: ['missing', 'object'],
    reason: 'GitHub makes the refs of pull requests itself',
    when: ({ left }) => /^refs\/(?:pull|merge-requests)\//.test(left!.key),
  },
  {
    on: ['forge'],
    kinds: ['wiki'],
    what: ['extra'],
    reason: 'a wiki gets a branch master if it has none',
    when: ({ right }) => right!.key === 'master',
  },
  {
    on: ['forge'],
    kinds: ['lfs_objects'],
    what: ['missing'],
    reason: 'restore-repo does not read LFS objects; godwit finish does',
    byFinish: true,
  },
  {
    on: BOTH,
    kinds: ['labels'],
    what: ['extra'],
    reason: 'a label that only issues still have becomes a label of the repository',
    when: ({ right }) => field(right, 'color') === 'ededed',
  },
  {
    on: BOTH,
    kinds: ['milestones'],
    what: ['created'],
    reason: 'servers do not restore when a milestone was created',
  },
  {
    on: BOTH,
    kinds: ISSUES,
    what: ['updated'],
    reason: 'every edit, also one by the restore, changes the time of the last update',
  },
  {
    on: BOTH,
    kinds: ISSUES,
    what: ['assignees'],
    reason: 'assignees need an account on the new host',
    when: lacksOnlyUnmapped('assignees'),
  },
  {
    on: ['forge'],
    kinds: ISSUES,
    what: ['assignees'],
    reason: 'restore-repo does not restore assignees; godwit finish does',
    byFinish: true,
  },
  {
    on: ['forge'],
    kinds: ISSUES,
    what: ['title'],
    reason: 'a title has at most 255 characters',
    when: ({ left, right }) =>
      [...String(field(left, 'title'))].length > 255 &&
      String(field(left, 'title')).startsWith(String(field(right, 'title')).replace(/…$/, '')),
  },
  {
    on: ['forge'],
    kinds: ['pull_requests'],
    what: ['title'],
    reason: 'a draft is marked by WIP: in its title',
    when: ({ left, right }) =>
      field(left, 'draft') === true && field(right, 'title') === `WIP: ${field(left, 'title')}`,
  },
  {
    on: BOTH,
    kinds: ['pull_requests'],
    what: ['head', 'from a fork'],
    reason: 'the branch of a fork becomes one of the repository',
    when: ({ left, right }) =>
      field(left, 'from a fork') !== false || field(right, 'from a fork') !== false,
  },
  {
    on: BOTH,
    kinds: ['pull_requests'],
    what: ['head commit', 'head', 'from a fork'],
    reason: 'the commits of the pull request are not in the archive',
    when: ({ left }) => field(left, 'diff') === undefined,
  },
  {
    on: BOTH,
    kinds: ['pull_requests'],
    what: ['review requests'],
    reason: 'review requests are not restored',
    when: ({ right }) => namesIn(field(right, 'review requests')).length === 0,
  },
  {
    on: BOTH,
    kinds: ['issue_events'],
    what: EVERYTHING,
    reason: 'events are not restored; state and lock are',
  },
  {
    on: BOTH,
    kinds: ['issue_comments', ...REVIEWS],
    what: ['missing'],
    reason: 'the archive does not have the issue or pull request that it belongs to',
    when: ({ left, context }) => !context.hasIssue(Number.parseInt(left!.key.slice(1), 10)),
  },
  {
    on: BOTH,
    kinds: REVIEWS,
    what: ['missing'],
    reason: 'only its author may see a pending review',
    when: ({ left }) => field(left, 'state') === 'pending',
  },
  {
    on: BOTH,
    kinds: ['pull_request_reviews'],
    what: ['state'],
    reason: 'a dismissed review becomes a comment',
    when: ({ left, right }) =>
      field(left, 'state') === 'dismissed' && field(right, 'state') === 'commented',
  },
  {
    on: ['forge'],
    kinds: ['pull_request_reviews'],
    what: ['extra'],
    reason: 'a comment on a line whose review or commits are not in the archive becomes a review',
    when: ({ right, context }) => context.lineComments.has(right!.key),
  },
  {
    on: ['forge'],
    kinds: ['pull_request_review_comments'],
    what: ['first line', 'resolved'],
    reason: 'servers restore neither a range of lines nor that a thread is resolved',
  },
  {
    on: BOTH,
    kinds: [...REVIEWS, 'releases'],
    what: ['reactions'],
    reason: 'reactions to reviews, to their comments and to releases are not restored',
    when: ({ right }) => namesIn(field(right, 'reactions')).length === 0,
  },
  {
    on: BOTH,
    kinds: [...ISSUES, 'issue_comments', ...REVIEWS, 'releases'],
    what: ['author'],
    isUnreadable: true,
    reason:
      'an original author without an account is only shown on the pages; the API has the account that restored the text',
    when: ({ left, context }) => !context.isLinked(String(field(left, 'author'))),
  },
  {
    on: BOTH,
    kinds: ['commit_comments'],
    what: ['missing'],
    reason: 'comments on commits are not restored',
  },
  {
    on: BOTH,
    kinds: ['discussions'],
    what: ['missing'],
    reason: 'GitHub Discussions are not restored',
  },
  {
    on: ['forge'],
    kinds: ['releases'],
    what: ['draft', 'published'],
    reason: 'a release whose tag is not in the archive becomes a draft',
    when: ({ right }) => field(right, 'draft') === true,
  },
  {
    on: ['forge'],
    kinds: ['releases'],
    what: ['published'],
    reason: 'a server shows the time of the tagged commit as that of a release',
  },
  {
    on: BOTH,
    kinds: ['attachments', 'release_assets'],
    what: ['missing'],
    reason: 'the archive itself does not have the file',
    when: ({ left }) => left!.key.startsWith('no file') || field(left, 'SHA-256') === 'no file',
  },
  {
    on: ['forge'],
    kinds: ['attachments'],
    what: ['missing'],
    reason: 'restore-repo does not restore attachments; godwit finish does',
    byFinish: true,
  },
  {
    on: ['forge'],
    kinds: ['protected_branches'],
    what: ['missing'],
    reason: 'restore-repo does not protect branches; godwit finish does',
    byFinish: true,
  },
  {
    on: ['github'],
    kinds: ['protected_branches', 'attachments'],
    what: ['missing'],
    reason: 'not compared with GitHub',
  },
]

/** Returns the rule by which a difference is expected, or undefined if it is not. `what` is a field, `missing` or `extra`. */
export function knownDifference(
  context: KnownContext,
  kind: ComparedKind,
  what: string,
  left: Item | undefined,
  right: Item | undefined,
): Pick<Rule, 'reason' | 'isUnreadable'> | undefined {
  const pair = { left, right, context }
  return RULES.find(
    ({ on, kinds, what: fields, byFinish, when = () => true }) =>
      on.includes(context.target) &&
      kinds.includes(kind) &&
      fields.includes(what) &&
      !(byFinish && context.isFinished) &&
      when(pair),
  )
}
