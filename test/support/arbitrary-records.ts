import fc, { type Arbitrary } from 'fast-check'
import type { Reaction } from '../../packages/archive/src/records/issue.ts'
import type { IssueOrPull, Reviewer } from '../../packages/archive/src/records/record.ts'
import type { RecordKind, RecordsByKind } from '../../packages/archive/src/records/record-kinds.ts'
import type { AttachedTo } from '../../packages/archive/src/records/release.ts'

const login = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9-]{0,20}(\[bot\])?$/)
const plainName = fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}$/)
/** Never `-` alone, which separates the repository from the rest of the path in URLs of GitLab. */
const repositoryName = plainName.filter((name) => name !== '-')
const repository = fc.tuple(login, repositoryName).map((parts) => parts.join('/'))
const number = fc.integer({ min: 1, max: 1_000_000 })
const id = fc.integer({ min: 1, max: 999_999_999_999_999 })
const sha = fc.stringMatching(/^[0-9a-f]{40}$/)
const text = fc.string({ unit: 'grapheme' })
const nonEmptyText = fc.string({ unit: 'grapheme', minLength: 1 })
const time = fc.constantFrom('2019-11-12T20:22:22Z', '2024-05-02T09:00:00.000+08:00')
const author = fc.option(login)
const orNull = <T>(arbitrary: Arbitrary<T>) => fc.option(arbitrary)
const upToThree = <T>(arbitrary: Arbitrary<T>) => fc.array(arbitrary, { maxLength: 3 })
const line = orNull(fc.nat(10_000))
const uuid = fc.uuid()

/** A character of a path in a URL: allowed there as it is, or encoded. */
const pathCharacter = fc.oneof(
  fc.constantFrom(..."AZaz09-._~!$&'()*+,;=:@"),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }).map(encodeURIComponent),
  fc.constantFrom(...'\0\n\r /?#%\u0085\u2028\u202e\ufffd\u{10ffff}').map(encodeURIComponent),
)
/** Like `fc.webUrl()`, whose table of all code points takes a second and 130 MB. */
const webUrl = fc
  .record({
    scheme: fc.constantFrom('https', 'http'),
    host: fc.domain(),
    path: fc.array(fc.string({ unit: pathCharacter }), { maxLength: 5 }),
  })
  .map(({ scheme, host, path }) => [`${scheme}://${host}`, ...path].join('/'))

const issueOrPull: Arbitrary<IssueOrPull> = fc.record({
  kind: fc.constantFrom('issue', 'pull_request'),
  number,
})

/** Archives sort reactions by the emoji's name, which is `smile` for laugh, `tada` for hooray and `thinking_face` for confused. */
const EMOJI_ORDER = ['+1', '-1', 'eyes', 'heart', 'rocket', 'laugh', 'hooray', 'confused']
const reactions: Arbitrary<Reaction[]> = upToThree(
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
  assignees: upToThree(login),
  milestone: orNull(number),
  labels: upToThree(nonEmptyText),
}
/** Only Gitea and Forgejo have these. */
const forgeTriage = {
  dueOn: time,
  dependsOn: upToThree(
    fc.tuple(repository, issueOrPull).map(([name, on]) => ({ repository: name, ...on })),
  ),
  pinOrder: number,
}
const storedFile = (folder: string) => ({
  name: plainName,
  contentType: text,
  folder: fc.constant(folder),
})

const user = fc.record({
  login,
  name: orNull(text),
  bio: orNull(text),
  company: orNull(text),
  website: orNull(text),
  location: orNull(text),
  emails: upToThree(
    fc.record({ address: fc.emailAddress(), primary: fc.boolean(), verified: fc.boolean() }),
  ),
  avatar: orNull(webUrl),
  createdAt: time,
})

const diffPosition = {
  diffHunk: text,
  path: text,
  position: line,
  originalPosition: line,
  commit: orNull(sha),
  originalCommit: orNull(sha),
}
const side = fc.constantFrom('left' as const, 'right' as const)
const enforcement = fc.constantFrom('off' as const, 'non_admins' as const, 'everyone' as const)
const teams = upToThree(fc.record(team))

const attachedTo: Arbitrary<AttachedTo> = fc.oneof(
  issueOrPull,
  fc.record({ kind: fc.constant('issue_comment' as const), on: issueOrPull, id }),
  fc.record({ kind: fc.constant('pull_request_review' as const), pull: number, id }),
  fc.record({ kind: fc.constant('pull_request_review_comment' as const), pull: number, id }),
  fc.record({ kind: fc.constant('commit_comment' as const), commit: sha, id }),
  fc.record({ kind: fc.constant('release' as const), tag: nonEmptyText }),
  fc.record({ kind: fc.constant('repository' as const) }),
)

const optionalOf = <T extends object>(fields: { [K in keyof T]: Arbitrary<T[K]> }) =>
  fc.record(fields, { requiredKeys: [] })

const merge = <T, O>(required: Arbitrary<T>, optional: Arbitrary<O>): Arbitrary<T & O> =>
  fc.tuple(required, optional).map(([a, b]) => ({ ...a, ...b }))

const withFile = <T extends { folder: string; name: string; uuid: string }>(record: T) => {
  const { folder, ...rest } = record
  return { ...rest, file: `${folder}/${record.uuid}/${record.name}` }
}

const asset = fc.record({ uuid, ...storedFile('release_assets') }).map(withFile)

/** Generators of random records of each kind, for property tests. */
export const RECORD_ARBITRARIES: { [K in RecordKind]: Arbitrary<RecordsByKind[K]> } = {
  users: user,
  bots: user,
  organizations: fc.record({
    login,
    name: orNull(text),
    description: orNull(text),
    website: orNull(text),
    location: orNull(text),
    email: orNull(text),
    members: upToThree(fc.record({ login, role: text, state: text })),
    createdAt: time,
  }),
  teams: fc.record({
    ...team,
    name: text,
    description: orNull(text),
    privacy: text,
    parent: orNull(plainName),
    permissions: upToThree(fc.record({ repository, access: text })),
    members: upToThree(fc.record({ login, role: text })),
    createdAt: time,
  }),
  repositories: merge(
    fc.record({
      owner: login,
      name: repositoryName,
      description: orNull(text),
      website: orNull(text),
      private: fc.boolean(),
      labels: upToThree(
        fc.record({ name: nonEmptyText, color: text, description: orNull(text), createdAt: time }),
      ),
      collaborators: upToThree(fc.record({ login, permission: text })),
      defaultBranch: orNull(text),
      createdAt: time,
      git: text,
    }),
    optionalOf({
      hasIssues: fc.boolean(),
      hasWiki: fc.boolean(),
      hasDownloads: fc.boolean(),
      archived: fc.boolean(),
      template: fc.boolean(),
      wiki: orNull(text),
      topics: upToThree(
        fc.record({ name: text, creator: author, createdAt: time, updatedAt: time }),
      ),
    }),
  ),
  milestones: fc.record({
    repository,
    number,
    author,
    title: text,
    description: orNull(text),
    state: fc.constantFrom('open', 'closed'),
    dueOn: orNull(time),
    createdAt: time,
    updatedAt: time,
    closedAt: orNull(time),
  }),
  issues: merge(
    fc.record({
      repository,
      number,
      author,
      title: text,
      body: orNull(text),
      ...triage,
      reactions,
      closedAt: orNull(time),
      createdAt: time,
      updatedAt: time,
    }),
    optionalOf(forgeTriage),
  ),
  issue_comments: fc.record({
    repository,
    id,
    on: issueOrPull,
    author,
    body: orNull(text),
    reactions,
    createdAt: time,
  }),
  issue_events: merge(
    fc.record({
      repository,
      id,
      on: issueOrPull,
      actor: author,
      event: text.filter((name) => name !== 'transferred'),
      createdAt: time,
    }),
    optionalOf({
      label: fc.record({ name: nonEmptyText, color: text, textColor: text }),
      milestoneTitle: text,
      renamed: fc.record({ from: text, to: text }),
      subject: orNull(reviewer),
      commit: orNull(sha),
      commitRepository: orNull(repository),
      forcePush: fc.record({ ref: text, before: sha, after: sha }),
    }),
  ),
  pull_requests: merge(
    fc.record({
      repository,
      number,
      author,
      title: text,
      body: orNull(text),
      base: fc.record({ ref: text, sha }),
      head: fc.record({ ref: text, sha, owner: author, repository: orNull(repository) }),
      ...triage,
      reactions,
      reviewRequests: upToThree(
        fc.record({ reviewer, createdAt: time, updatedAt: time, dismissedAt: orNull(time) }),
      ),
      closes: upToThree(
        fc.record({ repository, issue: number, actor: author, source: text, createdAt: time }),
      ),
      draft: fc.boolean(),
      mergedAt: orNull(time),
      closedAt: orNull(time),
      createdAt: time,
    }),
    optionalOf({ mergeCommit: orNull(sha), ...forgeTriage }),
  ),
  pull_request_reviews: merge(
    fc.record({
      repository,
      id,
      pull: number,
      author,
      body: orNull(text),
      headSha: orNull(sha),
      state: fc.constantFrom('pending', 'commented', 'changes_requested', 'approved', 'dismissed'),
      reactions,
      createdAt: time,
      submittedAt: orNull(time),
    }),
    optionalOf({ official: fc.boolean() }),
  ),
  pull_request_review_threads: merge(
    fc.record({
      repository,
      id,
      pull: number,
      review: orNull(id),
      ...diffPosition,
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
  pull_request_review_comments: merge(
    fc.record({
      repository,
      id,
      pull: number,
      review: orNull(id),
      thread: orNull(id),
      author,
      body: orNull(text),
      ...diffPosition,
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
    body: orNull(text),
    path: orNull(text),
    position: line,
    reactions,
    createdAt: time,
  }),
  discussion_categories: fc.record({ repository }),
  discussions: fc.record({ repository }),
  releases: merge(
    fc.record({
      repository,
      tag: nonEmptyText,
      author,
      name: orNull(text),
      body: orNull(text),
      draft: fc.boolean(),
      prerelease: fc.boolean(),
      target: text,
      assets: upToThree(asset),
      publishedAt: orNull(time),
      createdAt: time,
    }),
    optionalOf({ reactions }),
  ),
  protected_branches: merge(
    fc.record({
      repository,
      name: nonEmptyText,
      creator: author,
      adminEnforced: fc.boolean(),
      allowsForcePushes: fc.boolean(),
      allowsDeletions: fc.boolean(),
      authorizedActorsOnly: fc.boolean(),
      authorizedUsers: upToThree(login),
      authorizedTeams: teams,
      reviews: fc.record({
        enforcement,
        required: fc.boolean(),
        approvals: fc.nat(10),
        dismissStaleOnPush: fc.boolean(),
        byCodeOwners: fc.boolean(),
        restrictsDismissals: fc.boolean(),
        dismissalUsers: upToThree(login),
        dismissalTeams: teams,
      }),
      statusChecks: fc.record({
        enforcement,
        required: fc.boolean(),
        strict: fc.boolean(),
        contexts: upToThree(text),
      }),
      requiresSignatures: fc.boolean(),
      requiresLinearHistory: fc.boolean(),
    }),
    optionalOf({ forgeRule: fc.dictionary(plainName, text) }),
  ),
  attachments: fc
    .record({
      repository,
      uuid,
      on: attachedTo,
      author,
      createdAt: time,
      oldUrl: webUrl,
      ...storedFile('attachments'),
    })
    .map(withFile),
  repository_files: fc
    .record({ repository, id, author, createdAt: time, ...storedFile('repository_files') })
    .map(({ folder, ...record }) => ({ ...record, file: `${folder}/${record.id}/${record.name}` })),
}
