import { isAtLeast } from '@godwit/lib/is-at-least'
import { lineHeading } from '../formats/gitea-dump/dump-reviews.ts'
import type { Item, Value } from './compared-kinds.ts'
import type { ComparedKind } from './comparison-rows.ts'

export interface KnownContext {
  /** What the archive is compared with. `gitlab` is a project export of GitLab, if the archive itself is none. */
  target: 'archive' | 'gitlab' | 'forge' | 'github'
  /** Whether `godwit finish` was run, so that what it transfers must be there. */
  isFinished: boolean
  /** The logins of the right side that `--people` names, in lower case. */
  mapped: ReadonlySet<string>
  /** Those of them that `--people` has the account id of. */
  linked: ReadonlySet<string>
  /** Those of them that `--people` has the e-mail address of. */
  linkedByEmail: ReadonlySet<string>
  /** The version of Gitea whose features the host has, such as [1, 15], or undefined for GitHub. */
  version: readonly [number, number] | undefined
  /** The kinds of which an archive says that it lacks some. `missing`: the archive on the right says it; `extra`: that on the left. */
  losses: Readonly<Record<'missing' | 'extra', ReadonlySet<string>>>
  /** Returns whether the archive has an issue or pull request with this number. */
  hasIssue(number: number): boolean
  /** The keys of the archive's review comments. */
  lineComments: ReadonlySet<string>
  /** The keys of the reviews on the right, each with the first line of its text. */
  reviewHeadings: ReadonlySet<string>
  /** For GitLab, the texts by key: of reviews and review comments on the left, of comments and review comments on the right. */
  written: Readonly<Record<'left' | 'right', ReadonlyMap<string, readonly string[]>>>
  /** For GitLab, the SHA-256 of each attachment. */
  files: Readonly<Record<'left' | 'right', ReadonlySet<string | undefined>>>
  /** For GitLab, the names of the events by which issues and pull requests of the archive got their state. */
  closings: ReadonlySet<string>
  /** Returns whether two texts differ at most in links to the same page or file. */
  isSameText(left: string, right: string): boolean
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
const onGitLab = ruleOn('gitlab')
const onServers = ruleOn('forge', 'github', 'gitlab')
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
const REVIEW_REASON =
  'GitLab has no reviews: their texts become comments, and comments on lines become reviews'
const BRANCH_REASON = 'a protected branch of GitLab only says which roles may push and merge'
const ISSUES = 'issues pull_requests'
const REVIEWS = 'pull_request_reviews pull_request_review_comments'

const namesIn = (value: Value): readonly string[] => (Array.isArray(value) ? value : [])
const isDecision = ({ fields }: Item): boolean =>
  fields.state === 'approved' || fields.state === 'changes_requested'
const isEmpty = (value: Value): boolean => namesIn(value).length === 0
const isBefore = ({ version }: KnownContext, minor: number) =>
  version !== undefined && !isAtLeast(version, [1, minor])

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

/** Returns whether a comment or review comment of the export has the text of a review, which GitLab does not have. */
const isWrittenOnRight = ({ left, context }: Pair): boolean => {
  const texts = context.written.right.get(left!.key) ?? []
  const body = String(left!.fields.body)
  return texts.some((text) =>
    [text, text.replace(POSITION, '')].some((each) => context.isSameText(body, each)),
  )
}

/** Returns whether a review or review comment of the archive has the text of a comment, whose first lines may name its position. */
const isWrittenOnLeft = ({ right, context }: Pair): boolean => {
  const texts = context.written.left.get(right!.key) ?? []
  const body = String(right!.fields.body).replace(POSITION, '')
  return texts.some((text) => text !== '' && context.isSameText(text, body))
}

/** Matches the line that an export for GitLab puts above a comment that lost its position. */
const POSITION = /^`[^\n]+`(?:, line \d+(?: of its diff)?)?:\n\n/
/** Matches the line that an export for GitLab puts below a text whose author has no e-mail address. */
const BY_LINE = /(?:^|\n\n)\*By \S+ on [\dT:-]{19}\*$/

/** Returns whether values differ only in people, and those of the right are placeholders for people without an e-mail address. */
function lacksOnlyEmails(field: string) {
  return ({ left, right, context }: Pair): boolean => {
    const [here, there] = [left, right].map((item) => {
      const value = item?.fields[field]
      return Array.isArray(value) ? (value as string[]) : [String(value)]
    })
    const isPlaceholder = (value: string) => /(?:^| )gitlab-user-\d+$/.test(value)
    const isLinked = (value: string) => context.linkedByEmail.has(value.split(' ').at(-1)!)
    const rest = here!.filter((value) => !there!.includes(value))
    const added = there!.filter((value) => !here!.includes(value))
    const without = (values: string[]) => values.map((value) => value.replace(/\S+$/, '')).sort()
    return (
      added.every(isPlaceholder) &&
      !rest.some(isLinked) &&
      without(rest).join('\n') === without(added).join('\n')
    )
  }
}

/** Every difference that a move is expected to make. docs/MOVING.md has the same list. */
export const RULES: readonly Rule[] = [
  ruleOn(
    'archive',
    'gitlab',
    'forge',
    'github',
  )(
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
  onServers('branches: extra', 'an open pull request from a fork gets a branch', (pair) =>
    pair.context.pullHeads.has(String(pair.right?.fields.object)),
  ),
  onServers('other_refs: extra', 'the host has a ref for the head of each pull request', (pair) =>
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
  ruleOn(
    'archive',
    'gitlab',
    'forge',
    'github',
  )(
    'labels: extra',
    'a label that only issues still have becomes a label of the repository',
    // The second is that of exports for GitLab.
    ({ right }) => ['ededed', '428bca'].includes(String(right?.fields.color)),
  ),
  onForge('labels: exclusive', 'servers before 1.19 have no exclusive labels', ({ context }) =>
    isBefore(context, 19),
  ),
  onGitHub('labels: exclusive', 'GitHub has no exclusive labels'),
  ruleOn('forge', 'gitlab')(
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
  ruleOn('forge', 'gitlab')(
    `${ISSUES}: title`,
    'a title has at most 255 characters',
    ({ left, right }) => {
      const [long, short] = [String(left?.fields.title), String(right?.fields.title)]
      return [...long].length > 255 && long.startsWith(short.replace(/…$/, ''))
    },
  ),
  onForge(
    'pull_requests: title',
    'a draft is marked by WIP: in its title',
    ({ left, right }) =>
      left?.fields.draft === true && right?.fields.title === `WIP: ${left.fields.title}`,
  ),
  onServers(
    'pull_requests: head from-a-fork',
    'the branch of a fork becomes one of the repository',
    ({ left }) => left?.fields['from a fork'] !== false,
  ),
  onServers(
    'pull_requests: head head-commit from-a-fork',
    'the commits of the pull request are not in the archive',
    ({ left }) => left?.fields.diff === undefined,
  ),
  onHosts('pull_requests: review-requests', 'review requests are not restored', ({ right }) =>
    isEmpty(right?.fields['review requests']),
  ),
  onHosts('issue_events: missing extra actor about', 'events are not restored; state and lock are'),
  onServers(
    `issue_comments ${REVIEWS}: missing`,
    'the archive does not have the issue or pull request that it belongs to',
    ({ left, context }) => !context.hasIssue(Number.parseInt(left!.key.slice(1), 10)),
  ),
  onServers(
    `${REVIEWS}: missing`,
    'only its author may see a pending review',
    ({ left }) => left?.fields.state === 'pending',
  ),
  onServers(
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
  onServers(
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
  onGitLab('repositories: created', 'exports of GitLab do not say when a project was created'),
  onGitLab(
    'repositories: website topics',
    'exports for GitLab have no website and topics',
    ({ right }) => right?.fields.website === '' && isEmpty(right.fields.topics),
  ),
  onGitLab(
    'repositories: collaborators',
    'GitLab makes everyone with an e-mail address a member, with the access level in the file of --people',
    ({ left, right, context }) => {
      const loginsOf = (item?: Item) =>
        namesIn(item?.fields.collaborators).map((each) => each.split(':')[0]!)
      const there = new Set(loginsOf(right))
      return !loginsOf(left).some((each) => !there.has(each) && context.linkedByEmail.has(each))
    },
  ),
  onGitLab(
    `${ISSUES}: deadline dependencies pinned`,
    'exports for GitLab have no deadlines, dependencies and pins',
    ({ right }) =>
      right?.fields.deadline === null &&
      right.fields.pinned === null &&
      isEmpty(right.fields.dependencies),
  ),
  onGitLab('labels: exclusive', 'exports for GitLab have no exclusive labels'),
  onGitLab(
    'milestones: closed',
    'GitLab does not record when a milestone was closed',
    ({ left, right }) => left?.fields.closed !== null && right?.fields.closed !== null,
  ),
  onGitLab(
    'milestones: due',
    'a milestone of GitLab is due on a day, without a time',
    ({ left, right }) =>
      String(left?.fields.due).slice(0, 10) === String(right?.fields.due).slice(0, 10),
  ),
  onGitLab(
    'issue_events: extra',
    'an event is made of the time at which something was closed or merged, if there is none',
    ({ right, context }) => context.closings.has(right!.name),
  ),
  onGitLab(
    `${ISSUES}: body`,
    'the text of an author without an e-mail address ends with a line that names them',
    ({ left, right, context }) => {
      const [here, there] = [String(left?.fields.body), String(right?.fields.body)]
      const isLinked = context.linkedByEmail.has(String(left?.fields.author))
      return (
        BY_LINE.test(there) && !isLinked && context.isSameText(here, there.replace(BY_LINE, ''))
      )
    },
  ),
  ...['author', 'actor', 'assignees', 'reactions', 'review-requests'].map((field) =>
    onGitLab(
      `${ISSUES} issue_comments issue_events ${REVIEWS} commit_comments releases: ${field}`,
      'people without an e-mail address in the file of --people are only numbers in an export for GitLab',
      lacksOnlyEmails(field.replace('-', ' ')),
    ),
  ),
  onGitLab(
    'pull_requests: review-requests',
    'GitLab does not request reviews of teams',
    ({ left, right }) => {
      const users = namesIn(left?.fields['review requests']).filter((n) => !n.startsWith('team '))
      return users.join() === namesIn(right?.fields['review requests']).join()
    },
  ),
  onGitLab('issue_events: missing', 'GitLab does not record mentions and subscriptions', (pair) =>
    /^(?:mentioned|(?:un)?subscribed) /.test(pair.left!.key),
  ),
  onGitLab(
    'pull_request_reviews: missing body',
    REVIEW_REASON,
    (pair) =>
      (pair.left!.fields.body === '' || isWrittenOnRight(pair)) &&
      (pair.right ? pair.right.fields.body === '' : !isDecision(pair.left!)),
  ),
  onGitLab(
    'pull_request_reviews: extra',
    REVIEW_REASON,
    ({ right, context }) => !isDecision(right!) && context.written.right.has(right!.key),
  ),
  onGitLab('issue_comments: extra', REVIEW_REASON, isWrittenOnLeft),
  onGitLab(
    'pull_request_review_comments: missing',
    'a comment on a line that cannot be found names the line in its text',
    isWrittenOnRight,
  ),
  onGitLab('pull_request_reviews: commit', 'GitLab does not record which commit was reviewed'),
  onGitLab(
    'pull_request_reviews: reactions',
    'GitLab has no reactions to reviews and releases',
    ({ right }) => isEmpty(right?.fields.reactions),
  ),
  onGitLab('releases: reactions', 'GitLab has no reactions to reviews and releases', ({ right }) =>
    isEmpty(right?.fields.reactions),
  ),
  onGitLab(
    'commit_comments: body path',
    'comments on commits have their position in their text',
    ({ left, right, context }) =>
      context.isSameText(
        String(left?.fields.body),
        String(right?.fields.body).replace(POSITION, ''),
      ),
  ),
  onGitLab(
    'releases: missing',
    'GitLab has no drafts of releases',
    ({ left }) => left?.fields.draft === true,
  ),
  onGitLab(
    'releases: pre-release target',
    'GitLab does not record the target of a release and whether it is a pre-release',
    ({ right }) => right?.fields['pre-release'] === false,
  ),
  onGitLab('release_assets: missing', 'releases of GitLab have links instead of files'),
  onGitLab(
    'attachments: missing extra of',
    'exports of GitLab do not say what a file belongs to',
    ({ left, right, context }) =>
      (!left || context.files.right.has(left.key)) && (!right || context.files.left.has(right.key)),
  ),
  onGitLab(
    'protected_branches: applies-to-administrators deletions limited-pushes who-may-push teams-that-may-push',
    BRANCH_REASON,
    ({ left, right }) =>
      left?.fields['limited pushes'] !== true || right?.fields['limited pushes'] === true,
  ),
  onGitLab(
    'protected_branches: approvals stale-approvals-are-dismissed checks strict-checks signatures linear-history',
    BRANCH_REASON,
  ),
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
