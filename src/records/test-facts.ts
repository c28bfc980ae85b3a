import fc, { type Arbitrary } from 'fast-check'
import type { IssueOrPull, Reaction, Reviewer } from './fact.ts'
import type { FactKind, FactsByKind } from './facts.ts'
import type { AttachedTo } from './release.ts'

const login = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9-]{0,20}(\[bot\])?$/)
const plainName = fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}$/)
/** Not `-` alone, which GitLab has after the repository. */
const repositoryName = plainName.filter((name) => name !== '-')
const repository = fc.tuple(login, repositoryName).map((parts) => parts.join('/'))
const number = fc.integer({ min: 1, max: 1_000_000 })
const id = fc.integer({ min: 1, max: 999_999_999_999_999 })
const sha = fc.stringMatching(/^[0-9a-f]{40}$/)
const words = fc.string({ unit: 'grapheme' })
const someWords = fc.string({ unit: 'grapheme', minLength: 1 })
const time = fc.constantFrom('2019-11-12T20:22:22Z', '2024-05-02T09:00:00.000+08:00')
const author = fc.option(login)
const orNull = <T>(arbitrary: Arbitrary<T>) => fc.option(arbitrary)
const some = <T>(arbitrary: Arbitrary<T>) => fc.array(arbitrary, { maxLength: 3 })
const line = orNull(fc.nat(10_000))
const uuid = fc.uuid()

const discussed: Arbitrary<IssueOrPull> = fc.record({
  kind: fc.constantFrom('issue', 'pull_request'),
  number,
})

/** Sorted by the name of the emoji, as in archives. */
const EMOJI_ORDER = ['+1', '-1', 'eyes', 'heart', 'rocket', 'laugh', 'hooray', 'confused']
const reactions: Arbitrary<Reaction[]> = some(
  fc.record({
    author,
    content: fc.constantFrom(...EMOJI_ORDER),
    createdAt: fc.constant('2024-05-02T09:00:00.000+08:00'),
  }),
).map((all) =>
  all.toSorted((a, b) => EMOJI_ORDER.indexOf(a.content) - EMOJI_ORDER.indexOf(b.content)),
)

const team = { organization: login, slug: plainName }
const reviewer: Arbitrary<Reviewer> = fc.oneof(
  fc.record({ kind: fc.constant('user' as const), login }),
  fc.record({ kind: fc.constant('team' as const), ...team }),
)

const triage = {
  assignees: some(login),
  milestone: orNull(number),
  labels: some(someWords),
}
const stored = (folder: string) => ({
  name: plainName,
  contentType: words,
  folder: fc.constant(folder),
})

const user = fc.record({
  login,
  name: orNull(words),
  bio: orNull(words),
  company: orNull(words),
  website: orNull(words),
  location: orNull(words),
  emails: some(fc.record({ address: words, primary: fc.boolean(), verified: fc.boolean() })),
  avatar: orNull(fc.webUrl()),
  createdAt: time,
})

const place = {
  diffHunk: words,
  path: words,
  position: line,
  originalPosition: line,
  commit: orNull(sha),
  originalCommit: orNull(sha),
}
const side = fc.constantFrom('left' as const, 'right' as const)
const enforcement = fc.constantFrom('off' as const, 'non_admins' as const, 'everyone' as const)
const teams = some(fc.record(team))

const attachedTo: Arbitrary<AttachedTo> = fc.oneof(
  discussed,
  fc.record({ kind: fc.constant('issue_comment' as const), on: discussed, id }),
  fc.record({ kind: fc.constant('pull_request_review' as const), pull: number, id }),
  fc.record({ kind: fc.constant('pull_request_review_comment' as const), pull: number, id }),
  fc.record({ kind: fc.constant('commit_comment' as const), commit: sha, id }),
  fc.record({ kind: fc.constant('release' as const), tag: someWords }),
  fc.record({ kind: fc.constant('repository' as const) }),
)

const optionalOf = <T extends object>(fields: { [K in keyof T]: Arbitrary<T[K]> }) =>
  fc.record(fields, { requiredKeys: [] })

const both = <T, O>(required: Arbitrary<T>, others: Arbitrary<O>): Arbitrary<T & O> =>
  fc.tuple(required, others).map(([a, b]) => ({ ...a, ...b }))

const withFile = <T extends { folder: string; name: string; uuid: string }>(fact: T) => {
  const { folder, ...others } = fact
  return { ...others, file: `${folder}/${fact.uuid}/${fact.name}` }
}

const asset = fc.record({ uuid, ...stored('release_assets') }).map(withFile)

export const FACTS: { [K in FactKind]: Arbitrary<FactsByKind[K]> } = {
  users: user,
  bots: user,
  organizations: fc.record({
    login,
    name: orNull(words),
    description: orNull(words),
    website: orNull(words),
    location: orNull(words),
    email: orNull(words),
    members: some(fc.record({ login, role: words, state: words })),
    createdAt: time,
  }),
  teams: fc.record({
    ...team,
    name: words,
    description: orNull(words),
    privacy: words,
    parent: orNull(plainName),
    permissions: some(fc.record({ repository, access: words })),
    members: some(fc.record({ login, role: words })),
    createdAt: time,
  }),
  repositories: both(
    fc.record({
      owner: login,
      name: repositoryName,
      description: orNull(words),
      website: orNull(words),
      private: fc.boolean(),
      labels: some(
        fc.record({ name: someWords, color: words, description: orNull(words), createdAt: time }),
      ),
      collaborators: some(fc.record({ login, permission: words })),
      defaultBranch: orNull(words),
      createdAt: time,
      git: words,
    }),
    optionalOf({
      hasIssues: fc.boolean(),
      hasWiki: fc.boolean(),
      hasDownloads: fc.boolean(),
      archived: fc.boolean(),
      wiki: orNull(words),
      topics: some(fc.record({ name: words, creator: author, createdAt: time, updatedAt: time })),
    }),
  ),
  milestones: fc.record({
    repository,
    number,
    author,
    title: words,
    description: orNull(words),
    state: fc.constantFrom('open', 'closed'),
    dueOn: orNull(time),
    createdAt: time,
    updatedAt: time,
    closedAt: orNull(time),
  }),
  issues: fc.record({
    repository,
    number,
    author,
    title: words,
    body: orNull(words),
    ...triage,
    reactions,
    closedAt: orNull(time),
    createdAt: time,
    updatedAt: time,
  }),
  issue_comments: fc.record({
    repository,
    id,
    on: discussed,
    author,
    body: orNull(words),
    reactions,
    createdAt: time,
  }),
  issue_events: both(
    fc.record({
      repository,
      id,
      on: discussed,
      actor: author,
      event: words.filter((word) => word !== 'transferred'),
      createdAt: time,
    }),
    optionalOf({
      label: fc.record({ name: someWords, color: words, textColor: words }),
      milestoneTitle: words,
      renamed: fc.record({ from: words, to: words }),
      subject: orNull(reviewer),
      commit: orNull(sha),
      commitRepository: orNull(repository),
      forcePush: fc.record({ ref: words, before: sha, after: sha }),
    }),
  ),
  pull_requests: both(
    fc.record({
      repository,
      number,
      author,
      title: words,
      body: orNull(words),
      base: fc.record({ ref: words, sha }),
      head: fc.record({ ref: words, sha, owner: author, repository: orNull(repository) }),
      ...triage,
      reactions,
      reviewRequests: some(
        fc.record({ reviewer, createdAt: time, updatedAt: time, dismissedAt: orNull(time) }),
      ),
      closes: some(
        fc.record({ repository, issue: number, actor: author, source: words, createdAt: time }),
      ),
      draft: fc.boolean(),
      mergedAt: orNull(time),
      closedAt: orNull(time),
      createdAt: time,
    }),
    optionalOf({ mergeCommit: orNull(sha) }),
  ),
  pull_request_reviews: fc.record({
    repository,
    id,
    pull: number,
    author,
    body: orNull(words),
    headSha: orNull(sha),
    state: fc.constantFrom('pending', 'commented', 'changes_requested', 'approved', 'dismissed'),
    reactions,
    createdAt: time,
    submittedAt: orNull(time),
  }),
  pull_request_review_threads: both(
    fc.record({
      repository,
      id,
      pull: number,
      review: orNull(id),
      ...place,
      line,
      side,
      startLine: line,
      startSide: orNull(side),
      originalLine: line,
      originalStartLine: line,
      createdAt: time,
      resolvedAt: orNull(time),
      resolver: author,
    }),
    optionalOf({ outdated: fc.boolean(), subjectType: fc.constantFrom('line', 'file') }),
  ),
  pull_request_review_comments: both(
    fc.record({
      repository,
      id,
      pull: number,
      review: orNull(id),
      thread: orNull(id),
      author,
      body: orNull(words),
      ...place,
      state: fc.constantFrom('pending', 'submitted'),
      inReplyTo: orNull(id),
      reactions,
      createdAt: time,
    }),
    optionalOf({ subjectType: fc.constantFrom('line', 'file') }),
  ),
  commit_comments: fc.record({
    repository,
    id,
    commit: sha,
    author,
    body: orNull(words),
    path: orNull(words),
    position: line,
    reactions,
    createdAt: time,
  }),
  discussion_categories: fc.record({
    repository,
    name: someWords,
    emoji: orNull(words),
    description: orNull(words),
  }),
  discussions: fc.record({
    repository,
    number,
    author,
    title: words,
    body: orNull(words),
    labels: some(someWords),
    reactions,
    category: orNull(someWords),
    createdAt: time,
    updatedAt: time,
  }),
  releases: both(
    fc.record({
      repository,
      tag: someWords,
      author,
      name: orNull(words),
      body: orNull(words),
      draft: fc.boolean(),
      prerelease: fc.boolean(),
      target: words,
      assets: some(asset),
      publishedAt: orNull(time),
      createdAt: time,
    }),
    optionalOf({ reactions }),
  ),
  protected_branches: fc.record({
    repository,
    name: someWords,
    creator: author,
    adminEnforced: fc.boolean(),
    allowsForcePushes: fc.boolean(),
    allowsDeletions: fc.boolean(),
    authorizedActorsOnly: fc.boolean(),
    authorizedUsers: some(login),
    authorizedTeams: teams,
    reviews: fc.record({
      enforcement,
      required: fc.boolean(),
      approvals: fc.nat(10),
      dismissStaleOnPush: fc.boolean(),
      byCodeOwners: fc.boolean(),
      restrictsDismissals: fc.boolean(),
      dismissalUsers: some(login),
      dismissalTeams: teams,
    }),
    statusChecks: fc.record({
      enforcement,
      required: fc.boolean(),
      strict: fc.boolean(),
      contexts: some(words),
    }),
    requiresSignatures: fc.boolean(),
    requiresLinearHistory: fc.boolean(),
  }),
  attachments: fc
    .record({ repository, uuid, on: attachedTo, author, createdAt: time, ...stored('attachments') })
    .map(withFile),
  repository_files: fc
    .record({ repository, id, author, createdAt: time, ...stored('repository_files') })
    .map(({ folder, ...fact }) => ({ ...fact, file: `${folder}/${fact.id}/${fact.name}` })),
}
