import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type FakeForge, startForge } from '../../../../../test/support/forge/fake-forge.ts'
import type { Repository, User } from '../../../../../test/support/forge/forge-data.ts'
import { MemoryDiscussionStore } from '../../../../../test/support/forge/memory-discussion-store.ts'
import { FORGEJO_11, GITEA_1_15, GITEA_1_22 } from '../../../../../test/support/forge/render.ts'
import { readStateOf } from '../../discussions.ts'
import { forgeDiscussions } from './forge-discussions.ts'

// The test runner has a timeout. Another one here would make the test depend on the speed of the machine.
const signal = new AbortController().signal
const WIDGETS = { owner: 'octo', name: 'widgets' }

/** Old enough that the reader does not wait for the current second to end. */
const LONG_AGO = 1_700_000_000

interface Scene {
  forge: FakeForge
  repository: Repository
  ann: User
  bob: User
}

/** Creates one object of each kind. */
function fill(forge: FakeForge): Scene {
  const { world } = forge
  world.clock = () => LONG_AGO
  const octo = world.addUser('octo', { isOrganization: true })
  const [ann, bob] = [world.addUser('ann', { fullName: 'Ann A.' }), world.addUser('bob')]
  world.addTeam(octo, 'Owners', 'owner', [ann])
  world.addTeam(octo, 'Core Team', 'write', [bob])
  world.addTeam(octo, 'Wiki Team', 'write', [bob]).units = ['repo.wiki']
  const repository = world.addRepository(octo, 'widgets')
  const bug = { id: world.id(), name: 'bug', color: '00aabb', description: 'broken' }
  repository.labels.push({ ...bug, exclusive: true })
  world.organizationLabels.set('octo', [{ ...bug, id: world.id(), name: 'all over' }])
  const milestone = {
    id: world.id(),
    title: 'v1',
    description: '',
    closed: null,
    due: null,
    created: LONG_AGO,
  }
  repository.milestones.push(milestone)
  repository.collaborators.set(bob, 'read')
  repository.protections.push({
    branch_name: 'main',
    enable_push: true,
    enable_push_whitelist: true,
    push_whitelist_usernames: ['ann'],
    push_whitelist_teams: ['Core Team'],
    required_approvals: 2,
  })
  const issue = world.addIssue(repository, ann, { labels: [bug], milestone, assignees: [bob] })
  world.addComment(issue, ann, '1', {
    type: 'label',
    about: { label: { id: bug.id, name: 'bug', color: '00aabb' } },
  })
  issue.reactions.push({ user: bob, content: '+1', created: LONG_AGO })
  const comment = world.addComment(issue, bob, 'me too')
  comment.reactions.push({ user: ann, content: 'heart', created: LONG_AGO })
  world.addComment(issue, null, 'from one who left')
  const shot = world.createAsset('a shöt.png', 'picture')
  issue.assets.push(shot)
  issue.body = `see ![shot](/attachments/${shot.uuid})`
  world.close(issue, ann)

  const merged = world.addPull(repository, bob)
  merged.timeEstimate = 5400
  const review = world.addReview(merged, ann, 'REQUEST_CHANGES', 'not yet')
  world.addLineComment(merged, review, ann, 'a.txt', 3)
  world.addLineComment(merged, review, bob, 'a.txt', 3)
  world.addLineComment(merged, review, bob, 'a.txt', 5)
  const approval = world.addReview(merged, ann, 'APPROVED', 'fine')
  const summary = merged.comments.find(({ id }) => id === approval.commentId)!
  summary.body = 'fine, edited'
  summary.reactions.push({ user: bob, content: 'heart', created: LONG_AGO })
  summary.assets.push(world.createAsset('of a review.txt', 'not linked'))
  const inline = world.addLineComment(merged, approval, ann, 'b.txt', 1)
  inline.assets.push(world.createAsset('of a line.txt', 'not linked'))
  world.addReview(merged, ann, 'COMMENT', 'by the way').dismissed = true
  world.addReview(merged, bob, 'PENDING', 'not sent')
  world.merge(merged, ann)
  const gone = world.addPull(repository, null, {
    head: { branch: 'fix', sha: 'a'.repeat(40), repository: null },
  })
  gone.title = 'WIP: fix'
  world.addReview(gone, bob, 'REQUEST_REVIEW')
  gone.isLocked = true

  const release = world.addRelease(repository, ann, 'v1.0', { prerelease: true })
  release.assets.push(world.createAsset('tool.zip', 'zip bytes'))
  world.addRelease(repository, ann, 'v2.0', { draft: true })
  world.advanceClockPerRequest(LONG_AGO + 60)
  return { forge, repository, ann, bob }
}

for (const dialect of [GITEA_1_15, GITEA_1_22, FORGEJO_11])
  describe(`discussions of ${dialect.version}`, () => {
    let scene: Scene
    let store: MemoryDiscussionStore
    let discussions: ReturnType<typeof forgeDiscussions>
    before(async () => {
      scene = fill(await startForge({ dialect }))
      discussions = forgeDiscussions({ url: scene.forge.url, token: 'admin-token' })
      store = new MemoryDiscussionStore()
      await store.readAll(discussions, WIDGETS)
    })
    after(() => scene.forge.stop())

    it('reads an issue with labels, milestone, people and reactions', () => {
      const [issue] = store.records('issues')
      assert.deepEqual(
        { ...issue, body: undefined },
        {
          repository: 'octo/widgets',
          number: 1,
          author: 'ann',
          title: 'issue 1',
          body: undefined,
          assignees: ['bob'],
          milestone: scene.repository.milestones[0]?.id,
          labels: ['bug'],
          reactions: [{ author: 'bob', content: '+1', createdAt: '2023-11-14T22:13:20Z' }],
          closedAt: '2023-11-14T22:13:20Z',
          createdAt: '2023-11-14T22:13:20Z',
          updatedAt: '2023-11-14T22:13:20Z',
        },
      )
    })

    it('reads comments, also those of deleted accounts', () => {
      const comments = store.records('issue_comments')
      assert.deepEqual(
        comments.map(({ author, body, reactions }) => [author, body, reactions.length]),
        [
          ['bob', 'me too', 1],
          ['ghost', 'from one who left', 0],
        ],
      )
      assert.ok(store.groups.has('user/ghost'))
    })

    it('reads events, or derives them from the state of the issue', () => {
      const of = (number: number) =>
        store
          .records('issue_events')
          .filter(({ on }) => on.number === number)
          .map(({ event, actor }) => `${event} ${actor}`)
      const isOld = dialect === GITEA_1_15
      assert.deepEqual(of(1), isOld ? ['closed ghost'] : ['labeled ann', 'closed ann'])
      assert.deepEqual(of(2), ['merged ann', 'closed ann'])
      assert.deepEqual(of(3), ['locked ghost'])
      const ids = store.records('issue_events').map(({ id }) => id)
      assert.equal(new Set(ids).size, ids.length)
    })

    it('reads pull requests, merged, and from a deleted fork', () => {
      const [merged, gone] = store.records('pull_requests')
      assert.equal(merged?.mergedAt, '2023-11-14T22:13:20Z')
      assert.equal(merged?.head.repository, 'octo/widgets')
      assert.equal(merged?.draft, false)
      assert.equal(merged?.mergeCommit?.length, 40)
      assert.equal(gone?.author, 'ghost')
      assert.deepEqual(gone?.head, {
        ref: 'fix',
        sha: 'a'.repeat(40),
        owner: 'ghost',
        repository: null,
      })
      assert.equal(gone?.draft, true)
      assert.deepEqual(
        gone?.reviewRequests.map(({ reviewer }) => reviewer),
        [{ kind: 'user', login: 'bob' }],
      )
    })

    it('reads submitted reviews, and groups their comments into threads', () => {
      assert.deepEqual(
        store.records('pull_request_reviews').map(({ state, author }) => `${state} ${author}`),
        ['changes_requested ann', 'approved ann', 'dismissed ann'],
      )
      const isOnFirst = ({ path }: { path: string }) => path === 'a.txt'
      const threads = store.records('pull_request_review_threads').filter(isOnFirst)
      const comments = store.records('pull_request_review_comments').filter(isOnFirst)
      assert.deepEqual(
        threads.map(({ path, line, side }) => [path, line, side]),
        [
          ['a.txt', 3, 'right'],
          ['a.txt', 5, 'right'],
        ],
      )
      const [root, response, other] = comments
      assert.equal(root?.inReplyTo, null)
      assert.equal(response?.inReplyTo, root?.id)
      assert.equal(response?.thread, threads[0]?.id)
      assert.equal(other?.thread, threads[1]?.id)
      assert.equal(root?.position, 3)
    })

    it('reads the reactions to a review, and its text after an edit if there is a timeline', () => {
      const [, approval] = store.records('pull_request_reviews')
      assert.deepEqual(
        approval?.reactions.map(({ author, content }) => `${content} ${author}`),
        ['heart bob'],
      )
      assert.equal(approval?.body, dialect === GITEA_1_15 ? 'fine' : 'fine, edited')
    })

    it('finds files of reviews and inline comments that no text links to, also when it reads again', async (t) => {
      const { forge, repository, ann } = fill(await startForge({ dialect }))
      t.after(() => forge.stop())
      const again = new MemoryDiscussionStore()
      const filesOf = async () => {
        await again.readAll(forgeDiscussions({ url: forge.url, token: 'admin-token' }), WIDGETS)
        return again.records('attachments').map(({ on, name }) => `${on.kind}: ${name}`)
      }
      const expected = [
        'issue: a shöt.png',
        'pull_request_review: of a review.txt',
        'pull_request_review_comment: of a line.txt',
      ]
      const isOld = dialect === GITEA_1_15
      assert.deepEqual(await filesOf(), isOld ? expected.slice(0, 1) : expected)
      const before = forge.requests.length
      forge.world.addComment(repository.issues.get(2)!, ann, 'changes the pull request')
      assert.deepEqual(await filesOf(), isOld ? expected.slice(0, 1) : expected)
      const listings = forge.requests.slice(before).filter(({ path }) => path.endsWith('/assets'))
      assert.deepEqual(listings, [])
    })

    it('reads labels, also of the organization, collaborators, milestones and protected branches', () => {
      const [repository] = store.records('repositories')
      assert.deepEqual(
        repository?.labels.map(({ name, exclusive }) => [name, exclusive]),
        [
          ['bug', dialect === GITEA_1_15 ? undefined : true],
          ['all over', undefined],
        ],
      )
      assert.deepEqual(store.groups.get('repository')?.losses, [
        {
          ...{ kind: 'organization_labels', count: 1 },
          examples: ['all over: becomes a label of the repository'],
        },
        { kind: 'team_permissions', count: 1, examples: ['Wiki Team'] },
      ])
      const permission = dialect === GITEA_1_15 ? 'write' : 'read'
      assert.deepEqual(repository?.collaborators, [{ login: 'bob', permission }])
      assert.equal(store.records('milestones')[0]?.title, 'v1')
      const [rule] = store.records('protected_branches')
      assert.equal(rule?.reviews.approvals, 2)
      assert.deepEqual(rule?.authorizedTeams, [{ organization: 'octo', slug: 'core-team' }])
      assert.deepEqual(store.groups.get('repository')?.teams, [
        { slug: 'owners', access: 'admin' },
        { slug: 'core-team', access: 'push' },
      ])
    })

    it('reads releases and drafts with the bytes of their assets', async () => {
      const releases = store.records('releases')
      assert.deepEqual(
        releases.map(({ tag, draft, publishedAt }) => [tag, draft, publishedAt === null]),
        [
          ['v2.0', true, true],
          ['v1.0', false, false],
        ],
      )
      const [file] = store.groups.get('releases')?.files ?? []
      assert.equal(releases[1]?.assets[0]?.file, file?.file)
      assert.ok(file)
      const bytes = await Array.fromAsync(discussions.open(file, signal))
      assert.equal(Buffer.concat(bytes).toString(), 'zip bytes')
    })

    it('finds attachments that are listed or linked', async () => {
      const [attachment] = store.records('attachments')
      assert.equal(attachment?.name, 'a shöt.png')
      assert.equal(attachment?.contentType, 'image/png')
      assert.deepEqual(attachment?.on, { kind: 'issue', number: 1 })
      const [file] = store.groups.get('issue/1')?.files ?? []
      assert.equal(file?.size, dialect === GITEA_1_15 ? null : 7)
      assert.ok(file)
      const bytes = await Array.fromAsync(discussions.open(file, signal))
      assert.equal(Buffer.concat(bytes).toString(), 'picture')
    })

    it('has a record of every person it names, without e-mail address', () => {
      assert.deepEqual(
        store
          .records('users')
          .map(({ login }) => login)
          .sort(),
        ['ann', 'bob', 'ghost'],
      )
      assert.doesNotMatch(JSON.stringify(store.snapshot()), /secret\.example/)
    })

    it('reads listed files even if the version should not list them', async (t) => {
      const early = { ...dialect, hasAssets: true, version: '1.18.0' }
      const { forge } = fill(await startForge({ dialect: early }))
      t.after(() => forge.stop())
      const other = new MemoryDiscussionStore()
      await other.readAll(forgeDiscussions({ url: forge.url, token: 'admin-token' }), WIDGETS)
      assert.equal(other.groups.get('issue/1')?.files[0]?.size, 7)
    })

    it('notes what this version does not provide', () => {
      const notes = readStateOf(store.cursor)?.notes.join('\n') ?? ''
      const isOld = dialect === GITEA_1_15
      assert.equal(/no timeline/.test(notes), isOld)
      assert.equal(/does not list attachments/.test(notes), isOld)
      const losses = [...store.groups.values()].flatMap((group) => group.losses ?? [])
      assert.match(
        JSON.stringify(losses.filter(({ kind }) => kind === 'pull_request_reviews')),
        /#\d+: a pending review, which only its author sees/,
      )
      const estimates = losses.filter(({ kind }) => kind === 'time_estimates')
      const example = { kind: 'time_estimates', count: 1, examples: ['#2: 5400 s'] }
      assert.deepEqual(estimates, isOld ? [] : [example])
    })

    it('returns an organization with its owners and teams, and a person', async () => {
      const { records } = await discussions.owner('octo', signal)
      assert.deepEqual(records.organizations?.[0]?.members, [
        { login: 'ann', role: 'admin', state: 'active' },
        { login: 'bob', role: 'direct_member', state: 'active' },
      ])
      assert.deepEqual(
        records.teams?.map(({ slug, members, units }) => [
          ...[slug, members.map(({ login }) => login), units],
        ]),
        [
          ['owners', ['ann'], undefined],
          ['core-team', ['bob'], ['repo.code', 'repo.issues']],
          ['wiki-team', ['bob'], ['repo.wiki']],
        ],
      )
      const person = await discussions.owner('ann', signal)
      assert.equal(person.records.users?.[0]?.name, 'Ann A.')
    })

    it('returns the same change token again, and another one after every kind of change', async () => {
      const changeToken = async () =>
        (await discussions.findChanges(WIDGETS, store, signal)).changeToken
      const known = readStateOf(store.cursor)?.changeToken
      assert.equal(await changeToken(), known)
      scene.repository.labels.push({ id: 9999, name: 'new', color: 'ffffff', description: '' })
      assert.notEqual(await changeToken(), known)
      scene.repository.labels.pop()
      assert.equal(await changeToken(), known)
    })
  })
