import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import {
  GITLAB_2019,
  needsGitLab,
  readContent,
  unpackTree2020,
} from '../../../../../test/support/gitlab-exports.ts'

let host: GitHost
before(async () => {
  host = await gitHost()
})
after(() => host.remove())

const FULL_NAME = 'alice/group_project'

describe('the export of 2019, one JSON file', needsGitLab, () => {
  const read = (t: Parameters<typeof readContent>[0]) =>
    readContent(t, createReadStream(GITLAB_2019), { git: host.godwitGit })

  test('has all issues, merge requests, notes and milestones', async (t) => {
    const { content, records, warnings, losses } = await read(t)
    assert.deepEqual(content.fullNames, [FULL_NAME])
    assert.equal(content.summary.madeBy, 'GitLab (export format 0.2.4)')
    const issues = await records('issues')
    assert.deepEqual(
      issues.map(({ number }) => number),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    )
    assert.equal(issues.filter(({ closedAt }) => closedAt === null).length, 4)
    const pulls = await records('pull_requests')
    assert.deepEqual(
      pulls.map(({ number }) => number),
      [11, 12, 13, 14, 15, 16, 17, 18, 19],
    )
    assert.ok(pulls.every(({ closedAt, mergedAt }) => closedAt === null && mergedAt === null))
    const comments = await records('issue_comments')
    assert.equal(comments.filter(({ on }) => on.kind === 'issue').length, 80)
    assert.equal(comments.filter(({ on }) => on.kind === 'pull_request').length, 72)
    assert.ok(
      comments.every(({ body }) => /\*By .+ on 20\S+ \(imported from GitLab.*\)\*$/s.test(body!)),
    )
    assert.equal(new Set(comments.map(({ id }) => id)).size, 152)
    const milestones = await records('milestones')
    assert.deepEqual(
      milestones.map(({ title, state, number }) => `${number} ${title} ${state}`),
      ['1 v0.0 closed', '2 v1.0 closed', '3 v2.0 closed', '4 v3.0 open', '5 v4.0 open'],
    )
    const [repository] = await records('repositories')
    assert.deepEqual(repository?.collaborators, [{ login: 'root', permission: 'admin' }])
    assert.deepEqual([repository?.private, repository?.defaultBranch], [true, 'master'])
    assert.deepEqual(
      (await records('users')).map(({ login, name, emails }) => [login, name, emails[0]?.address]),
      [
        ['root', 'Administrator', 'admin@example.com'],
        ['alice', null, undefined],
      ],
    )
    for (const kind of ['releases', 'protected_branches', 'attachments'] as const)
      assert.deepEqual(await records(kind), [], kind)
    assert.deepEqual([warnings, losses()], [[], {}])
  })

  test('has titles, times, milestones and commits', async (t) => {
    const { records } = await read(t)
    const [first] = await records('issues')
    assert.deepEqual(
      [first?.title, first?.createdAt, first?.milestone, first?.author, first?.assignees],
      [
        'Sequi dolor voluptatem libero distinctio sed consequatur recusandae officia aut.',
        ...['2016-10-18T16:45:41.575Z', 5, 'root', ['root']],
      ],
    )
    const pulls = await records('pull_requests')
    const eighth = pulls.find(({ number }) => number === 18)!
    assert.deepEqual(
      [eighth.title, eighth.createdAt, eighth.base.ref, eighth.head.ref, eighth.head.repository],
      ['Can be automatically merged', '2016-10-18T16:46:38.432Z', 'master', 'feature', FULL_NAME],
    )
    assert.equal(eighth.head.sha, '0b4bc9a49b562e85de7cc9e834518ea6828729b9')
    assert.match(eighth.base.sha, /^64783828/)
    assert.equal(pulls.at(-1)?.title, 'Cannot be automatically merged')
    assert.deepEqual(Array.from((await read(t)).content.renumbered!()).at(-1), {
      ...{ repository: FULL_NAME, old: '!9', new: '#19' },
    })
  })

  test('has every ref of the bundle, and the wiki', async (t) => {
    const { content } = await read(t)
    const names: string[] = []
    for await (const each of content.repositories()) {
      assert.ok('snapshot' in each, JSON.stringify(each))
      names.push(each.fullName)
      const { repository, wiki } = each.snapshot
      const git = (...args: string[]) => host.git(args, { dir: repository.dir })
      const refs = new Map(
        (await git('for-each-ref', '--format=%(refname) %(objectname)')).split('\n').map((line) => {
          const [name = '', oid = ''] = line.split(' ')
          return [name, oid]
        }),
      )
      const below = (start: string) => [...refs.keys()].filter((name) => name.startsWith(start))
      assert.deepEqual(
        [below('refs/heads/').length, below('refs/tags/').length, refs.size],
        [27, 2, 29],
      )
      assert.deepEqual(
        ['heads/master', 'heads/feature', 'heads/feature_conflict', "heads/'test'"].map((name) =>
          refs.get(`refs/${name}`),
        ),
        [
          '6478382869f6dba662cac51aec81e5b9d7fec311',
          '0b4bc9a49b562e85de7cc9e834518ea6828729b9',
          'bb5206fee213d983da88c47f9cf4cc6caf9c66dc',
          'e56497bb5f03a90a51293fc6d516788730953899',
        ],
      )
      assert.deepEqual(
        ['v1.0.0', 'v1.1.0'].map((tag) => refs.get(`refs/tags/${tag}`)),
        ['f4e6814c3e4e7a0de82a9e7cd20c626cc963a2f8', '8a2a6eb295bb170b34c24c76c49ed0e9b2eaf34b'],
      )
      assert.equal(await git('rev-parse', 'v1.0.0^{}'), '6f6d7e7ed97bb5f0054f2b1df789b39ca89b6ff9')
      assert.equal(await git('rev-parse', 'v1.1.0^{}'), '5937ac0a7beb003549fc5fd26fc247adbce4a52e')
      assert.equal(await git('symbolic-ref', 'HEAD'), 'refs/heads/master')
      assert.equal(await git('rev-list', '--all', '--count'), '59')
      const page = await host.git(['ls-tree', '--name-only', 'master'], { dir: wiki!.dir })
      assert.equal(page, 'home.md')
      assert.equal(
        await host.git(['rev-parse', 'master'], { dir: wiki!.dir }),
        '5bfc9ffad536350a3857800547dcd55377899a2b',
      )
    }
    assert.deepEqual(names, [FULL_NAME])
  })
})

describe('the tree of 2020', needsGitLab, () => {
  test('is read from lines and from one file with the same result', async (t) => {
    const [lines, file] = await Promise.all(
      [false, true].map(async (legacy) => {
        const folder = await unpackTree2020(t, 'complex', { legacy })
        return readContent(t, { folder }, { git: host.godwitGit })
      }),
    )
    for (const kind of [
      'issues',
      'pull_requests',
      'issue_comments',
      'issue_events',
      'milestones',
    ] as const)
      assert.deepEqual(await lines!.records(kind), await file!.records(kind), kind)
    assert.deepEqual(await lines!.records('repositories'), await file!.records('repositories'))
  })

  test('has issues, merge requests, labels, releases and people', async (t) => {
    const folder = await unpackTree2020(t, 'complex')
    const { records, warnings, losses } = await readContent(t, { folder }, { git: host.godwitGit })
    const issues = await records('issues')
    assert.deepEqual(
      [issues.length, issues.filter(({ closedAt }) => closedAt === null).length],
      [10, 4],
    )
    const [first, last] = [issues[0]!, issues.at(-1)!]
    assert.deepEqual([first.title, first.number], ['issue_with_timelogs', 1])
    assert.match(first.body!, /\n\n\*GitLab: spent 20h\*$/)
    assert.deepEqual(
      [last.number, last.title, last.createdAt],
      [10, 'Voluptatem', '2016-06-14T15:02:08.340Z'],
    )
    assert.deepEqual(last.assignees, [
      'gitlab-user-1',
      'emmet.schamberger',
      'bernard_willms',
      'saul_will',
    ])
    assert.deepEqual(last.labels, ['test2', 'test3'])
    assert.deepEqual(
      last.reactions.map(({ author, content }) => [author, content]),
      [['gitlab-user-1', 'musical_keyboard']],
    )
    const pulls = await records('pull_requests')
    assert.deepEqual(
      pulls.map(({ number, head }) => [number, head.repository === FULL_NAME]),
      [...[11, 12, 13, 14, 15, 16, 17].map((n) => [n, true]), [18, false], [19, false]],
    )
    const ninth = pulls.at(-1)!
    // The fixture names HEAD instead of a commit, so the newest commit of the diff is the head.
    assert.equal(ninth.head.sha, 'bb5206fee213d983da88c47f9cf4cc6caf9c66dc')
    assert.deepEqual(
      [ninth.title, ninth.reactions.map(({ content }) => content)],
      ['MR1', ['+1', 'drum']],
    )
    const comments = await records('issue_comments')
    const on = (kind: string) => comments.filter((each) => each.on.kind === kind)
    assert.deepEqual([on('issue').length, on('pull_request').length], [80, 72])
    const reacted = comments.filter(({ reactions }) => reactions.length > 0)
    assert.deepEqual(
      reacted.map(({ on, reactions }) => [on.number, reactions.map(({ content }) => content)]),
      [
        [10, ['clapper']],
        [19, ['hooray']],
      ],
    )
    assert.match(comments.map(({ body }) => body).join(), /```suggestion\nNew line\n```/)
    const [repository] = await records('repositories')
    assert.deepEqual(
      repository?.labels.map(({ name, color }) => [name, color]),
      [
        ['test2', '428bca'],
        ['test3', '428bca'],
      ],
    )
    assert.deepEqual(
      repository?.collaborators.map(({ login, permission }) => `${login} ${permission}`),
      ['bernard_willms admin', 'saul_will read', 'emmet.schamberger read', 'user4 read'],
    )
    assert.equal(repository?.private, true)
    const milestones = await records('milestones')
    assert.deepEqual(
      milestones.map(({ number }) => number),
      [1, 4, 5],
    )
    const [release, ...more] = await records('releases')
    assert.deepEqual(more, [])
    assert.deepEqual(
      [release?.tag, release?.target],
      ['release-1.1', '901de3a8bd5573f4a049b1457d28bc1592ba6bf9'],
    )
    assert.match(release!.body!, /- \[release-1\.1\.dmg\]\(http:\/\/localhost\/.*\)$/)
    const [branch] = await records('protected_branches')
    assert.deepEqual(
      [branch?.name, branch?.authorizedActorsOnly, branch?.authorizedUsers.length],
      ['master', true, 1],
    )
    const events = await records('issue_events')
    assert.deepEqual(
      events
        .filter(({ event }) => event === 'unlabeled')
        .map(({ on, label }) => [on.number, label?.name]),
      [[10, 'test2']],
    )
    assert.deepEqual(
      (await records('commit_comments')).map(({ author, commit, body }) => [author, commit, body]),
      [
        [
          ...['gitlab-user-1', 'be93687618e4b132087f430a4d8fc3a609c9b77c'],
          'Natus rerum qui dolorem dolorum voluptas.',
        ],
      ],
    )
    assert.deepEqual(warnings, [`${FULL_NAME} is internal in GitLab, and becomes private`])
    const { snippets, protected_tags, resource_label_events, system_notes, label_priorities } =
      losses()
    assert.deepEqual(
      { snippets, protected_tags, resource_label_events, system_notes, label_priorities },
      {
        snippets: 1,
        protected_tags: 1,
        resource_label_events: 1,
        system_notes: 2,
        label_priorities: 1,
      },
    )
  })

  test('has an issue with a label that only its link names', async (t) => {
    const folder = await unpackTree2020(t, 'light')
    const { records } = await readContent(t, { folder }, { git: host.godwitGit })
    const [issue, ...more] = await records('issues')
    assert.deepEqual([issue?.number, issue?.labels, more], [20, ['Another label'], []])
    const [repository] = await records('repositories')
    assert.deepEqual(repository?.labels.map(({ name }) => name).sort(), [
      'A project label',
      'Another label',
    ])
    assert.equal(repository?.defaultBranch, null)
    assert.equal((await records('milestones')).length, 1)
  })

  test('people are mapped by username, id, e-mail address and placeholder', async (t) => {
    const folder = await unpackTree2020(t, 'complex')
    const people = new Map(
      Object.entries({
        'bernard_willms@gitlabexample.com': 'bernie',
        15: 'fifteen',
        'gitlab-user-1': 'one',
        saul_will: 'saul',
      }).map(([old, login]) => [old, { login, id: undefined }] as const),
    )
    const { records } = await readContent(t, { folder }, { git: host.godwitGit, people })
    const { assignees } = (await records('issues')).at(-1)!
    assert.deepEqual(
      assignees.map((login) => people.get(login.toLowerCase())?.login),
      ['one', 'fifteen', 'bernie', 'saul'],
    )
  })
})
