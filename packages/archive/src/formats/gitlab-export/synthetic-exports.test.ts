import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../../../test/support/archive-samples.ts'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import {
  type Relations,
  readContent,
  writeExport,
} from '../../../../../test/support/gitlab-exports.ts'

let host: GitHost
let repository: string
let head: string
before(async () => {
  host = await gitHost()
  repository = await host.repository('source/tool', { files: { 'a.txt': 'one\ntwo\nthree\n' } })
  head = await host.git(['rev-parse', 'HEAD'], { dir: repository })
})
after(() => host.remove())

const AT = '2024-05-01T12:00:00.000Z'
const LATER = '2024-05-02T12:00:00.000Z'
const times = { created_at: AT, updated_at: LATER }
const note = (text: string, more: object = {}) => ({
  ...{ note: text, author_id: 2, author: { name: 'Bob' }, system: false, ...times, ...more },
})
const system = (text: string, action: string, more: object = {}) =>
  note(text, { system: true, system_note_metadata: { action }, ...more })
const issue = (iid: number, more: object = {}) => ({
  ...{ iid, title: `Issue ${iid}`, author_id: 1, state: 'opened', ...times, ...more },
})
const mergeRequest = (iid: number, more: object = {}) => ({
  ...{ iid, title: `Change ${iid}`, author_id: 1, state: 'opened', ...times },
  ...{ source_branch: 'topic', target_branch: 'main', source_project_id: 7, target_project_id: 7 },
  ...{ diff_head_sha: head, ...more },
})
const members = [
  { access_level: 30, user_id: 1, user: { id: 1, username: 'ann', public_email: 'ann@x.org' } },
]

async function bundle(...refs: [name: string, oid: string][]): Promise<Buffer> {
  for (const [name, oid] of refs) await host.git(['update-ref', name, oid], { dir: repository })
  const file = join(host.root, 'project.bundle')
  await host.git(['bundle', 'create', '--quiet', file, '--all'], { dir: repository })
  return readFile(file)
}

async function read(
  t: TestContext,
  relations: Relations,
  files: Record<string, string | Buffer> = {},
) {
  const folder = await writeExport(join(await temporaryFolder(t), 'export'), relations, files)
  return readContent(t, { folder }, { git: host.godwitGit })
}

test('members with an impossible username are lost, and impossible addresses are left out', async (t) => {
  const member = (id: number, username: string, public_email: string) => ({
    ...{ access_level: 40, user_id: id, user: { id, username, public_email } },
  })
  const { records, warnings } = await read(t, {
    project_members: [member(1, 'eve\nbob,mallory', ''), member(2, 'bob', 'b@x\ny@z')],
    issues: [issue(1, { author_id: 1 }), issue(2, { author_id: 2 })],
  })
  assert.deepEqual((await records('repositories'))[0]?.collaborators, [
    { login: 'bob', permission: 'admin' },
  ])
  const users = await records('users')
  assert.deepEqual(
    users.map(({ login, emails }) => [login, emails]),
    [
      ['bob', []],
      ['gitlab-user-1', []],
      ['alice', []],
    ],
  )
  assert.match(warnings.join(), /user\.username is not a login: "eve\\nbob,mallory"/)
})

describe('a merge request', () => {
  const DIFF = '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n'
  const position = (more: object) => ({
    ...{ base_sha: 'b'.repeat(40), start_sha: 'c'.repeat(40), head_sha: head },
    ...{
      old_path: 'a.txt',
      new_path: 'a.txt',
      position_type: 'text',
      old_line: null,
      new_line: null,
    },
    ...more,
  })

  test('has comments on whole files', async (t) => {
    const at = position({ position_type: 'file' })
    const { records } = await read(t, {
      merge_requests: [
        mergeRequest(1, { notes: [note('Rename it', { type: 'DiffNote', position: at })] }),
      ],
    })
    const [comment] = await records('pull_request_review_comments')
    assert.deepEqual([comment?.path, comment?.subjectType], ['a.txt', 'file'])
  })

  test('has threads at their lines with hunks, replies, suggestions and who resolved them', async (t) => {
    const diffNote = (text: string, at: object | string, more: object = {}) =>
      note(text, { type: 'DiffNote', position: at, original_position: at, ...more })
    const added = { discussion_id: 'd1', resolved_at: LATER, resolved_by_id: 1 }
    const { records } = await read(t, {
      project_members: members,
      issues: [issue(2), issue(4)],
      merge_requests: [
        mergeRequest(2, {
          merge_request_diff: {
            ...{ head_commit_sha: head, start_commit_sha: 'c'.repeat(40) },
            merge_request_diff_files: [{ new_path: 'a.txt', old_path: 'a.txt', utf8_diff: DIFF }],
          },
          notes: [
            diffNote('Why?\n```suggestion:-0+0\n2\n```', position({ new_line: 2 }), added),
            note('Because.', { type: 'DiffNote', discussion_id: 'd1', author_id: 1 }),
            system('changed this line in version 2', 'outdated', { discussion_id: 'd1' }),
            diffNote('Gone', JSON.stringify(position({ old_line: 2, head_sha: 'e'.repeat(40) }))),
            note('Fine', { type: 'DiscussionNote', discussion_id: 'd3' }),
          ],
        }),
      ],
    })
    const threads = await records('pull_request_review_threads')
    assert.deepEqual(
      threads.map(({ pull, line, originalLine, side, diffHunk, outdated, resolver }) => [
        ...[pull, line, originalLine, side, diffHunk, outdated, resolver],
      ]),
      [
        [6, 2, 2, 'right', '@@ -1,3 +1,3 @@\n one\n-two\n+TWO', false, 'ann'],
        [6, null, 2, 'left', '@@ -1,3 +1,3 @@\n one\n-two', true, null],
      ],
    )
    const comments = await records('pull_request_review_comments')
    assert.deepEqual(
      comments.map(({ author, body, position }) => [author, body, position]),
      [
        ['gitlab-user-2', 'Why?\n```suggestion\n2\n```', 3],
        ['ann', 'Because.', 3],
        ['gitlab-user-2', 'Gone', null],
      ],
    )
    assert.equal(comments[1]?.inReplyTo, comments[0]?.id)
    const reviews = await records('pull_request_reviews')
    assert.deepEqual(
      reviews.map(({ author, state }) => [author, state]),
      [
        ['gitlab-user-2', 'commented'],
        ['ann', 'commented'],
        ['gitlab-user-2', 'commented'],
      ],
    )
    assert.deepEqual(
      (await records('issue_comments')).map(({ body }) => body),
      ['Fine'],
    )
  })

  test('has threads at the top of a file, whose hunks GitLab copies without a header', async (t) => {
    const comment = (diff: string, more: object) =>
      note('Why?', {
        ...{ type: 'DiffNote', position: position(more), note_diff_file: { diff_export: diff } },
      })
    const { records } = await read(t, {
      merge_requests: [
        mergeRequest(1, {
          notes: [
            comment('+one\n+two\n+three', { new_line: 2 }),
            comment(' one\n-two\n+TWO\n three', { new_line: 2 }),
            comment('-one\n@@ -9,1 +8,2 @@\n nine\n+ten', { new_line: 9 }),
          ],
        }),
      ],
    })
    assert.deepEqual(
      (await records('pull_request_review_comments')).map((each) => [each.diffHunk, each.position]),
      [
        ['@@ -0,0 +1,3 @@\n+one\n+two', 2],
        ['@@ -1,3 +1,3 @@\n one\n-two\n+TWO', 3],
        ['@@ -9,1 +8,2 @@\n nine\n+ten', 4],
      ],
    )
  })

  test('has threads from a removed line to the added one with the same number', async (t) => {
    const range = (start: object) => ({ new_line: 2, line_range: { start } })
    const { records } = await read(t, {
      merge_requests: [
        mergeRequest(1, {
          notes: [
            range({ type: 'old', old_line: 2, new_line: null }),
            range({ type: 'new', old_line: null, new_line: 2 }),
          ].map((at) => note('Why?', { type: 'DiffNote', position: position(at) })),
        }),
      ],
    })
    assert.deepEqual(
      (await records('pull_request_review_threads')).map(({ side, line, startSide, startLine }) => [
        ...[startSide, startLine, side, line],
      ]),
      [
        ['left', 2, 'right', 2],
        [null, null, 'right', 2],
      ],
    )
  })

  test('has suggestions only for the lines that a comment is on; others stay code and are reported', async (t) => {
    const fence = (lines: string) => `\`\`\`suggestion:${lines}\nnew\n\`\`\``
    const start = { type: null, old_line: 1, new_line: 1 }
    const { records, losses } = await read(t, {
      merge_requests: [
        mergeRequest(1, {
          notes: [
            note(fence('-0+0'), { type: 'DiffNote', position: position({ new_line: 2 }) }),
            note(fence('-1+0'), {
              ...{ type: 'DiffNote', position: position({ new_line: 2, line_range: { start } }) },
            }),
            note(fence('-1+1'), { type: 'DiffNote', position: position({ new_line: 2 }) }),
          ],
        }),
      ],
    })
    assert.deepEqual(
      (await records('pull_request_review_comments')).map(({ body }) => body!.split('\n')[0]),
      ['```suggestion', '```suggestion', '```suggestion:-1+1'],
    )
    assert.deepEqual(losses(), { suggestion_ranges: 1 })
  })

  test('has threads and approvals in the order of time, if the export has them in another one', async (t) => {
    const at = { type: 'DiffNote', position: position({ new_line: 2 }), discussion_id: 'd1' }
    const { records } = await read(t, {
      merge_requests: [
        mergeRequest(1, {
          notes: [
            note('Because.', { ...at, author_id: 3, created_at: LATER }),
            system('unapproved this', 'unapproved', { created_at: LATER }),
            note('Why?', at),
            system('approved this', 'approved'),
          ],
        }),
      ],
    })
    const comments = await records('pull_request_review_comments')
    assert.deepEqual(
      comments.map(({ body, inReplyTo }) => [body, inReplyTo]),
      [
        ['Why?', null],
        ['Because.', comments[0]?.id],
      ],
    )
    assert.deepEqual(
      (await records('pull_request_reviews')).map(({ author, state }) => [author, state]),
      [
        ['gitlab-user-2', 'commented'],
        ['gitlab-user-2', 'dismissed'],
        ['gitlab-user-3', 'commented'],
      ],
    )
  })

  test('has comments without a position as plain ones, which are reported', async (t) => {
    const { records, losses } = await read(t, {
      merge_requests: [
        mergeRequest(1, {
          notes: [
            note('Old', { type: 'LegacyDiffNote', line_code: 'a_1_1' }),
            note('Broken', { type: 'DiffNote', position: '{' }),
          ],
        }),
      ],
    })
    assert.deepEqual(
      (await records('issue_comments')).map(({ body }) => body),
      ['Old', 'Broken'],
    )
    assert.deepEqual(losses(), { review_comment_positions: 2 })
  })

  test('has approvals that a push has reset as dismissed', async (t) => {
    const { records } = await read(t, {
      merge_requests: [
        mergeRequest(1, {
          approvals: [{ user_id: 3, ...times }],
          merge_request_reviewers: [{ user_id: 4, state: 'requested_changes', created_at: LATER }],
          notes: [
            ...[2, 3, 4].map((id) => system('approved this', 'approved', { author_id: id })),
            ...[3, 4].map((id) =>
              system('requested changes', '', { author_id: id, created_at: LATER }),
            ),
          ],
        }),
      ],
    })
    // An approval that was followed by a request for changes is none that a push has reset.
    assert.deepEqual(
      (await records('pull_request_reviews')).map(({ author, state }) => [author, state]).sort(),
      [
        ['gitlab-user-2', 'dismissed'],
        ['gitlab-user-3', 'approved'],
        ['gitlab-user-3', 'changes_requested'],
        ['gitlab-user-4', 'approved'],
        ['gitlab-user-4', 'changes_requested'],
      ],
    )
  })

  test('has approvals, reviewers, and how it ended', async (t) => {
    const { records } = await read(t, {
      project_members: members,
      merge_requests: [
        mergeRequest(1, {
          ...{ state: 'merged', title: 'Draft: Done', merge_commit_sha: head },
          metrics: { merged_at: LATER, merged_by_id: 1 },
          approvals: [{ user_id: 1, ...times }],
          merge_request_reviewers: [
            { user_id: 1, state: 'approved' },
            { user_id: 3, state: 'requested_changes', created_at: AT },
            { user_id: 4, state: 'unreviewed', created_at: AT },
          ],
        }),
        mergeRequest(2, {
          ...{ state: 'closed', source_project_id: 8 },
          notes: [
            system('approved this', 'approved'),
            system('closed', 'closed', { created_at: LATER }),
            ...['approved', 'unapproved', 'approved'].map((action) =>
              system(`${action} this`, action, { author_id: 3 }),
            ),
          ],
        }),
      ],
    })
    const [merged, closed] = await records('pull_requests')
    assert.deepEqual(
      [merged?.title, merged?.draft, merged?.mergedAt, merged?.closedAt, merged?.mergeCommit],
      ['Done', true, LATER, LATER, head],
    )
    assert.deepEqual(
      merged?.reviewRequests.map(({ reviewer }) => reviewer),
      [{ kind: 'user', login: 'gitlab-user-4' }],
    )
    assert.deepEqual(
      [closed?.closedAt, closed?.mergedAt, closed?.head.repository],
      [LATER, null, null],
    )
    assert.deepEqual(
      (await records('pull_request_reviews')).map(({ pull, author, state }) => [
        pull,
        author,
        state,
      ]),
      [
        [1, 'ann', 'approved'],
        [1, 'gitlab-user-3', 'changes_requested'],
        [2, 'gitlab-user-2', 'approved'],
        [2, 'gitlab-user-3', 'dismissed'],
        [2, 'gitlab-user-3', 'approved'],
      ],
    )
    assert.deepEqual(
      (await records('issue_events')).map(({ on, event, actor }) => [on.number, event, actor]),
      [
        [1, 'merged', 'ann'],
        [1, 'closed', 'ann'],
        [2, 'closed', 'gitlab-user-2'],
      ],
    )
  })
})

test('the commit of a squash is the commit of a merge without one', async (t) => {
  const squashed = mergeRequest(1, { state: 'merged', squash_commit_sha: head })
  const { records } = await read(t, { merge_requests: [squashed] })
  assert.equal((await records('pull_requests'))[0]?.mergeCommit, head)
  const [merged] = await records('issue_events')
  assert.deepEqual([merged?.event, merged?.commit], ['merged', head])
})

test('events, labels and milestones of groups, and the lock of an issue are kept', async (t) => {
  const label = { title: 'bug', color: '#F00', type: 'GroupLabel', priorities: [{ priority: 1 }] }
  const milestone = { iid: 1, title: 'Of the group', group_id: 3, state: 'active', ...times }
  const { records, losses } = await read(t, {
    milestones: [{ iid: 1, title: 'Own', state: 'closed', due_date: '2024-06-01', ...times }],
    issues: [
      issue(1, {
        ...{
          milestone,
          discussion_locked: true,
          confidential: true,
          weight: 3,
          health_status: 'at_risk',
        },
        label_links: [{ label }],
        resource_label_events: [{ action: 'add', user_id: 1, created_at: AT, label }],
        resource_milestone_events: [{ action: 'add', user_id: 1, created_at: AT, milestone }],
        resource_state_events: [{ state: 'closed', user_id: 2, created_at: LATER }],
        notes: [
          system('changed title from **{-Old-}** to **{+New+}**', 'title'),
          system('assigned to @ann and unassigned @bob', 'assignee'),
          system('mentioned in !3', 'cross_reference'),
          system(`mentioned in commit ${head}`, 'cross_reference'),
          system('changed target branch from `main` to `next`', 'branch'),
          system('marked this merge request as **draft**', 'title'),
          system('marked this merge request as **ready**', 'title'),
        ],
        designs: [{ filename: 'a.png' }],
      }),
    ],
  })
  assert.deepEqual((await records('issue_events')).map(({ event }) => event).sort(), [
    'assigned',
    'base_ref_changed',
    'closed',
    'convert_to_draft',
    'labeled',
    'locked',
    'milestoned',
    'ready_for_review',
    'referenced',
    'renamed',
    'unassigned',
  ])
  assert.deepEqual(
    (await records('milestones')).map(({ number, title, dueOn }) => [number, title, dueOn]),
    [
      [1, 'Own', '2024-06-01T00:00:00Z'],
      [2, 'Of the group', null],
    ],
  )
  const [first] = await records('issues')
  assert.deepEqual(
    [first?.milestone, first?.body],
    [2, '*GitLab: confidential, weight 3, at risk*'],
  )
  const [tool] = await records('repositories')
  assert.deepEqual([tool?.name, tool?.private, tool?.labels[0]?.color], ['Tool', false, 'ff0000'])
  assert.deepEqual(losses(), { designs: 1, label_priorities: 1, system_notes: 1 })
})

test('types, and what time was spent on, are in the text; other parts of an issue are counted', async (t) => {
  const { records, losses } = await read(t, {
    issues: [
      issue(1, {
        ...{ issue_type: 'incident', epic_issue: { epic: { iid: 7 } }, sentry_issue: { id: 1 } },
        ...{ issuable_sla: null, zoom_meetings: [{ url: 'https://zoom.us/1' }], author: {} },
        timelogs: [
          { time_spent: 1800, summary: 'wrote\ntests ' },
          { time_spent: 1800, summary: null },
          { time_spent: -600, summary: 'mistake' },
        ],
      }),
      issue(2, { work_item_type: { base_type: 'key_result' } }),
      issue(3, { issue_type: 'issue', work_item_type: { base_type: 'issue' } }),
    ],
    merge_requests: [mergeRequest(1, { timelogs: [{ time_spent: 0, summary: 'nothing' }] })],
  })
  assert.deepEqual(
    [...(await records('issues')), ...(await records('pull_requests'))].map(({ body }) => body),
    [
      '*GitLab: incident, spent 50m, time spent on: wrote tests; mistake*',
      '*GitLab: key result*',
      null,
      '*GitLab: time spent on: nothing*',
    ],
  )
  assert.deepEqual(losses(), { epic_issue: 1, sentry_issue: 1, zoom_meetings: 1 })
})

test('an issue that was closed before GitLab had state events has all changes of its state once', async (t) => {
  const at = (time: string) => ({ created_at: `2024-05-01T12:${time}Z` })
  const states = [
    { state: 'closed', user_id: 2, ...at('20:00.500') },
    { state: 'reopened', user_id: 2, ...at('30:00.500') },
  ]
  const events = ['10:00.000', '20:00.000', '30:00.000'].map((time, index) => ({
    ...{ action: ['reopened', 'closed', 'reopened'][index], author_id: 1, ...at(time) },
  }))
  const closed = system('closed', 'closed', { author_id: 1, ...at('05:00.000') })
  const { records } = await read(t, {
    issues: [
      issue(1, { resource_state_events: states, events, notes: [closed] }),
      issue(2, { resource_state_events: states, notes: [closed] }),
      issue(3, { notes: [closed] }),
    ],
  })
  assert.deepEqual(
    (await records('issue_events')).map(({ on, event, actor, createdAt }) =>
      [on.number, event, actor, createdAt.slice(14, 19)].join(' '),
    ),
    [
      ...['1 reopened gitlab-user-1 10:00', '1 closed gitlab-user-2 20:00'],
      ...['1 reopened gitlab-user-2 30:00', '2 closed gitlab-user-1 05:00'],
      ...['2 closed gitlab-user-2 20:00', '2 reopened gitlab-user-2 30:00'],
      '3 closed gitlab-user-1 05:00',
    ],
  )
})

test('an issue that a commit has closed names it', async (t) => {
  const closed = { state: 'closed', user_id: 1, created_at: LATER, source_commit: head }
  const { records } = await read(t, {
    issues: [issue(1, { state: 'closed', resource_state_events: [closed] })],
  })
  assert.deepEqual(
    (await records('issue_events')).map(({ event, commit, commitRepository }) => [
      ...[event, commit, commitRepository],
    ]),
    [['closed', head, 'alice/Tool']],
  )
})

test('a lock that a note describes is one event', async (t) => {
  const locked = system('locked the discussion in this issue', 'locked')
  const { records } = await read(t, {
    issues: [issue(1, { discussion_locked: true, notes: [locked] })],
  })
  assert.deepEqual(
    (await records('issue_events')).map(({ event, actor }) => [event, actor]),
    [['locked', 'gitlab-user-2']],
  )
})

test('comments on commits are read once, also from pipelines, without system notes', async (t) => {
  const onCommit = (text: string, more: object = {}) => note(text, { commit_id: head, ...more })
  const once = onCommit('Once', { id: 5 })
  const mentioned = onCommit('mentioned in issue #1', { system: true })
  const { records, losses } = await read(t, {
    commit_notes: [onCommit('New'), mentioned],
    ci_pipelines: [
      { sha: head, notes: [once, onCommit('New'), mentioned] },
      { sha: head, notes: [once, { ...once, id: 6 }, onCommit('Nowhere', { commit_id: 'x' })] },
    ],
    pipelines: [{ sha: head, notes: [onCommit('Old')] }],
  })
  assert.deepEqual(
    (await records('commit_comments')).map(({ commit, body }) => [commit, body]),
    ['New', 'Once', 'Once', 'Old'].map((body) => [head, body]),
  )
  assert.deepEqual(losses(), { ci_pipelines: 2, commit_notes: 1, pipelines: 1, system_notes: 1 })
})

test('comments on lines of a commit have their file, and their lines are reported', async (t) => {
  const at = { new_path: 'a.txt', old_path: 'a.txt', position_type: 'text', new_line: 2 }
  const commitNotes = [at, JSON.stringify(at)].map((position, index) =>
    note(`${index}`, { commit_id: head, type: 'DiffNote', position }),
  )
  const { records, losses } = await read(t, { commit_notes: commitNotes })
  assert.deepEqual(
    (await records('commit_comments')).map(({ path }) => path),
    ['a.txt', 'a.txt'],
  )
  assert.deepEqual(losses(), { commit_comment_lines: 2 })
})

test('an issue whose link to a label is empty is kept', async (t) => {
  const links = [{ label: null }, { label: { title: 'bug', color: '#F00' } }]
  const { records, losses } = await read(t, { issues: [issue(1, { label_links: links })] })
  assert.deepEqual((await records('issues'))[0]?.labels, ['bug'])
  assert.deepEqual(losses(), { label_links: 1 })
})

test('protected branches name who may push, and everything else about them is reported', async (t) => {
  const role = (access_level: number) => ({ access_level, user_id: null, group_id: null })
  // GitLab's default level for users, groups and deploy keys is that of maintainers.
  const branch = (name: string, push: object[], merge: object[], unprotect: object[] = []) => ({
    ...{ name, push_access_levels: push, merge_access_levels: merge },
    unprotect_access_levels: unprotect,
  })
  const ann = { ...role(40), user_id: 1 }
  const { records, losses } = await read(t, {
    project_members: [
      ...members,
      { access_level: 40, user_id: 2, user: { id: 2, username: 'max' } },
    ],
    protected_branches: [
      branch('maintainers', [role(40)], [role(40)], [role(40)]),
      branch('one', [ann], [ann]),
      branch('open', [role(40), role(30)], [role(30), role(40)]),
      branch('closed', [role(0)], [role(0)]),
      branch('lost-merge', [role(0)], [role(30)]),
      branch('lost-group', [{ ...role(40), group_id: 7 }], [{ ...role(40), group_id: 7 }]),
      branch('lost-key', [{ ...role(40), deploy_key_id: 3 }], [{ ...role(40), deploy_key_id: 3 }]),
      branch('lost-administrators', [role(60)], [role(60)]),
      branch('lost-unprotect', [ann], [ann], [ann]),
    ],
  })
  assert.deepEqual(
    (await records('protected_branches')).map(({ name, authorizedActorsOnly, authorizedUsers }) => [
      ...[name, authorizedActorsOnly, authorizedUsers.join()],
    ]),
    [
      ['maintainers', true, 'max'],
      ['one', true, 'ann'],
      ['open', false, ''],
      ['closed', true, ''],
      ['lost-merge', true, ''],
      ['lost-group', true, ''],
      ['lost-key', true, ''],
      ['lost-administrators', true, ''],
      ['lost-unprotect', true, 'ann'],
    ],
  )
  assert.deepEqual(losses(), { branch_protection_rules: 5 })
})

test('maintainers of a group, who are not in the export, are reported for a protected branch', async (t) => {
  const levels = [{ access_level: 40 }]
  const { losses } = await read(t, {
    protected_branches: [{ name: 'main', push_access_levels: levels, merge_access_levels: levels }],
  })
  assert.deepEqual(losses(), { branch_protection_rules: 1 })
})

test('internal notes and confidential issues are marked, and one warning names all of them', async (t) => {
  const internal = note('Do not tell', { internal: true, author_id: 1 })
  const all = Array.from({ length: 150 }, (_, index) => index + 1)
  const { records, warnings } = await read(t, {
    project_members: members,
    issues: all.map((iid) => issue(iid, { confidential: true, notes: [internal, internal] })),
    merge_requests: [mergeRequest(1, { notes: [internal] })],
  })
  const [comment] = await records('issue_comments')
  assert.equal(comment?.body, 'Do not tell\n\n*GitLab: internal note*')
  const numbers = all.map((number) => `#${number}`).join(', ')
  const visible = 'of GitLab become visible to all who can read issues'
  assert.deepEqual(warnings, [
    `alice/Tool: confidential issues ${visible}: ${numbers}`,
    `alice/Tool: internal notes ${visible}: ${numbers}, #151`,
  ])
})

test('texts refer to the new numbers, people, labels and files, but not in code', async (t) => {
  const secret = 'a1b2c3d4'.repeat(4)
  const description = [
    'See !2, #1, tool!2, group/tool#1, other/x!2 and !9 but not `!2`.',
    `![p](/uploads/${secret}/p%20q.png) /uploads/${secret}/gone.png`,
    '~bug ~"two words" ~nope %1 %"Own" @ann @all a@b.c #3',
    '```',
    '!2 ~bug',
    '```',
  ].join('\n')
  const { records, content, losses } = await read(
    t,
    {
      project_members: members,
      labels: [
        { title: 'bug', color: '#ff0000' },
        { title: 'two words', color: '#ff0000' },
      ],
      milestones: [{ iid: 1, title: 'Own', state: 'active', ...times }],
      issues: [issue(1, { description })],
      merge_requests: [mergeRequest(1), mergeRequest(2)],
    },
    { [`uploads/${secret}/p q.png`]: 'picture', [`uploads/${secret}/unused.txt`]: 'text' },
  )
  const url = 'https://gitlab.invalid/user-attachments/assets/a1b2c3d4-a1b2-c3d4-a1b2-c3d4a1b2c3d4'
  assert.deepEqual((await records('issues'))[0]?.body?.split('\n'), [
    'See #3, #1, alice/Tool#3, alice/Tool#1, other/x!2 and !9 but not `!2`.',
    `![p](${url}) /uploads/${secret}/gone.png`,
    '`bug` `two words` ~nope Own Own @ann `@all` a@b.c issue 3',
    '```',
    '!2 ~bug',
    '```',
  ])
  const attachments = await records('attachments')
  assert.deepEqual(
    attachments
      .map(({ name, contentType, on, author }) => [name, contentType, on.kind, author])
      .sort(),
    [
      ['p q.png', 'image/png', 'issue', 'ann'],
      ['unused.txt', 'text/plain', 'repository', null],
    ],
  )
  const found = await content.findFile(
    attachments.find(({ on }) => on.kind === 'issue')!.file,
    'alice/Tool',
  )
  assert.ok('file' in found)
  assert.equal(await readFile(found.file, 'utf8'), 'picture')
  for (const path of ['attachments/../tree/project.json', `attachments/${secret}/../x`])
    assert.ok('missing' in (await content.findFile(path, 'alice/Tool')), path)
  assert.deepEqual(losses(), { attachments: 1 })
})

test('files in one folder have different UUIDs, and files where GitLab finds none are reported', async (t) => {
  const secret = 'a1b2c3d4'.repeat(4)
  const description = `/uploads/${secret}/a.png /uploads/${secret}/b.png /uploads/0123456789/c.png`
  const { records, content, losses } = await read(
    t,
    { issues: [issue(1, { description })] },
    {
      [`uploads/${secret}/a.png`]: 'a',
      [`uploads/${secret}/b.png`]: 'b',
      'uploads/group/tool/0123456789/c.png': 'c',
      'uploads/odd.txt': 'odd',
      'uploads/abc/e.txt': 'odd',
    },
  )
  const attachments = await records('attachments')
  const [{ body } = { body: '' }] = await records('issues')
  const linked = []
  for (const url of body!.split(' ')) {
    const { file } = attachments.find(({ uuid }) => url.endsWith(`/assets/${uuid}`))!
    const found = await content.findFile(file, 'alice/Tool')
    linked.push('file' in found && (await readFile(found.file, 'utf8')))
  }
  assert.deepEqual(linked, ['a', 'b', 'c'])
  assert.deepEqual(losses(), { attachments: 2 })
})

test('a project that only the name of its file names is found with and without its group', async (t) => {
  const description = 'group/project!1, project!1, group_project#1, roup_project!1'
  const { records } = await read(
    t,
    { issues: [issue(1, { description })], merge_requests: [mergeRequest(1)] },
    { 'tree/project.json': '{}' },
  )
  const name = 'alice/group_project'
  const expected = `${name}#2, ${name}#2, ${name}#1, roup_project!1`
  assert.equal((await records('issues'))[0]?.body, expected)
})

test('a project whose export has another name for it is also found by its path', async (t) => {
  const description = 'group/project!1, project#1, tool!1'
  const { records } = await read(t, {
    issues: [issue(1, { description })],
    merge_requests: [mergeRequest(1)],
  })
  const expected = 'alice/Tool#2, alice/Tool#1, alice/Tool#2'
  assert.equal((await records('issues'))[0]?.body, expected)
})

describe('git data', () => {
  const snapshotOf = async ({ content }: Awaited<ReturnType<typeof read>>) => {
    const [found] = await Array.fromAsync(content.repositories(), async (each) =>
      'snapshot' in each
        ? {
            refs: await host.git(['for-each-ref', '--format=%(refname)'], {
              dir: each.snapshot.repository.dir,
            }),
            lfs: each.snapshot.examination.repository.lfsObjects.map(({ size }) => size),
          }
        : { errors: each.errors },
    )
    return found
  }

  test('has the heads of merge requests as those of pull requests, and LFS objects', async (t) => {
    const large = Buffer.from('a large file')
    const oid = createHash('sha256').update(large).digest('hex')
    const made = await read(
      t,
      { issues: [issue(1), issue(5)], merge_requests: [mergeRequest(1)] },
      {
        'project.bundle': await bundle(
          ['refs/merge-requests/1/head', head],
          ['refs/merge-requests/1/merge', head],
          ['refs/custom/own', head],
          [`refs/keep-around/${head}`, head],
        ),
        [`lfs-objects/${oid}`]: large,
      },
    )
    const found = await snapshotOf(made)
    assert.deepEqual(found, {
      refs: 'refs/custom/own\nrefs/heads/main\nrefs/pull/6/head\nrefs/pull/6/merge',
      lfs: [large.length],
    })
    assert.deepEqual(made.losses(), { keep_around_refs: 1 })
  })

  const SPOILED: [what: string, spoil: (good: Buffer) => Buffer, error: RegExp][] = [
    [
      'with another signature',
      () => Buffer.from('no bundle'),
      /not a git bundle of version 2 or 3/,
    ],
    ['that is truncated', (good) => good.subarray(0, good.length - 40), /git bundle failed/],
    [
      'with a filter',
      () => Buffer.from(`# v3 git bundle\n@filter=blob:none\n${head} refs/heads/main\n\n`),
      /capability filter=blob:none, which is not supported/,
    ],
    [
      'whose ref leaves the repository',
      (good) =>
        Buffer.from(
          good.toString('latin1').replace('refs/heads/main', 'refs/heads/../m'),
          'latin1',
        ),
      /git update-ref failed/,
    ],
  ]
  for (const [what, spoil, error] of SPOILED)
    test(`a bundle ${what} fails this repository only`, async (t) => {
      const found = await snapshotOf(await read(t, {}, { 'project.bundle': spoil(await bundle()) }))
      assert.match(String(found?.errors), error)
    })

  test('HEAD is the default branch, whose name can have any characters', async (t) => {
    const branch = 'refs/heads/größe'
    const made = await read(
      t,
      {},
      {
        'project.bundle': await bundle([branch, head]),
        'tree/project.json': JSON.stringify({ name: 'Tool', default_branch: 'größe' }),
      },
    )
    await host.git(['update-ref', '-d', branch], { dir: repository })
    const [found] = await Array.fromAsync(made.content.repositories(), (each) =>
      'snapshot' in each
        ? host.git(['symbolic-ref', 'HEAD'], { dir: each.snapshot.repository.dir })
        : String(each.errors),
    )
    assert.equal(found, branch)
    assert.equal((await made.records('repositories'))[0]?.defaultBranch, 'größe')
  })

  test('a bundle of version 3 is read', async (t) => {
    const good = (await bundle()).toString('latin1')
    const third = good.replace('# v2 git bundle\n', '# v3 git bundle\n@object-format=sha1\n')
    const found = await snapshotOf(
      await read(t, {}, { 'project.bundle': Buffer.from(third, 'latin1') }),
    )
    assert.match(String(found?.refs), /refs\/heads\/main/)
  })

  test('an LFS object with other content is an error', async (t) => {
    const lfs = { [`lfs-objects/${'a'.repeat(64)}`]: 'other' }
    const found = await snapshotOf(await read(t, {}, { 'project.bundle': await bundle(), ...lfs }))
    assert.match(String(found?.errors), /a{64}/)
  })
})

describe('a hostile export', () => {
  test('has invalid records, which are named, and the others are read', async (t) => {
    const { records, warnings, losses } = await read(
      t,
      { issues: [issue(1), { ...issue(2), created_at: 'soon' }, issue(1), issue(3)] },
      { 'tree/project/labels.ndjson': 'null\n{"title": \n[]\n\n{"title":"ok","color":"#00ff00"}' },
    )
    assert.deepEqual(
      (await records('issues')).map(({ number }) => number),
      [1, 3],
    )
    assert.deepEqual((await records('repositories'))[0]?.labels.length, 1)
    assert.deepEqual(losses(), { issues: 2, labels: 2 })
    assert.match(
      warnings.join('\n'),
      /issues\.ndjson: line 2: created_at is not a valid time: "soon"/,
    )
    assert.match(warnings.join('\n'), /issues\.ndjson: line 3: #1 occurs twice/)
    assert.match(warnings.join('\n'), /labels\.ndjson: line 2/)
  })

  test('has notes and reactions without a time: the issue and everything else of it is kept', async (t) => {
    const undated = { created_at: null }
    const { records, warnings, losses } = await read(t, {
      issues: [
        issue(1, {
          notes: [note('lost', undated), note('kept')],
          award_emoji: [{ name: 'heart', user_id: 1, ...undated }],
        }),
      ],
    })
    const [first] = await records('issues')
    assert.deepEqual(
      first?.reactions.map(({ content, createdAt }) => [content, createdAt]),
      [['heart', '1970-01-01T00:00:00Z']],
    )
    const comments = await records('issue_comments')
    assert.deepEqual([comments.length, comments[0]?.body?.startsWith('kept')], [1, true])
    assert.deepEqual(losses(), { notes: 1 })
    assert.match(warnings.join('\n'), /line 1: one of its notes has no valid time: null/)
  })

  test('has topics as a list of names, in an export of one file', async (t) => {
    for (const key of ['topics', 'tag_list']) {
      const project = JSON.stringify({ visibility_level: 20, name: 'Tool', [key]: ['one', 'two'] })
      const folder = await writeExport(join(await temporaryFolder(t), 'export'), {})
      await rm(join(folder, 'tree'), { recursive: true })
      await writeFile(join(folder, 'project.json'), project)
      const { records, losses } = await readContent(t, { folder }, { git: host.godwitGit })
      const [tool] = await records('repositories')
      assert.deepEqual([tool?.topics?.map(({ name }) => name), losses()], [['one', 'two'], {}], key)
    }
  })

  test('has numbers and days that no server stores, which are named', async (t) => {
    const milestone = { title: 'Odd', state: 'active', due_date: '2024/06/01', ...times }
    const { records, warnings, losses } = await read(t, {
      milestones: [
        { iid: 1, ...milestone },
        { iid: 2, ...milestone, title: 'No day', due_date: '2024-02-30' },
      ],
      issues: [
        issue(2 ** 31 - 1),
        issue(2 ** 53 - 1),
        { ...issue(3), created_at: '2016-06-14 15:02:08 UTC' },
      ],
      merge_requests: [mergeRequest(3)],
    })
    const issues = await records('issues')
    assert.deepEqual(
      issues.map(({ number, createdAt }) => [number, createdAt]),
      [
        [3, '2016-06-14T15:02:08.000Z'],
        [2 ** 31 - 1, AT],
      ],
    )
    assert.deepEqual(
      (await records('milestones')).map(({ dueOn }) => dueOn),
      [null, null],
    )
    assert.deepEqual(losses(), { due_dates: 2, issues: 1, merge_requests: 1 })
    assert.match(
      warnings.join('\n'),
      /issues\.ndjson: line 2: the number 9007199254740991 is too large/,
    )
  })

  test('is refused if it nests too deeply or has a line that is too long', async (t) => {
    const deep = `{"a":${'['.repeat(200)}${']'.repeat(200)}}\n`
    const { losses, warnings } = await read(t, {}, { 'tree/project/issues.ndjson': deep })
    assert.deepEqual(losses(), { issues: 1 })
    assert.match(warnings.join(), /nested more than 100 levels deep/)
    await assert.rejects(
      read(t, {}, { 'tree/project.json': deep }),
      /tree\/project.json: it is nested/,
    )
    const folder = await writeExport(join(await temporaryFolder(t), 'export'), { issues: [] })
    await truncate(join(folder, 'tree/project/issues.ndjson'), 50 * 1024 * 1024 + 1)
    await assert.rejects(
      readContent(t, { folder }, { git: host.godwitGit }),
      /issues.ndjson: line 1 has more than 52428800 bytes/,
    )
  })

  const LINKS: [kind: string, make: (root: string) => Promise<void>][] = [
    ['a symbolic link', (root) => symlink('/etc/passwd', join(root, 'uploads'))],
    ['a hard link', (root) => link(join(root, 'VERSION'), join(root, 'VERSION2'))],
    ['a pipe', async (root) => void execFileSync('mkfifo', [join(root, 'uploads')])],
  ]
  for (const [kind, make] of LINKS)
    test(`is refused if it has ${kind}`, async (t) => {
      const folder = await temporaryFolder(t)
      const root = await writeExport(join(folder, 'export'), {})
      await make(root)
      const file = join(folder, 'export.tar.gz')
      execFileSync('tar', ['czf', file, '-C', root, '.'])
      await assert.rejects(
        readContent(t, createReadStream(file), { git: host.godwitGit }),
        /the archive is not supported/,
      )
    })

  test('of a group is refused with the advice to export its projects', async (t) => {
    await assert.rejects(
      read(t, {}, { 'tree/groups/1.json': '{}' }),
      /export of a GitLab group, which has no repositories: export the projects/,
    )
  })

  test('with a repository of its own does not get it into the result', async (t) => {
    const { content } = await read(
      t,
      {},
      { 'repositories/alice/other.git/HEAD': 'ref: refs/heads/x\n' },
    )
    const names = await Array.fromAsync(content.repositories(), ({ fullName }) => fullName)
    assert.deepEqual(names, ['alice/Tool'])
  })
})
