import { lineHeading } from '../../formats/gitea-dump/dump-reviews.ts'
import { isAtLeast } from '../../sources/forge/client/forge-version.ts'
import type { Item, Value } from './compared-kinds.ts'
import type { ComparedKind } from './spool.ts'

export interface KnownContext {
  /** What the archive is compared with. */
  target: 'archive' | 'forge' | 'github'
  /** Whether `godwit finish` was run, so that what it transfers must be there. */
  isFinished: boolean
  /** The logins of the right side that `--people` names, in lower case. */
  mapped: ReadonlySet<string>
  /** Those of them that `--people` has the account id of. */
  linked: ReadonlySet<string>
  /** The version of Gitea whose features the host has, such as [1, 15]. */
  version: readonly [number, number]
  /** The kinds of which an archive says that it lacks some. `missing`: the archive on the right says it; `extra`: that on the left. */
  losses: Readonly<Record<'missing' | 'extra', ReadonlySet<string>>>
  /** Returns whether the archive has an issue or pull request with this number. */
  hasIssue(number: number): boolean
  /** The keys of the archive's review comments. */
  lineComments: ReadonlySet<string>
  /** The keys of the reviews on the right, each with the first line of its text. */
  reviewHeadings: ReadonlySet<string>
  /** The head commits of the archive's pull requests. */
  pullHeads: ReadonlySet<string>
}

/** An item of the archive and its counterpart. One of them is undefined if the item is missing or extra. */
interface Pair {
  kind: ComparedKind
  left: Item | undefined
  right: Item | undefined
  context: KnownContext
}

interface Rule {
  on: readonly KnownContext['target'][]
  /** Kinds, and their fields or `missing` or `extra`: `issues pull_requests: title`. A space in the name of a field is written `-`. */
  what: string
  reason: string
  when(pair: Pair): boolean
  /** The host does not show the field, so that it counts neither as equal nor as different. */
  isUnreadable?: true
}

const ruleOn =
  (...on: KnownContext['target'][]) =>
  (what: string, reason: string, when: Rule['when'] = () => true): Rule => ({
    on,
    what,
    reason,
    when,
  })
const onHosts = ruleOn('forge', 'github')
const onForge = ruleOn('forge')
const onGitHub = ruleOn('github')
/** Makes the rule for a loss of `gitea restore-repo` that `godwit finish` makes good. */
const untilFinish = (what: string, lost: string): Rule =>
  onForge(
    what,
    `restore-repo does not ${lost}; godwit finish does`,
    ({ context }) => !context.isFinished,
  )
const unreadable = (rule: Rule): Rule => ({ ...rule, isUnreadable: true })

const LINE_COMMENT_REASON =
  'a comment on a line whose review or commits are not in the archive becomes a review'
const ISSUES = 'issues pull_requests'
const REVIEWS = 'pull_request_reviews pull_request_review_comments'

const namesIn = (value: Value): readonly string[] => (Array.isArray(value) ? value : [])
const isEmpty = (value: Value): boolean => namesIn(value).length === 0
const isBefore = ({ version }: KnownContext, minor: number) => !isAtLeast(version, [1, minor])

/** Returns whether the right side lacks only people whom `--people` does not map, so that they may have no account there. */
const lacksOnlyUnmapped =
  (field: string) =>
  ({ left, right, context }: Pair): boolean => {
    const here = new Set(namesIn(left?.fields[field]))
    const there = new Set(namesIn(right?.fields[field]))
    // A collaborator is `login: permission`.
    const lacking = [...here.difference(there)].map((each) => each.split(':')[0]!)
    return there.isSubsetOf(here) && !lacking.some((login) => context.mapped.has(login))
  }

/** Every difference that a move is expected to make. docs/MOVING.md has the same list. */
export const RULES: readonly Rule[] = [
  ruleOn('archive', 'forge', 'github')(
    'any: missing extra',
    'the archive without it says that some of this kind are missing',
    ({ kind, left, context }) => context.losses[left ? 'missing' : 'extra'].has(kind),
  ),
  onHosts('repositories: created', 'a new repository has its own creation time'),
  onHosts(
    'repositories: issues wiki',
    'issues and the wiki are turned on in a new repository',
    ({ right }) => right?.fields.issues !== false && right?.fields.wiki !== false,
  ),
  onHosts(
    'repositories: collaborators',
    'collaborators need an account on the new host',
    lacksOnlyUnmapped('collaborators'),
  ),
  untilFinish(
    'repositories: website archived template collaborators',
    'set the website, the archived and template flags and collaborators',
  ),
  onHosts('branches: extra', 'an open pull request from a fork gets a branch', (pair) =>
    pair.context.pullHeads.has(String(pair.right?.fields.object)),
  ),
  onHosts('other_refs: extra', 'the host has a ref for the head of each pull request', (pair) =>
    /^refs\/pull\/\d+\//.test(pair.right!.key),
  ),
  onGitHub('other_refs: missing object', 'GitHub makes the refs of pull requests itself', (pair) =>
    /^refs\/(?:pull|merge-requests)\//.test(pair.left!.key),
  ),
  onForge(
    'wiki: extra',
    'a wiki gets a branch master if it has none',
    ({ right }) => right!.key === 'master',
  ),
  untilFinish('lfs_objects: missing', 'read LFS objects'),
  ruleOn('archive', 'forge', 'github')(
    'labels: extra',
    'a label that only issues still have becomes a label of the repository',
    // The second is that of exports for GitLab.
    ({ right }) => ['ededed', '428bca'].includes(String(right?.fields.color)),
  ),
  onForge('labels: exclusive', 'servers before 1.19 have no exclusive labels', ({ context }) =>
    isBefore(context, 19),
  ),
  onGitHub('labels: exclusive', 'GitHub has no exclusive labels'),
  onForge(
    'milestones: title',
    'a second milestone of the same title gets a number, because servers find milestones by title',
    ({ right }) => right?.fields.title === right?.key,
  ),
  onHosts('milestones: created', 'servers do not restore when a milestone was created'),
  onHosts(
    `${ISSUES}: updated`,
    'every edit, also one by the restore, changes the time of the last update',
  ),
  onHosts(
    `${ISSUES}: assignees`,
    'assignees need an account on the new host',
    lacksOnlyUnmapped('assignees'),
  ),
  untilFinish(`${ISSUES}: assignees`, 'restore assignees'),
  unreadable(
    onForge(
      `${ISSUES}: dependencies pinned`,
      'servers before 1.20 do not show dependencies and pins',
      ({ context }) => isBefore(context, 20),
    ),
  ),
  untilFinish(`${ISSUES}: deadline dependencies pinned`, 'set deadlines, dependencies and pins'),
  onForge(`${ISSUES}: title`, 'a title has at most 255 characters', ({ left, right }) => {
    const [long, short] = [String(left?.fields.title), String(right?.fields.title)]
    return [...long].length > 255 && long.startsWith(short.replace(/…$/, ''))
  }),
  onForge(
    'pull_requests: title',
    'a draft is marked by WIP: in its title',
    ({ left, right }) =>
      left?.fields.draft === true && right?.fields.title === `WIP: ${left.fields.title}`,
  ),
  onHosts(
    'pull_requests: head from-a-fork',
    'the branch of a fork becomes one of the repository',
    ({ left }) => left?.fields['from a fork'] !== false,
  ),
  onHosts(
    'pull_requests: head head-commit from-a-fork',
    'the commits of the pull request are not in the archive',
    ({ left }) => left?.fields.diff === undefined,
  ),
  onHosts('pull_requests: review-requests', 'review requests are not restored', ({ right }) =>
    isEmpty(right?.fields['review requests']),
  ),
  onHosts('issue_events: missing extra actor about', 'events are not restored; state and lock are'),
  onHosts(
    `issue_comments ${REVIEWS}: missing`,
    'the archive does not have the issue or pull request that it belongs to',
    ({ left, context }) => !context.hasIssue(Number.parseInt(left!.key.slice(1), 10)),
  ),
  onHosts(
    `${REVIEWS}: missing`,
    'only its author may see a pending review',
    ({ left }) => left?.fields.state === 'pending',
  ),
  onHosts(
    'pull_request_reviews: state',
    'a dismissed review becomes a comment',
    ({ left, right }) => left?.fields.state === 'dismissed' && right?.fields.state === 'commented',
  ),
  onForge(
    'pull_request_reviews: official',
    'a restored review does not count for the protection of its branch',
    ({ right }) => right?.fields.official === false,
  ),
  onForge('pull_request_reviews: extra', LINE_COMMENT_REASON, ({ right, context }) =>
    context.lineComments.has(right!.key),
  ),
  onForge('pull_request_review_comments: missing', LINE_COMMENT_REASON, ({ left, context }) => {
    const { path, line } = left!.fields
    return context.reviewHeadings.has(`${left!.key} ${lineHeading(String(path), Number(line))}`)
  }),
  onForge(
    'pull_request_review_comments: first-line resolved',
    'servers restore neither a range of lines nor that a thread is resolved',
  ),
  onHosts(
    `${REVIEWS} releases: reactions`,
    'reactions to reviews, to their comments and to releases are not restored',
    ({ right }) => isEmpty(right?.fields.reactions),
  ),
  unreadable(
    onHosts(
      `${ISSUES} issue_comments ${REVIEWS} releases: author`,
      'an original author without an account is only shown on the pages; the API has the account that restored the text',
      // Servers before 1.17 link no account.
      ({ left, context }) =>
        isBefore(context, 17) || !context.linked.has(String(left?.fields.author)),
    ),
  ),
  onHosts('commit_comments: missing', 'comments on commits are not restored'),
  onHosts('discussions: missing', 'GitHub Discussions are not restored'),
  onForge(
    'releases: draft published',
    'a release whose tag is not in the archive becomes a draft',
    ({ right }) => right?.fields.draft === true,
  ),
  onForge(
    'releases: published',
    'a server shows the time of the tagged commit as that of a release',
  ),
  onHosts(
    'attachments release_assets: missing',
    'the archive itself does not have the file',
    ({ left }) => left!.key.startsWith('no file') || left?.fields['SHA-256'] === 'no file',
  ),
  onForge(
    'attachments: missing',
    'servers before 1.19 accept no attachments of issues by their API',
    ({ left, context }) => isBefore(context, 19) && left?.fields.of !== 'release',
  ),
  untilFinish('attachments: missing', 'restore attachments'),
  untilFinish('protected_branches: missing', 'protect branches'),
  onGitHub('protected_branches attachments: missing', 'not compared with GitHub'),
  onGitHub(`${ISSUES}: deadline dependencies pinned`, 'not compared with GitHub'),
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
      each.when(pair)
    )
  })
}
