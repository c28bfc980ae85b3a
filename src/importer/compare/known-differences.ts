import type { Item, Value } from './compared-kinds.ts'
import type { ComparedKind } from './spool.ts'

export interface KnownContext {
  /** What the archive is compared with. Between two archives no difference is expected. */
  target: 'archive' | 'forge' | 'github'
  isFinished: boolean
  /** Returns whether `--people` names this login of the right side. */
  isMapped(login: string): boolean
  /** Returns whether `--people` has the number of the account with this login of the right side. */
  isLinked(login: string): boolean
  /** The version of the host's features, such as [1, 15]. */
  version: readonly [number, number]
  /** The kinds of which an archive says that it lacks some, by how the comparison shows that. */
  losses: Readonly<Record<'missing' | 'extra', ReadonlySet<string>>>
  /** Returns whether the archive has an issue or pull request with this number. */
  hasIssue(number: number): boolean
  /** The keys of the comments on lines of the archive. */
  lineComments: ReadonlySet<string>
  /** The head commits of the pull requests. */
  pullHeads: ReadonlySet<string>
}

interface Pair {
  kind: ComparedKind
  left: Item | undefined
  right: Item | undefined
  context: KnownContext
}

interface Rule {
  on: readonly KnownContext['target'][]
  /** Kinds, and their fields or `missing` or `extra` for the whole: `issues pull_requests: title`. */
  what: string
  reason: string
  /** `godwit finish` transfers it. */
  byFinish?: true
  /** The host does not show it, so that it counts neither as equal nor as different. */
  isUnreadable?: true
  when?(pair: Pair): boolean
}

const ANY = ['archive', 'forge', 'github'] as const
const BOTH = ['forge', 'github'] as const
const [FORGE, GITHUB] = [['forge'] as const, ['github'] as const]
const ISSUES = 'issues pull_requests'
const REVIEWS = 'pull_request_reviews pull_request_review_comments'

const rule = (
  on: Rule['on'],
  what: string,
  reason: string,
  more: Rule['when'] | Pick<Rule, 'byFinish' | 'isUnreadable' | 'when'> = {},
): Rule => ({ on, what, reason, ...(typeof more === 'function' ? { when: more } : more) })

const namesIn = (value: Value): readonly string[] => (Array.isArray(value) ? value : [])
const isBefore = ([major, minor]: readonly [number, number], limit: number): boolean =>
  major === 1 && minor < limit
const isEmpty = (value: Value): boolean => namesIn(value).length === 0

/** Returns whether the right side lacks only people whom `--people` does not map, so that they may have no account there. */
const lacksOnlyUnmapped =
  (field: string) =>
  ({ left, right, context }: Pair): boolean => {
    const here = new Set(namesIn(left?.fields[field]))
    const there = new Set(namesIn(right?.fields[field]))
    const lacking = [...here.difference(there)].map((each) => each.split(':')[0]!)
    return there.isSubsetOf(here) && !lacking.some(context.isMapped)
  }

/** Every difference that a move is expected to make. docs/MOVING.md has the same list. */
export const RULES: readonly Rule[] = [
  rule(
    ANY,
    'any: missing extra',
    'the archive that lacks it says that it lacks some of this kind',
    ({ kind, left, context }) => context.losses[left ? 'missing' : 'extra'].has(kind),
  ),
  rule(BOTH, 'repositories: created', 'a new repository has its own creation time'),
  rule(
    BOTH,
    'repositories: issues wiki',
    'issues and the wiki are turned on in a new repository',
    ({ right }) => right?.fields.issues !== false && right?.fields.wiki !== false,
  ),
  rule(
    BOTH,
    'repositories: collaborators',
    'collaborators need an account on the new host',
    lacksOnlyUnmapped('collaborators'),
  ),
  rule(
    FORGE,
    'repositories: website archived template collaborators',
    'restore-repo sets no website, archived and template flags and collaborators; godwit finish does',
    { byFinish: true },
  ),
  rule(BOTH, 'branches: extra', 'an open pull request from a fork gets a branch', (pair) =>
    pair.context.pullHeads.has(String(pair.right?.fields.object)),
  ),
  rule(BOTH, 'other_refs: extra', 'the host has a ref for the head of each pull request', (pair) =>
    /^refs\/pull\/\d+\//.test(pair.right!.key),
  ),
  rule(
    GITHUB,
    'other_refs: missing object',
    'GitHub makes the refs of pull requests itself',
    (pair) => /^refs\/(?:pull|merge-requests)\//.test(pair.left!.key),
  ),
  rule(
    FORGE,
    'wiki: extra',
    'a wiki gets a branch master if it has none',
    ({ right }) => right!.key === 'master',
  ),
  rule(
    FORGE,
    'lfs_objects: missing',
    'restore-repo does not read LFS objects; godwit finish does',
    {
      byFinish: true,
    },
  ),
  rule(
    BOTH,
    'labels: extra',
    'a label that only issues still have becomes a label of the repository',
    ({ right }) => right?.fields.color === 'ededed',
  ),
  rule(BOTH, 'milestones: created', 'servers do not restore when a milestone was created'),
  rule(
    BOTH,
    `${ISSUES}: updated`,
    'every edit, also one by the restore, changes the time of the last update',
  ),
  rule(
    BOTH,
    `${ISSUES}: assignees`,
    'assignees need an account on the new host',
    lacksOnlyUnmapped('assignees'),
  ),
  rule(
    FORGE,
    `${ISSUES}: assignees`,
    'restore-repo does not restore assignees; godwit finish does',
    {
      byFinish: true,
    },
  ),
  rule(
    FORGE,
    `${ISSUES}: dependencies pinned`,
    'servers before 1.20 do not show dependencies and pins',
    { isUnreadable: true, when: ({ context }) => isBefore(context.version, 20) },
  ),
  rule(
    FORGE,
    `${ISSUES}: deadline dependencies pinned`,
    'restore-repo sets no deadlines, dependencies and pins; godwit finish does',
    { byFinish: true },
  ),
  rule(FORGE, `${ISSUES}: title`, 'a title has at most 255 characters', ({ left, right }) => {
    const [long, short] = [String(left?.fields.title), String(right?.fields.title)]
    return [...long].length > 255 && long.startsWith(short.replace(/…$/, ''))
  }),
  rule(
    FORGE,
    'pull_requests: title',
    'a draft is marked by WIP: in its title',
    ({ left, right }) =>
      left?.fields.draft === true && right?.fields.title === `WIP: ${left.fields.title}`,
  ),
  rule(
    BOTH,
    'pull_requests: head from-a-fork',
    'the branch of a fork becomes one of the repository',
    ({ left }) => left?.fields['from a fork'] !== false,
  ),
  rule(
    BOTH,
    'pull_requests: head head-commit from-a-fork',
    'the commits of the pull request are not in the archive',
    ({ left }) => left?.fields.diff === undefined,
  ),
  rule(BOTH, 'pull_requests: review-requests', 'review requests are not restored', ({ right }) =>
    isEmpty(right?.fields['review requests']),
  ),
  rule(
    BOTH,
    'issue_events: missing extra actor about',
    'events are not restored; state and lock are',
  ),
  rule(
    BOTH,
    `issue_comments ${REVIEWS}: missing`,
    'the archive does not have the issue or pull request that it belongs to',
    ({ left, context }) => !context.hasIssue(Number.parseInt(left!.key.slice(1), 10)),
  ),
  rule(
    BOTH,
    `${REVIEWS}: missing`,
    'only its author may see a pending review',
    ({ left }) => left?.fields.state === 'pending',
  ),
  rule(
    BOTH,
    'pull_request_reviews: state',
    'a dismissed review becomes a comment',
    ({ left, right }) => left?.fields.state === 'dismissed' && right?.fields.state === 'commented',
  ),
  rule(
    FORGE,
    'pull_request_reviews: official',
    'a restored review does not count for the protection of its branch',
    ({ right }) => right?.fields.official === false,
  ),
  rule(
    FORGE,
    'pull_request_reviews: extra',
    'a comment on a line whose review or commits are not in the archive becomes a review',
    ({ right, context }) => context.lineComments.has(right!.key),
  ),
  rule(
    FORGE,
    'pull_request_review_comments: first-line resolved',
    'servers restore neither a range of lines nor that a thread is resolved',
  ),
  rule(
    BOTH,
    `${REVIEWS} releases: reactions`,
    'reactions to reviews, to their comments and to releases are not restored',
    ({ right }) => isEmpty(right?.fields.reactions),
  ),
  rule(
    BOTH,
    `${ISSUES} issue_comments ${REVIEWS} releases: author`,
    'an original author without an account is only shown on the pages; the API has the account that restored the text',
    {
      isUnreadable: true,
      // Servers before 1.17 link no account.
      when: ({ left, context }) =>
        isBefore(context.version, 17) || !context.isLinked(String(left?.fields.author)),
    },
  ),
  rule(BOTH, 'commit_comments: missing', 'comments on commits are not restored'),
  rule(BOTH, 'discussions: missing', 'GitHub Discussions are not restored'),
  rule(
    FORGE,
    'releases: draft published',
    'a release whose tag is not in the archive becomes a draft',
    ({ right }) => right?.fields.draft === true,
  ),
  rule(
    FORGE,
    'releases: published',
    'a server shows the time of the tagged commit as that of a release',
  ),
  rule(
    BOTH,
    'attachments release_assets: missing',
    'the archive itself does not have the file',
    ({ left }) => left!.key.startsWith('no file') || left?.fields['SHA-256'] === 'no file',
  ),
  rule(
    FORGE,
    'attachments: missing',
    'servers before 1.19 accept no attachments of issues by their API',
    ({ left, context }) => isBefore(context.version, 19) && left?.fields.of !== 'release',
  ),
  rule(
    FORGE,
    'attachments: missing',
    'restore-repo does not restore attachments; godwit finish does',
    { byFinish: true },
  ),
  rule(
    FORGE,
    'protected_branches: missing',
    'restore-repo does not protect branches; godwit finish does',
    { byFinish: true },
  ),
  rule(GITHUB, 'protected_branches attachments: missing', 'not compared with GitHub'),
  rule(GITHUB, `${ISSUES}: deadline dependencies pinned`, 'not compared with GitHub'),
]

/** Returns the rule by which a difference is expected, or undefined if it is not. `what` is a field, `missing` or `extra`. */
export function knownDifference(what: string, pair: Pair): Rule | undefined {
  const { kind, context } = pair
  return RULES.find((each) => {
    const [kinds, fields] = each.what.split(': ').map((names) => names.split(' '))
    return (
      each.on.includes(context.target) &&
      (kinds!.includes(kind) || kinds![0] === 'any') &&
      fields!.includes(what.replaceAll(' ', '-')) &&
      !(each.byFinish && context.isFinished) &&
      (each.when?.(pair) ?? true)
    )
  })
}
