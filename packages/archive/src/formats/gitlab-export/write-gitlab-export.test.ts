import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, hash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../../../test/support/archive-samples.ts'
import { cleanupAfterFile } from '../../../../../test/support/file-cleanup.ts'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import {
  DISCUSSED_FILES,
  discussedRecords,
  HOSTILE_TEXT,
  makeDiscussedRepositories,
  type RecordLists,
  writeUnpackedArchive,
} from '../../../../../test/support/gitea-archive.ts'
import { GITLAB_ATTRIBUTES } from '../../../../../test/support/gitlab-attributes.ts'
import { readContent } from '../../../../../test/support/gitlab-exports.ts'
import { REAL_ARCHIVE } from '../../../../../test/support/real-archive.ts'
import type { Git } from '../../../../git/src/git.ts'
import { type ConvertOptions, convert } from '../../convert.ts'
import type { RecordKind } from '../../records/record-kinds.ts'
import { Report } from '../format.ts'
import type { PeopleMap } from '../people.ts'
import { gitlabExportWriter } from './write-gitlab-export.ts'

const UNSTOPPED = new AbortController().signal
const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const HEX = UUID.replaceAll('-', '')
const LFS = 'the content of a large file\n'
const OID = createHash('sha256').update(LFS).digest('hex')
const PEOPLE: PeopleMap = new Map([
  ['alice', { login: 'anna', id: undefined, email: 'anna@example.com', accessLevel: 40 }],
  ['bob', { login: 'bob', id: undefined, email: 'bob@example.com' }],
])

let host: GitHost
let records: RecordLists
let commits: Awaited<ReturnType<typeof makeDiscussedRepositories>>

before(async () => {
  host = await gitHost()
  commits = await makeDiscussedRepositories(host)
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${OID}\nsize ${LFS.length}\n`
  const dir = host.path('corp/quiet')
  await host.commit(dir, { '.gitattributes': '*.bin filter=lfs\n', 'large.bin': pointer })
  const object = join(dir, 'lfs/objects', OID.slice(0, 2), OID.slice(2, 4), OID)
  await mkdir(dirname(object), { recursive: true })
  await writeFile(object, LFS)
  records = changedRecords(discussedRecords(commits))
})
after(() => host.remove())

/** Adds what dumps for Gitea cannot contain. */
function changedRecords(records: RecordLists): RecordLists {
  const [issue, ...issues] = records.issues!
  const [shot, ...attachments] = records.attachments!
  const event = (id: number, event: string, number: number, change: object) => ({
    ...{ repository: 'alice/site', id, actor: 'alice', event, createdAt: '2021-03-07T10:00:00Z' },
    ...{ on: { kind: number > 2 ? 'pull_request' : 'issue', number } as const, ...change },
  })
  const [comment] = records.pull_request_review_comments!
  const onPull5 = {
    ...{ pull: 5, thread: 2, review: null, inReplyTo: null, author: 'bob', path: 'a.txt' },
    diffHunk: '@@ -1,2 +1,2 @@\n one\n-two\n+TWO',
  }
  return {
    ...records,
    issues: [
      { ...issue!, body: `See #3, \`#3\` and ![it](https://old.example.com/attachments/${UUID}).` },
      ...issues,
    ],
    attachments: [
      { ...shot!, uuid: UUID, file: `attachments/${UUID}/shot.txt`, contentType: 'image/png' },
      ...attachments,
    ],
    issue_events: [
      ...records.issue_events!,
      event(26, 'labeled', 1, { label: { name: 'bug', color: 'd73a4a', textColor: 'fff' } }),
      event(27, 'labeled', 1, { label: { name: 'deleted', color: 'd73a4a', textColor: 'fff' } }),
      event(28, 'milestoned', 1, { milestoneTitle: 'one' }),
      event(29, 'assigned', 2, { subject: { kind: 'user', login: 'bob' } }),
      event(30, 'renamed', 2, { renamed: { from: 'a', to: 'b' } }),
      event(31, 'subscribed', 2, {}),
      event(32, 'closed', 1, { createdAt: '2021-03-08T12:00:00Z', commit: commits.later }),
    ],
    pull_requests: records.pull_requests!.map((pull) =>
      pull.number === 5
        ? {
            ...pull,
            assignees: ['carol'],
            reviewRequests: ['erin', 'bob'].map((login) => ({
              reviewer: { kind: 'user' as const, login },
              ...{ createdAt: '2021-03-03T12:00:00Z', updatedAt: '2021-03-03T12:00:00Z' },
              dismissedAt: login === 'bob' ? '2021-03-04T12:00:00Z' : null,
            })),
          }
        : pull,
    ),
    pull_request_review_threads: [
      ...records.pull_request_review_threads!,
      {
        ...records.pull_request_review_threads![0]!,
        ...{ ...onPull5, id: 2, line: 2, side: 'right', startLine: 1, startSide: 'right' },
        ...{ originalLine: 2, originalStartLine: 1 },
        ...{ resolvedAt: '2021-03-09T12:00:00Z', resolver: 'alice' },
      },
      {
        ...records.pull_request_review_threads![0]!,
        ...{ ...onPull5, id: 3, line: null, side: 'right', originalLine: 2, outdated: true },
        originalCommit: commits.fork,
      },
    ],
    pull_request_review_comments: [
      ...records.pull_request_review_comments!,
      { ...comment!, ...onPull5, id: 51, body: 'Rather:\n```suggestion\nOne\nTwo\n```' },
      {
        ...comment!,
        ...onPull5,
        id: 52,
        thread: 3,
        body: 'Old',
        position: null,
        originalCommit: commits.fork,
      },
    ],
    commit_comments: [
      {
        ...records.commit_comments![0]!,
        path: 'a.txt',
        position: 1,
        reactions: [{ author: 'bob', content: 'heart', createdAt: '2021-03-02T09:00:00Z' }],
      },
    ],
    protected_branches: [
      {
        ...{
          repository: 'alice/site',
          name: 'main',
          creator: 'alice',
          adminEnforced: false,
          allowsForcePushes: false,
        },
        ...{
          allowsDeletions: false,
          authorizedActorsOnly: false,
          authorizedUsers: [],
          authorizedTeams: [],
        },
        reviews: {
          ...{ enforcement: 'everyone', required: true, approvals: 1, dismissStaleOnPush: false },
          ...{
            byCodeOwners: false,
            restrictsDismissals: false,
            dismissalUsers: [],
            dismissalTeams: [],
          },
        },
        statusChecks: { enforcement: 'off', required: false, strict: false, contexts: [] },
        ...{ requiresSignatures: false, requiresLinearHistory: false },
      },
    ],
  }
}

const FILES = {
  ...DISCUSSED_FILES,
  [`attachments/${UUID}/shot.txt`]: 'a picture',
  [`attachments/${UUID}/b.txt`]: 'another file',
}

interface Wishes extends Partial<ConvertOptions> {
  assetBaseUrl?: string
  signal?: AbortSignal
}

async function exported(
  t: Pick<TestContext, 'after'>,
  change: RecordLists = {},
  wishes: Wishes = {},
) {
  const folder = await temporaryFolder(t)
  const into = join(folder, 'exports')
  const archive = await writeUnpackedArchive(
    join(folder, 'archive'),
    host,
    { ...records, ...change },
    FILES,
  )
  const warnings: string[] = []
  const report = new Report((warning) => warnings.push(warning))
  const people = wishes.people ?? PEOPLE
  const options: ConvertOptions = {
    ...{ git: host.godwitGit, report, repositories: [], owner: '', people, into },
    numbersFile: join(folder, 'numbers.csv'),
    inputs: [{ name: 'archive', open: () => ({ folder: archive }) }],
    createWriter: (workDirectory, people) =>
      gitlabExportWriter({
        ...{ git: wishes.git ?? host.godwitGit, into, workDirectory, people },
        assetBaseUrl: wishes.assetBaseUrl ?? '',
      }),
    ...wishes,
  }
  const written = await Array.fromAsync(convert(options, wishes.signal ?? UNSTOPPED))
  return { folder, into, written, warnings, report, losses: report.end() }
}

const fileCleanup = cleanupAfterFile()
let cached: ReturnType<typeof exported> | undefined

/** Exports the unchanged records once, for all tests that only read the result. */
function exportOfAll() {
  cached ??= exported(fileCleanup)
  return cached
}

// biome-ignore lint/suspicious/noExplicitAny: records of an export.
type Value = Record<string, any>

async function unpack(folder: string, file: string) {
  const root = join(folder, `unpacked-${readdirSync(folder).length}`)
  await mkdir(root)
  execFileSync('tar', ['xzf', file, '-C', root])
  const lines = (relation: string): Value[] =>
    readFileSync(join(root, `tree/project/${relation}.ndjson`), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  const project: Value = JSON.parse(readFileSync(join(root, 'tree/project.json'), 'utf8'))
  return { root, lines, project, relations: readdirSync(join(root, 'tree/project')) }
}

async function site() {
  const { folder, into } = await exportOfAll()
  return await unpack(folder, join(into, 'alice/site_export.tar.gz'))
}

describe('an export for GitLab', () => {
  test('is written for each repository', async () => {
    const { into, written } = await exportOfAll()
    assert.deepEqual(
      written,
      ['alice/site', 'corp/empty', 'corp/quiet'].map((fullName) => ({ fullName, errors: [] })),
    )
    assert.deepEqual(readdirSync(into, { recursive: true }).sort(), [
      ...['alice', 'alice/site_export.tar.gz', 'corp'],
      ...['corp/empty_export.tar.gz', 'corp/quiet_export.tar.gz'],
    ])
    const { root, project } = await site()
    assert.equal(readFileSync(join(root, 'VERSION'), 'utf8'), '0.2.4')
    assert.deepEqual(project, {
      ...{ name: 'site', description: 'A site\nof hers', default_branch: 'main' },
      ...{ visibility_level: 20, archived: false },
    })
  })

  test('has only attributes that GitLab reads', async () => {
    checkAllAttributes(await site())
    assert.throws(() => checkAttributes('issues', { iid: 1, id: 2 }), /issues.id/)
  })

  test('of an archive of github.com has only those, too', REAL_ARCHIVE.needed, async (t) => {
    const open = () => createReadStream(REAL_ARCHIVE.file)
    const { folder, into } = await exported(t, {}, { inputs: [{ name: 'real', open }] })
    const project = await unpack(folder, join(into, 'go-gitea/test_repo_export.tar.gz'))
    checkAllAttributes(project)
    const reviewers = project.lines('merge_requests').at(-1)!.merge_request_reviewers
    // A comment after the decision does not change its time.
    assert.deepEqual(
      reviewers.map(({ state, created_at }: Value) => [state, created_at]),
      [['requested_changes', '2020-01-04T06:07:06.000Z']],
    )
  })

  test('has issues with their numbers, states, labels, milestones and events', async () => {
    const { lines } = await site()
    const [first, second] = lines('issues')
    const author = (id: number) =>
      lines('project_members').find(({ user_id }) => user_id === id)?.user.username
    assert.deepEqual(
      [first, second].map((each) => [
        each!.iid,
        each!.state,
        each!.closed_at,
        each!.discussion_locked,
        each!.milestone.title,
      ]),
      [
        [1, 'closed', '2021-03-08T12:00:00.000Z', true, 'one'],
        [2, 'opened', null, false, 'two'],
      ],
    )
    assert.deepEqual(
      first!.label_links.map(({ label }: Value) => [label.title, label.color]),
      [
        ['bug', '#d73a4a'],
        ['gone', '#428BCA'],
      ],
    )
    assert.equal(author(first!.closed_by_id), 'anna')
    assert.deepEqual(
      first!.award_emoji.map(({ name, user_id, created_at }: Value) => [
        name,
        author(user_id),
        created_at,
      ]),
      [
        ['thumbsup', 'anna', '2021-03-02T01:00:00.000Z'],
        ['thumbsup', 'bob', '2021-03-02T01:00:00.000Z'],
        ['tada', 'bob', '2021-03-02T01:00:00.000Z'],
      ],
    )
    assert.deepEqual(
      first!.resource_state_events.map(({ state, source_commit }: Value) => [state, source_commit]),
      [['closed', commits.later]],
    )
    assert.deepEqual(
      first!.resource_label_events.map(({ action, label }: Value) => [action, label.title]),
      [['add', 'bug']],
    )
    assert.deepEqual(
      first!.resource_milestone_events.map(({ action, milestone }: Value) => [
        action,
        milestone.iid,
      ]),
      [['add', 1]],
    )
    const system = [...first!.notes, ...second!.notes].filter(({ system }: Value) => system)
    assert.deepEqual(
      system.map(({ note, system_note_metadata }: Value) => [note, system_note_metadata.action]),
      [
        ['added label deleted', 'label'],
        ['locked the discussion in this issue', 'locked'],
        ['assigned to @bob', 'assignee'],
        ['changed title from **{-a-}** to **{+b+}**', 'title'],
        ['locked the discussion in this issue', 'locked'],
        ['unlocked the discussion in this issue', 'unlocked'],
      ],
    )
    assert.deepEqual(
      second!.notes.filter(({ system }: Value) => !system).map(({ note }: Value) => note),
      ['Comment 13', 'See https://old.example.com/alice/site/pull/3.'],
    )
    const readable = HOSTILE_TEXT.toWellFormed().replace('\u0000', '\ufffd')
    assert.deepEqual([second!.title, second!.description], [readable, readable])
  })

  test('names the author of an issue without an account in its text', async () => {
    const { lines } = await site()
    assert.match(lines('issues')[0]!.description, /\n\n\*By ghost on 2021-03-02T12:00:00\*$/)
    assert.equal(lines('merge_requests')[0]!.description, 'Please.')
  })

  test('writes what deleted accounts wrote as the account that --people names for ghost', async (t) => {
    const people = new Map(PEOPLE).set('ghost', {
      ...{ login: 'former', id: undefined, email: 'former@example.com' },
    })
    const { folder, into } = await exported(t, {}, { people })
    const { lines } = await unpack(folder, join(into, 'alice/site_export.tar.gz'))
    const [issue] = lines('issues')
    assert.doesNotMatch(issue!.description, /\*By /)
    const author = lines('project_members').find(({ user_id }) => user_id === issue!.author_id)
    assert.equal(author?.user.username, 'former')
  })

  test('has events and reactions with names that objects of JavaScript have', async (t) => {
    const issue_events = records.issue_events!.map((each) => ({ ...each, event: 'constructor' }))
    const issues = records.issues!.map((each) => ({
      ...each,
      reactions: [{ author: 'bob', content: 'toString', createdAt: each.createdAt }],
    }))
    const { folder, into } = await exported(t, { issue_events, issues })
    const { lines } = await unpack(folder, join(into, 'alice/site_export.tar.gz'))
    const texts = lines('issues').flatMap(({ notes }) => notes.map(({ note }: Value) => note))
    assert.ok(texts.some((text) => /^constructor /m.test(text)))
    assert.equal(lines('issues')[0]!.award_emoji[0].name, 'toString')
  })

  test('has merge requests with branches, commits and diffs', async () => {
    const { lines } = await site()
    const requests = lines('merge_requests')
    assert.deepEqual(
      requests.map((each) => [
        each.iid,
        each.state,
        each.title,
        each.source_branch,
        each.target_branch,
        each.draft,
      ]),
      [
        [3, 'merged', 'Pull 3', 'own', 'main', false],
        [4, 'opened', 'Pull 4', 'bob/fix', 'main', false],
        [5, 'opened', 'Draft: Not yet', 'own', 'main', true],
        [6, 'closed', 'Pull 6', 'lost', 'main', false],
      ],
    )
    const [merged, , , lost] = requests
    assert.deepEqual(
      [merged!.metrics.merged_at, merged!.merge_commit_sha, merged!.merge_user_id],
      ['2021-03-07T12:00:00.000Z', commits.later, merged!.metrics.merged_by_id],
    )
    const { merge_request_diff: diff } = merged!
    assert.deepEqual(
      [
        diff.state,
        diff.base_commit_sha,
        diff.start_commit_sha,
        diff.head_commit_sha,
        diff.real_size,
      ],
      ['collected', commits.main, commits.later, commits.own, '1'],
    )
    assert.deepEqual(
      diff.merge_request_diff_commits.map(({ sha }: Value) => sha),
      [commits.own],
    )
    assert.equal(diff.merge_request_diff_files[0].utf8_diff, '@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n')
    assert.deepEqual([lost!.merge_request_diff, lost!.diff_head_sha], [undefined, null])
    assert.equal(lost!.metrics.latest_closed_at, '2021-03-09T12:00:00.000Z')
  })

  test('has reviews as approvals, reviewers and notes', async () => {
    const { lines } = await site()
    const [merged, , draft] = lines('merge_requests')
    assert.deepEqual(merged!.approvals.length, 0, 'the author of a pull request cannot approve it')
    assert.deepEqual(merged!.merge_request_reviewers.map(({ state }: Value) => state).sort(), [
      'requested_changes',
      'reviewed',
    ])
    assert.deepEqual(
      draft!.merge_request_reviewers.map(({ state }: Value) => state),
      ['unreviewed'],
    )
    const notes = merged!.notes.map(({ note, type, system }: Value) => [note, type, system])
    assert.deepEqual(notes.slice(0, 3), [
      ['approved this merge request', null, true],
      ['No.', 'DiscussionNote', false],
      ['requested changes', null, true],
    ])
  })

  test('has comments on lines with positions and line codes', async () => {
    const { lines } = await site()
    const [merged, , draft] = lines('merge_requests')
    const path = { old_path: 'a.txt', new_path: 'a.txt', position_type: 'text' }
    const refs = { base_sha: commits.main, start_sha: commits.later, head_sha: commits.own }
    const onLine = (request: Value) =>
      request.notes.filter(({ type }: Value) => type === 'DiffNote')
    const [root, reply, other] = onLine(merged!)
    assert.deepEqual(root.position, { ...refs, ...path, old_line: 2, new_line: null })
    assert.equal(root.line_code, `${hash('sha1', 'a.txt')}_2_2`)
    assert.deepEqual([reply.position, reply.discussion_id], [root.position, root.discussion_id])
    assert.notEqual(other.discussion_id, root.discussion_id)
    assert.deepEqual(other.position, { ...refs, ...path, old_line: null, new_line: 2 })
    assert.equal(other.line_code, `${hash('sha1', 'a.txt')}_3_2`)

    const [suggestion, outdated] = onLine(draft!)
    assert.equal(suggestion.note, 'Rather:\n```suggestion:-1+0\nOne\nTwo\n```')
    assert.deepEqual(suggestion.suggestions, [
      {
        ...{
          relative_order: 0,
          applied: false,
          from_content: 'one\nTWO\n',
          to_content: 'One\nTwo\n',
        },
        ...{ lines_above: 1, lines_below: 0, outdated: false },
      },
    ])
    assert.deepEqual(suggestion.position.line_range, {
      start: { line_code: `${hash('sha1', 'a.txt')}_1_1`, type: null, old_line: 1, new_line: 1 },
      end: { line_code: `${hash('sha1', 'a.txt')}_3_2`, type: 'new', old_line: null, new_line: 2 },
    })
    assert.deepEqual(
      [suggestion.resolved_at, suggestion.resolved_by_id],
      [
        '2021-03-09T12:00:00.000Z',
        lines('project_members').find(({ user }) => user.username === 'anna')?.user_id,
      ],
    )
    assert.equal(outdated.position.head_sha, commits.fork)
    assert.deepEqual(outdated.position, outdated.original_position)
    assert.equal(outdated.note_diff_file.diff_export, '@@ -1,2 +1,2 @@\n one\n-two\n+TWO')
  })

  test('finds a removed line without a thread by its number in the old file', async (t) => {
    const comments = records.pull_request_review_comments!.map((each) => ({
      ...each,
      ...(each.id === 33 && {
        ...{ diffHunk: '@@ -1,2 +2,2 @@\n one\n-two', originalCommit: commits.fork },
      }),
    }))
    const { folder, into } = await exported(
      t,
      { pull_request_review_comments: comments },
      { repositories: ['alice/site'] },
    )
    const { lines } = await unpack(folder, join(into, 'alice/site_export.tar.gz'))
    const { position } = lines('merge_requests')[0]!.notes.find(
      ({ note }: Value) => note === 'Comment 33',
    )
    assert.deepEqual(
      [position.old_line, position.new_line, position.head_sha],
      [2, null, commits.own],
    )
  })

  test('has the attachments as uploads, and texts that show them', async () => {
    const { root, lines } = await site()
    assert.equal(readFileSync(join(root, `uploads/${HEX}/shot.txt`), 'utf8'), 'a picture')
    assert.equal(
      lines('issues')[0]!.description.split('\n')[0],
      `See !3, \`#3\` and ![it](/uploads/${HEX}/shot.txt).`,
    )
  })

  test('has every attachment, even if several have the same UUID', async (t) => {
    const [shot] = records.attachments!
    const { folder, into } = await exported(
      t,
      { attachments: [shot!, { ...shot!, name: 'b.txt', file: `attachments/${UUID}/b.txt` }] },
      { repositories: ['alice/site'] },
    )
    const { root } = await unpack(folder, join(into, 'alice/site_export.tar.gz'))
    const uploads = readdirSync(join(root, 'uploads'), { recursive: true, encoding: 'utf8' })
    const names = uploads.map((path) => path.split('/')[1]).filter(Boolean)
    assert.deepEqual(names.sort(), ['b.txt', 'shot.txt'])
  })

  test('has bundles with all branches, tags and heads of pull requests', async () => {
    const { root } = await site()
    const bundle = join(root, 'project.bundle')
    assert.equal(readFileSync(bundle, 'latin1').split('\n')[0], '# v2 git bundle')
    const refs = await host.git(['bundle', 'list-heads', bundle], { dir: host.path('alice/site') })
    assert.deepEqual(
      refs
        .split('\n')
        .map((line) => line.split(' ')[1])
        .sort(),
      [
        ...['HEAD', 'refs/heads/bob/fix', 'refs/heads/main', 'refs/heads/own'],
        ...[
          'refs/merge-requests/3/head',
          'refs/merge-requests/4/head',
          'refs/merge-requests/5/head',
          'refs/tags/v1',
        ],
      ],
    )
    const clone = join(root, 'clone')
    await host.git(['clone', '--quiet', '--mirror', bundle, clone], { dir: root })
    assert.equal(
      await host.git(['rev-parse', 'refs/merge-requests/4/head'], { dir: clone }),
      commits.fork,
    )
    assert.equal(await host.git(['symbolic-ref', 'HEAD'], { dir: clone }), 'refs/heads/main')
    const wiki = join(root, 'wiki')
    await host.git(['clone', '--quiet', join(root, 'project.wiki.bundle'), wiki], { dir: root })
    assert.equal(readFileSync(join(wiki, 'Home.md'), 'utf8'), '# Home\n')
  })

  test('has LFS objects with a list, and no bundle of an empty repository', async () => {
    const { folder, into } = await exportOfAll()
    const { root } = await unpack(folder, join(into, 'corp/quiet_export.tar.gz'))
    assert.deepEqual(JSON.parse(readFileSync(join(root, 'lfs-objects.json'), 'utf8')), {
      [OID]: [0],
    })
    assert.equal(readFileSync(join(root, 'lfs-objects', OID), 'utf8'), LFS)
    const empty = await unpack(folder, join(into, 'corp/empty_export.tar.gz'))
    assert.deepEqual(readdirSync(empty.root).sort(), ['VERSION', 'tree'])
  })

  test('makes only people with an email address members, with the lowest access unless told otherwise', async () => {
    const { lines } = await site()
    assert.deepEqual(
      lines('project_members')
        .map(({ access_level, user }) => [user.username, user.public_email, access_level])
        .sort(),
      [
        ['anna', 'anna@example.com', 40],
        ['bob', 'bob@example.com', 10],
      ],
    )
    const ids = lines('project_members').map(({ user_id, user }) => [user_id, user.id])
    for (const [one, other] of ids) assert.equal(one, other)
  })

  test('has releases, with links to assets if their address is known', async (t) => {
    const { lines } = await site()
    assert.deepEqual(
      lines('releases').map(({ tag, name, released_at, links }) => [tag, name, released_at, links]),
      [
        ['v1', 'One', '2021-03-09T12:00:00.000Z', []],
        ['v9', 'v9', '2021-03-09T12:00:00.000Z', []],
      ],
    )
    const [first, ...others] = records.releases!
    const twice = { ...first!, assets: [first!.assets[0]!, first!.assets[0]!] }
    const { folder, into, report } = await exported(
      t,
      { releases: [twice, ...others] },
      { repositories: ['alice/site'], assetBaseUrl: 'https://files.example.com/' },
    )
    const withLinks = await unpack(folder, join(into, 'alice/site_export.tar.gz'))
    const { links } = withLinks.lines('releases')[0]!
    const base = 'https://files.example.com/alice/site_assets'
    assert.deepEqual(
      links.map(({ url, name }: Value) => [url, name]),
      [
        [`${base}/1/1/a_b.txt`, 'a b.txt'],
        [`${base}/1/2/a_b.txt`, 'a b.txt (2)'],
      ],
    )
    const [{ url }] = links
    assert.equal(readFileSync(join(into, new URL(url).pathname), 'utf8'), 'an asset')
    assert.match(report.notes.join('\n'), /site_assets/)
  })

  test('has comments on commits and protected branches', async () => {
    const { lines } = await site()
    assert.deepEqual(
      lines('commit_notes').map(({ note, commit_id, noteable_type }) => [
        note,
        commit_id,
        noteable_type,
      ]),
      [['`a.txt`, line 1 of its diff:\n\nNice', commits.main, 'Commit']],
    )
    assert.deepEqual(lines('protected_branches'), [
      {
        ...{ name: 'main', allow_force_push: false, code_owner_approval_required: false },
        ...{
          push_access_levels: [{ access_level: 40 }],
          merge_access_levels: [{ access_level: 30 }],
        },
      },
    ])
  })

  test('lets nobody push to a branch that is limited to nobody', async (t) => {
    const [rule] = records.protected_branches!
    const limited = { ...rule!, authorizedActorsOnly: true }
    const free = { ...limited, reviews: { ...rule!.reviews, required: false } }
    const { folder, into } = await exported(t, {
      protected_branches: [
        { ...free, name: 'nobody' },
        { ...limited, name: 'by-merge-request' },
        { ...free, name: 'named', authorizedUsers: ['bob'] },
      ],
    })
    const { lines } = await unpack(folder, join(into, 'alice/site_export.tar.gz'))
    assert.deepEqual(
      lines('protected_branches').map(({ name, push_access_levels, merge_access_levels }) => [
        name,
        ...[...push_access_levels, ...merge_access_levels].map((each) => each.access_level),
      ]),
      [
        ['nobody', 0, 40],
        ['by-merge-request', 0, 40],
        ['named', 40, 40],
      ],
    )
  })

  test('reports what it cannot contain, by kind', async () => {
    const { losses } = await exportOfAll()
    assert.deepEqual(
      losses.map(({ kind, count }) => [kind, count]),
      [
        ['attachments', 1],
        ['branch_protection_rules', 1],
        ['commit_comment_positions', 1],
        ['commit_comment_reactions', 1],
        ['diffs', 1],
        ['dismissals', 1],
        ['issue_comments', 1],
        ['pending_review_comments', 1],
        ['pending_reviews', 1],
        ['release_assets', 1],
        ['releases', 1],
        ['subscribed_events', 1],
        ['topics', 1],
      ],
    )
  })

  test('reports a symbolic ref, which becomes a branch', async (t) => {
    const dir = host.path('corp/quiet')
    await host.git(['symbolic-ref', 'refs/heads/latest', 'refs/heads/main'], { dir })
    t.after(() => host.git(['symbolic-ref', '--delete', 'refs/heads/latest'], { dir }))
    const { losses } = await exported(t, {}, { repositories: ['corp/quiet'] })
    assert.deepEqual(losses.find(({ kind }) => kind === 'symbolic_refs')?.examples, [
      'corp/quiet: refs/heads/latest → refs/heads/main',
    ])
  })

  test('reports a detached HEAD only if no ref reaches it', async (t) => {
    const dir = host.path('corp/quiet')
    const head = join(dir, 'HEAD')
    const symbolic = await readFile(head, 'utf8')
    t.after(() => writeFile(head, symbolic))
    const lostHeads = async () => {
      const { losses } = await exported(t, {}, { repositories: ['corp/quiet'] })
      return losses.find(({ kind }) => kind === 'detached_heads')?.examples
    }
    const main = await host.git(['rev-parse', 'main'], { dir })
    await writeFile(head, `${main}\n`)
    assert.equal(await lostHeads(), undefined)
    const alone = await host.git(['commit-tree', '-m', 'alone', '-p', main, `${main}^{tree}`], {
      dir,
    })
    await writeFile(head, `${alone}\n`)
    assert.deepEqual(await lostHeads(), [`corp/quiet: ${alone}`])
  })

  test('reports what it changes, and a failure of git for one repository', async (t) => {
    const [fork, own] = [4, 5].map(
      (n) => records.pull_requests!.find(({ number }) => number === n)!,
    )
    const [site, ...others] = records.repositories!
    const { text, run, start } = host.godwitGit
    const git: Git = {
      ...{ text, run },
      start: (args, call) => start(args[0] === 'diff-tree' ? ['diff-tree', '--no'] : args, call),
    }
    const change = {
      pull_requests: [{ ...fork!, head: { ...fork!.head, sha: own!.head.sha } }],
      repositories: [{ ...site!, labels: [{ ...site!.labels[0]!, name: 'a,b' }] }, ...others],
      issues: [
        {
          ...{ ...records.issues![0]!, title: '😝'.repeat(256), milestone: 9, labels: [] },
          body: 'é'.repeat(2 ** 19),
          ...{ dueOn: '2021-04-01T00:00:00Z', pinOrder: 1 },
          dependsOn: [{ repository: 'alice/site', kind: 'issue' as const, number: 2 }],
        },
      ],
      milestones: [1, 8, 8].map((number) => ({ ...records.milestones![0]!, number })),
    }
    const { warnings, losses, into } = await exported(t, change)
    assert.deepEqual(
      losses.map(({ kind }) => kind).filter((kind) => /^(?:dead|depend|pins)/.test(kind)),
      ['deadlines', 'dependencies', 'pins'],
    )
    assert.deepEqual(
      warnings.filter((line) => !/skipped|LFS/.test(line)),
      [
        'alice/site: the label a,b becomes a b',
        'alice/site: a second milestone “one” is renamed to “one (2)”',
        'alice/site: the title of #1 is cut to 255 characters',
        'alice/site: GitLab cuts or refuses the text of #1: it has more than 1 MiB',
        'alice/site: #4: its ref and its record name different commits; the ref is used',
        'alice/site: the tag v9 is not in the input',
      ],
    )
    assert.ok(warnings.some((line) => /milestone 9 of #1 is not in the input/.test(line)))
    assert.ok(warnings.some((line) => /milestone 8 occurs twice; the record/.test(line)))
    assert.ok(existsSync(join(into, 'alice/site_export.tar.gz')))
    const failed = await exported(t, change, { git })
    assert.deepEqual(
      failed.written.map(({ fullName, errors }) => [fullName, errors.length]),
      [
        ['alice/site', 1],
        ['corp/empty', 0],
        ['corp/quiet', 0],
      ],
    )
    assert.deepEqual(readdirSync(failed.into), ['corp'])
  })

  test('has unique titles of labels and milestones, and events keep their milestone', async (t) => {
    const [site, ...others] = records.repositories!
    const [milestone] = records.milestones!
    const [bug] = site!.labels
    const milestoned = records.issue_events!.find(({ event }) => event === 'milestoned')!
    const { folder, into, warnings } = await exported(t, {
      repositories: [
        { ...site!, labels: ['a,b', 'a b', 'bug'].map((name) => ({ ...bug!, name })) },
        ...others,
      ],
      issues: records.issues!.map((issue) => ({ ...issue, labels: ['a,b', 'a b'] })),
      milestones: ['one', 'one', 'one (2)'].map((title, index) => {
        return { ...milestone!, number: index + 1, title }
      }),
      issue_events: [{ ...milestoned, milestoneTitle: 'one (2)' }],
    })
    const { lines } = await unpack(folder, join(into, 'alice/site_export.tar.gz'))
    const titles = (relation: string) => lines(relation).map(({ title }) => title)
    assert.deepEqual(titles('milestones'), ['one', 'one (3)', 'one (2)'])
    assert.deepEqual(titles('labels').slice(0, 3), ['a b', 'bug', 'a b (2)'])
    const [issue] = lines('issues')
    assert.deepEqual(
      issue!.label_links.map(({ label }: Value) => label.title),
      ['a b (2)', 'a b'],
    )
    assert.equal(issue!.resource_milestone_events[0].milestone.iid, 3)
    const renamed = warnings.filter((line) => /becomes|renamed/.test(line))
    assert.deepEqual(renamed, [
      'alice/site: the label a,b becomes a b (2)',
      'alice/site: a second milestone “one” is renamed to “one (3)”',
    ])
  })

  test('is absent if the conversion is stopped', async (t) => {
    const into = join(await temporaryFolder(t), 'exports')
    const stop = new AbortController()
    const git: Git = {
      ...host.godwitGit,
      run(args, call) {
        if (args[0] === 'bundle') stop.abort()
        return host.godwitGit.run(args, call)
      },
    }
    const createWriter = (workDirectory: string) =>
      gitlabExportWriter({ git, into, workDirectory, people: PEOPLE, assetBaseUrl: '' })
    const wishes = { git, into, createWriter, signal: stop.signal }
    await assert.rejects(exported(t, {}, wishes), { name: 'AbortError' })
    assert.equal(existsSync(into), false)
  })

  test('is not written over an existing file', async (t) => {
    const folder = await temporaryFolder(t)
    const into = join(folder, 'exports')
    await mkdir(join(into, 'alice'), { recursive: true })
    await writeFile(join(into, 'alice/site_export.tar.gz'), 'mine')
    const people = PEOPLE
    const createWriter = (workDirectory: string) =>
      gitlabExportWriter({
        git: host.godwitGit,
        into,
        workDirectory,
        people,
        assetBaseUrl: '',
      })
    await assert.rejects(
      exported(t, {}, { into, createWriter }),
      /site_export.tar.gz already exists/,
    )
    assert.equal(readFileSync(join(into, 'alice/site_export.tar.gz'), 'utf8'), 'mine')
    assert.deepEqual(readdirSync(into), ['alice'])
  })

  test('names the line of a comment in its text if the commits are missing', async (t) => {
    const gone = '1'.repeat(40)
    const { folder, into, losses } = await exported(
      t,
      {
        pull_requests: records.pull_requests!.map((pull) =>
          pull.number === 3 ? { ...pull, head: { ...pull.head, sha: gone } } : pull,
        ),
      },
      { repositories: ['alice/site'] },
    )
    const { lines } = await unpack(folder, join(into, 'alice/site_export.tar.gz'))
    const notes = lines('merge_requests')[0]!.notes.filter(
      ({ type }: Value) => type === 'DiscussionNote',
    )
    assert.deepEqual(
      notes.map(({ note }: Value) => note),
      ['No.', '`a.txt`, line 2:\n\nComment 31', 'Comment 32', '`a.txt`:\n\nComment 33'],
    )
    assert.equal(losses.find(({ kind }) => kind === 'review_comment_positions')?.count, 2)
    assert.equal(existsSync(join(into, 'alice/site_assets')), false)
  })
})

const ms = (time: string | null | undefined) => (time ? Date.parse(time) : null)
const sorted = <T>(values: T[]): T[] =>
  values.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

/** Returns the records of alice/site that survive a round trip, in a form for comparison. */
function comparable(all: RecordLists, numberOf: (number: number) => number) {
  const of = <K extends RecordKind>(kind: K): Value[] =>
    (all[kind] ?? []).filter((record: Value) => record.repository === 'alice/site')
  const titles = new Map(of('milestones').map(({ number, title }) => [number, title]))
  const reactions = (record: Value) =>
    sorted(record.reactions.map((each: Value) => [each.author, each.content, ms(each.createdAt)]))
  const common = (record: Value) => ({
    ...{
      number: numberOf(record.number),
      title: record.title.toWellFormed().replace('\0', '\ufffd'),
    },
    ...{
      labels: record.labels,
      milestone: titles.get(record.milestone),
      assignees: record.assignees,
    },
    ...{
      reactions: reactions(record),
      createdAt: ms(record.createdAt),
      closedAt: ms(record.closedAt),
    },
  })
  const numbers = new Set([...of('issues'), ...of('pull_requests')].map(({ number }) => number))
  const bodies = of('pull_request_reviews').filter(({ body }) => body)
  const threads = new Map(of('pull_request_review_threads').map((each) => [each.id, each]))
  return {
    milestones: of('milestones').map(({ number, title, state, dueOn, createdAt }) => ({
      ...{ number, title, state, dueOn: dueOn?.slice(0, 10), createdAt: ms(createdAt) },
    })),
    issues: of('issues').map((each) => ({ ...common(each), updatedAt: ms(each.updatedAt) })),
    pulls: of('pull_requests').map((each) => ({
      ...{ ...common(each), author: each.author, base: each.base.ref, draft: each.draft },
      ...{ mergedAt: ms(each.mergedAt), head: each.head.sha.replace(/^c+$/, '0'.repeat(40)) },
      requested: each.reviewRequests
        .filter(({ dismissedAt }: Value) => dismissedAt === null)
        .map(({ reviewer }: Value) => reviewer.login),
    })),
    comments: sorted([
      ...of('issue_comments')
        .filter(({ on }) => numbers.has(on.number))
        .map((each) => [
          numberOf(each.on.number),
          each.author,
          ms(each.createdAt),
          reactions(each),
        ]),
      ...bodies.map((each) => [
        numberOf(each.pull),
        each.author,
        ms(each.submittedAt),
        reactions(each),
      ]),
    ]),
    decisions: sorted(
      of('pull_request_reviews')
        .filter(({ state }) => /^(?:approved|changes_requested)$/.test(state))
        .map(({ pull, author, state }) => [numberOf(pull), author, state]),
    ),
    reviewComments: sorted(
      of('pull_request_review_comments')
        .filter(({ state }) => state === 'submitted')
        .map(({ pull, author, body, path, createdAt, thread, diffHunk }) => {
          const { side, line, startLine, originalLine, resolvedAt, resolver } = threads.get(
            thread,
          ) ?? {
            ...{ side: 'right', line: 2, startLine: null, originalLine: 2 },
            ...{ resolvedAt: null, resolver: null },
          }
          return {
            ...{ pull: numberOf(pull), author, body, path, createdAt: ms(createdAt), side, line },
            ...{ startLine, originalLine, resolvedAt: ms(resolvedAt), resolver, diffHunk },
          }
        }),
    ),
    commitComments: of('commit_comments').map(({ commit, author }) => [commit, author]),
    releases: of('releases')
      .filter(({ draft }) => !draft)
      .map(({ tag, name, body, author, publishedAt }) => [
        tag,
        name ?? tag,
        body,
        author,
        ms(publishedAt),
      ]),
    labels: all
      .repositories!.find(({ name }) => name === 'site')!
      .labels.map(({ name, color }) => [name, color]),
  }
}

const EVENTS = /^(?:closed|reopened|merged|labeled|milestoned|assigned|renamed|locked|unlocked)$/
const comparableEvents = (events: readonly Value[], numberOf: (number: number) => number) =>
  events
    .filter(({ event, label }) => EVENTS.test(event) && label?.name !== 'deleted')
    .map(({ on, event, actor, createdAt, label, milestoneTitle, renamed, subject }) =>
      JSON.stringify([
        ...[numberOf(on.number), event, actor, ms(createdAt), label?.name, milestoneTitle],
        ...[renamed, subject],
      ]),
    )

test('an archive is the same after a round trip, except for what is reported', async (t) => {
  const logins = ['alice', 'bob', 'carol', 'dora', 'erin']
  const people: PeopleMap = new Map(
    logins.map((login) => [login, { login, id: undefined, email: `${login}@example.com` }]),
  )
  const { into } = await exported(t, {}, { people, repositories: ['alice/site'] })
  const input = createReadStream(join(into, 'alice/site_export.tar.gz'))
  const { records: readRecords, content } = await readContent(t, input, { git: host.godwitGit })
  const after: RecordLists = {}
  for (const kind of Object.keys(records) as RecordKind[])
    after[kind] = (await readRecords(kind)) as never
  const before = comparable(records, (number) => number)
  const read = comparable(after, (number) => number)
  // These labels were only used, and the issue with them names them.
  before.labels.push(['gone', '428bca'])
  assert.deepEqual(read, before)
  assert.deepEqual([...content.renumbered!()], [])
  const events = new Set(comparableEvents(after.issue_events!, (number) => number))
  for (const event of comparableEvents(records.issue_events!, (number) => number))
    assert.ok(events.has(event), `${event} is not in\n${[...events].join('\n')}`)
  assert.match(after.issues![0]!.body!, /^See #3, `#3` and !\[it\]\(.+\)\.\n\n\*By ghost on /)
  for await (const repository of content.repositories()) {
    assert.ok('snapshot' in repository)
    const refs = await host.git(['for-each-ref', '--format=%(refname) %(objectname)'], {
      dir: repository.snapshot.repository.dir,
    })
    assert.deepEqual(
      refs.split('\n').filter((line) => !line.startsWith('refs/heads/bob/')),
      [
        `refs/heads/main ${commits.later}`,
        `refs/heads/own ${commits.own}`,
        ...[
          `refs/pull/3/head ${commits.own}`,
          `refs/pull/4/head ${commits.fork}`,
          `refs/pull/5/head ${commits.own}`,
        ],
        `refs/tags/v1 ${commits.main}`,
      ],
    )
    const wiki = await host.git(['show', 'HEAD:Home.md'], { dir: repository.snapshot.wiki!.dir })
    assert.equal(wiki.trim(), '# Home')
  }
})

function checkAllAttributes({ project, relations, lines }: Awaited<ReturnType<typeof unpack>>) {
  checkAttributes('project', project)
  for (const name of relations.map((file) => file.replace('.ndjson', '')))
    for (const record of lines(name)) checkAttributes(name, record)
}

/** Throws if a record or one of its relations has an attribute that GitLab does not read. */
function checkAttributes(relation: string, record: Value): void {
  const { attributes, relations } = GITLAB_ATTRIBUTES[relation] ?? { attributes: [], relations: [] }
  for (const [key, value] of Object.entries(record)) {
    assert.ok(attributes.includes(key) || relations.includes(key), `${relation}.${key}`)
    if (!relations.includes(key) || value === null) continue
    for (const child of Array.isArray(value) ? value : [value]) checkAttributes(key, child)
  }
}
