import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import type { Target } from '../../../../test/support/forge/forge-seeder.ts'
import { MemoryDiscussionStore } from '../../../../test/support/forge/memory-discussion-store.ts'
import { FORGEJO_11, GITEA_1_15 } from '../../../../test/support/forge/render.ts'
import { type SeededScene, seedForge } from '../../../../test/support/forge/seeded-scene.ts'
import { type Discussions, readStateOf } from '../discussions.ts'
import { HostNotFound, HostRequestFailed } from '../host-errors.ts'
import type { RequestBudget } from '../http/http-client.ts'
import type { RepositoryName } from '../source.ts'
import { ForgeClient } from './client/forge-client.ts'
import { knownForgeCache } from './client/known-forge.ts'
import { forgeDiscussions } from './discussions/forge-discussions.ts'
import { createForgeRepositories } from './forge-repositories.ts'
import { readPermissions } from './read-permissions.ts'

// The test runner has a timeout. Another one here would make the test depend on the speed of the machine.
const signal = new AbortController().signal

interface ContractTarget {
  /** Called once, before the tests. */
  start(): Promise<Target & { stop(): Promise<void> }>
  skip?: string | false
  /** The directory of its repositories; undefined if it is not on this machine. */
  repositories?: string | undefined
}

/**
 * Tests what the reader expects of a forge, against the fake forge of the test suite and against a real Gitea since 1.15 or Forgejo. It
 * creates everything through the API and removes it afterwards.
 */
function forgeContract(name: string, { start, skip = false, repositories }: ContractTarget): void {
  describe(`a forge: ${name}`, { skip }, () => {
    let target: Awaited<ReturnType<ContractTarget['start']>>
    let scene: SeededScene
    let store: MemoryDiscussionStore
    let discussions: Discussions
    let requests = 0
    before(async () => {
      target = await start()
      scene = await seedForge(target)
      const budget: RequestBudget = {
        async take() {
          requests++
        },
        async holdUntil() {},
      }
      discussions = forgeDiscussions({ ...target, budget })
      store = new MemoryDiscussionStore()
      await store.readAll(discussions, scene.repository, Number.POSITIVE_INFINITY, signal)
    })
    after(async () => {
      await scene?.remove()
      await target?.stop()
    })

    /** Reads the batches only if something changed, as an export does. Returns whether something changed. */
    const readAgain = async () => {
      const changes = await discussions.findChanges(scene.repository, store, signal)
      const isChanged = changes.changeToken !== readStateOf(store.cursor)?.changeToken
      if (isChanged) await store.storeAll(changes)
      return isChanged
    }
    const hasTimeline = () =>
      !readStateOf(store.cursor)?.notes.some((note) => /no timeline/.test(note))
    const eventsOf = (number: number) =>
      store.records('issue_events').filter(({ on }) => on.number === number)

    it('returns all issues of several pages', () => {
      const { issueCount } = scene
      assert.equal(
        store.records('issues').length + store.records('pull_requests').length,
        issueCount,
      )
      assert.equal(store.records('pull_requests').length, 2)
    })

    it('returns an issue with label, milestone, assignee and reaction', () => {
      const issue = store.records('issues').find(({ number }) => number === scene.issue)
      assert.ok(issue)
      assert.equal(issue.title, 'second title')
      assert.equal(issue.body, 'text')
      assert.equal(issue.author, scene.ann)
      assert.deepEqual(issue.labels, ['bug'])
      assert.deepEqual(issue.assignees, [scene.bob])
      assert.equal(issue.milestone, scene.milestone.id)
      assert.equal(issue.closedAt, null)
      assert.deepEqual(
        issue.reactions.map(({ author, content }) => [author, content]),
        [[scene.bob, '+1']],
      )
      assert.equal(
        store.records('milestones').find(({ number }) => number === scene.milestone.id)?.title,
        'v1',
      )
    })

    it('returns comments with reactions, and a ghost for a deleted account', () => {
      const comments = store.records('issue_comments').filter(({ on }) => on.number === scene.issue)
      assert.deepEqual(
        comments.map(({ author, body, reactions }) => [
          author,
          body,
          reactions.map(({ content }) => content),
        ]),
        [
          [scene.bob, 'me too', ['heart']],
          ['ghost', 'good bye', []],
        ],
      )
    })

    it('returns closed and merged events, and all others if there is a timeline', () => {
      const names = (number: number) => eventsOf(number).map(({ event }) => event)
      assert.ok(names(scene.closedIssue).includes('closed'))
      const ofMerge = names(scene.mergedPull)
      assert.ok(ofMerge.includes('merged') && ofMerge.includes('closed'), ofMerge.join())
      const merged = eventsOf(scene.mergedPull).find(({ event }) => event === 'merged')
      assert.equal(merged?.actor, scene.ann)
      assert.match(merged?.commit ?? '', /^[0-9a-f]{40}/)
      if (!hasTimeline()) return
      const closed = eventsOf(scene.closedIssue).find(({ event }) => event === 'closed')
      assert.equal(closed?.actor, scene.ann)
      const labeled = eventsOf(scene.issue).find(({ event }) => event === 'labeled')
      assert.equal(labeled?.label?.name, 'bug')
      const renamed = eventsOf(scene.issue).find(({ event }) => event === 'renamed')
      assert.deepEqual(renamed?.renamed, { from: 'first title', to: 'second title' })
    })

    it('returns merged and open pull requests', () => {
      const pull = (number: number) =>
        store.records('pull_requests').find((each) => each.number === number)
      const merged = pull(scene.mergedPull)
      assert.ok(merged?.mergedAt && merged.closedAt)
      assert.match(merged.mergeCommit ?? '', /^[0-9a-f]{40}/)
      assert.equal(merged.base.ref, 'main')
      assert.match(merged.head.sha, /^[0-9a-f]{40}/)
      const open = pull(scene.openPull)
      assert.equal(open?.mergedAt, null)
      assert.equal(open?.draft, true)
      assert.equal(open?.head.ref, 'work-2')
      assert.deepEqual(
        open?.reviewRequests.map(({ reviewer }) => reviewer),
        [{ kind: 'user', login: scene.bob }],
      )
    })

    it('returns reviews of every state, with a thread for comments on a line', () => {
      const reviews = store
        .records('pull_request_reviews')
        .filter(({ pull }) => pull === scene.mergedPull)
      assert.deepEqual(
        reviews.map(({ state, author, body }) => `${state} ${author} ${body}`).sort(),
        [
          `approved ${scene.bob} fine`,
          `commented ${scene.ann} by the way`,
          `dismissed ${scene.bob} not yet`,
        ],
      )
      const [thread, ...others] = store.records('pull_request_review_threads')
      const [comment] = store.records('pull_request_review_comments')
      assert.equal(others.length, 0)
      assert.equal(thread?.path, 'work-1.txt')
      assert.equal(thread?.line, 3)
      assert.equal(thread?.side, 'right')
      assert.match(thread?.diffHunk ?? '', /^@@/)
      assert.equal(comment?.body, 'why this line?')
      assert.equal(comment?.thread, thread?.id)
      assert.ok(reviews.some(({ id }) => id === comment?.review))
    })

    it('returns releases, also a draft, and the bytes of an asset', async () => {
      const releases = store.records('releases')
      const byTag = new Map(releases.map((release) => [release.tag, release]))
      assert.deepEqual([...byTag.keys()].sort(), ['v1.0', 'v2.0'])
      assert.equal(byTag.get('v2.0')?.draft, true)
      assert.equal(byTag.get('v1.0')?.prerelease, true)
      assert.equal(byTag.get('v1.0')?.assets[0]?.name, 'tool.txt')
      const [file] = store.groups.get('releases')?.files ?? []
      assert.ok(file)
      const bytes = await Array.fromAsync(discussions.open(file, signal))
      assert.equal(Buffer.concat(bytes).toString(), 'bytes of a tool')
    })

    it('returns the bytes of an attachment of an issue', async (t) => {
      if (!scene.hasIssueFile)
        return t.skip('the API of this version does not accept files for issues')
      const [file] = store.groups.get(`issue/${scene.issue}`)?.files ?? []
      assert.ok(file)
      const bytes = await Array.fromAsync(discussions.open(file, signal))
      assert.equal(Buffer.concat(bytes).toString(), 'bytes of notes')
    })

    it('returns labels of repository and organization, the protected branch and teams', async () => {
      const labels = store.records('repositories')[0]?.labels.map(({ name }) => name) ?? []
      assert.ok(labels.includes('bug') && labels.includes('all over'), labels.join())
      const rule = store.records('protected_branches').find((each) => each.name === 'main')
      assert.equal(rule?.reviews.approvals, 1)
      assert.deepEqual(rule?.authorizedUsers, [scene.ann])
      const teams = store.groups.get('repository')?.teams ?? []
      assert.ok(teams.some(({ slug, access }) => slug === 'core-team' && access === 'push'))
      const { records } = await discussions.owner(scene.organization, signal)
      const roles = new Map(
        records.organizations?.[0]?.members.map(({ login, role }) => [login, role]),
      )
      assert.equal(roles.get(scene.ann), 'admin')
      assert.equal(roles.get(scene.bob), 'direct_member')
      const core = records.teams?.find(({ slug }) => slug === 'core-team')
      assert.deepEqual(
        core?.members.map(({ login }) => login),
        [scene.bob],
      )
    })

    it('returns a record of every person that the records refer to', () => {
      const logins = new Set(store.records('users').map(({ login }) => login))
      const named = [
        ...store.records('issues'),
        ...store.records('issue_comments'),
        ...store.records('pull_requests'),
      ]
      for (const { author } of named) assert.ok(author && logins.has(author), `${author}`)
    })

    it('returns the same change token while nothing changes, with few requests', async () => {
      const before = requests
      assert.equal(await readAgain(), false)
      assert.ok(requests - before <= 45)
    })

    const changes: [string, () => Promise<unknown>, () => void][] = [
      [
        'a comment is written',
        () =>
          scene.seeder.call('POST', `${scene.path}/issues/${scene.closedIssue}/comments`, {
            body: { body: 'late' },
          }),
        () => assert.ok(store.records('issue_comments').some(({ body }) => body === 'late')),
      ],
      [
        'a comment is edited',
        () =>
          scene.seeder.call('PATCH', `${scene.path}/issues/comments/${scene.comment.id}`, {
            body: { body: 'edited' },
          }),
        () => assert.ok(store.records('issue_comments').some(({ body }) => body === 'edited')),
      ],
      [
        'a comment is deleted',
        () => scene.seeder.call('DELETE', `${scene.path}/issues/comments/${scene.comment.id}`),
        () => assert.ok(!store.records('issue_comments').some(({ body }) => body === 'edited')),
      ],
      [
        'an issue is opened',
        () => scene.seeder.call('POST', `${scene.path}/issues`, { body: { title: 'brand new' } }),
        () => assert.ok(store.records('issues').some(({ title }) => title === 'brand new')),
      ],
    ]
    for (const [what, change, check] of changes)
      it(`returns another change token after ${what}, and reads the change`, async () => {
        await change()
        assert.equal(await readAgain(), true)
        check()
        assert.equal(await readAgain(), false)
      })

    it('notices that an issue was deleted', async (t) => {
      const deleted = await scene.seeder.callIfKnown(
        'DELETE',
        `${scene.path}/issues/${scene.closedIssue}`,
      )
      if (!deleted) return t.skip('the API of this version cannot delete issues')
      assert.equal(await readAgain(), true)
      assert.equal(store.groups.has(`issue/${scene.closedIssue}`), false)
    })

    it('returns the same records when everything is read again', async () => {
      const other = new MemoryDiscussionStore()
      await other.readAll(
        forgeDiscussions(target),
        scene.repository,
        Number.POSITIVE_INFINITY,
        signal,
      )
      const plain = (all: MemoryDiscussionStore) =>
        [...all.groups.values()]
          .filter(({ key }) => key.startsWith('issue/'))
          .map(({ key, records }) => ({ key, records }))
          .sort((a, b) => (a.key < b.key ? -1 : 1))
      assert.deepEqual(plain(store), plain(other))
    })

    it('returns the permissions of a member of a team, until they leave it', async () => {
      const { ann, bob, organization, team, seeder } = scene
      const forge = await knownForgeCache(new ForgeClient(target))(signal)
      const widgets = async (login: string) => {
        const known = { login, id: null }
        const { person, repositories, organizations } = await readPermissions(forge, known, signal)
        const found = repositories.find(({ owner }) => owner === organization)
        const role = organizations.find((each) => each.login === organization)?.role
        return [person?.login, found?.name, found?.permission, role]
      }
      assert.deepEqual(await widgets(ann), [ann, 'widgets', 'admin', 'owner'])
      assert.deepEqual(await widgets(bob), [bob, 'widgets', 'write', 'member'])
      await seeder.call('DELETE', `/teams/${team.id}/members/${bob}`, { as: ann })
      const [, , permission, role] = await widgets(bob)
      assert.ok(permission === undefined || permission === 'read', String(permission))
      assert.equal(role, undefined)
      const nobody = { login: `${bob}-nobody`, id: null }
      assert.equal((await readPermissions(forge, nobody, signal)).person, undefined)
      const { person } = await readPermissions(forge, { login: bob, id: null }, signal)
      assert.deepEqual(
        (await readPermissions(forge, { ...nobody, id: person!.id }, signal)).person,
        person,
      )
    })

    it('lists repositories and organizations', async () => {
      const { organization, repository } = scene
      const forgeRepositories = createForgeRepositories({
        getForge: knownForgeCache(new ForgeClient(target)),
        anonymous: new ForgeClient({ ...target, token: '' }),
        now: Date.now,
      })
      const isSeeded = ({ owner, name }: RepositoryName) =>
        owner === repository.owner && name === repository.name
      const listed = (await Array.fromAsync(forgeRepositories.all(signal))).find(isSeeded)
      assert.deepEqual(listed, await forgeRepositories.find(repository, signal))
      assert.equal(listed?.metadata.archived, false)
      assert.deepEqual(
        (await forgeRepositories.ofOrganization(organization, signal)).map(isSeeded),
        [true],
      )
      const found = await forgeRepositories.organization(organization, signal)
      assert.equal(found?.login, organization)
      const all = await forgeRepositories.organizations(signal)
      assert.deepEqual(
        all.find(({ id }) => id === found.id),
        found,
      )
      assert.equal(await forgeRepositories.organization(`${organization}-none`, signal), undefined)
      assert.deepEqual(await forgeRepositories.topics(repository, signal), scene.topics)
      assert.equal(typeof (await forgeRepositories.isOpen(signal)), 'boolean')
      const unknown = { owner: organization, name: 'no-such' }
      assert.equal(await forgeRepositories.find(unknown, signal), undefined)
    })

    it('distinguishes a new organization from a deleted one with the same login', async () => {
      const { ann, seeder } = scene
      const forgeRepositories = createForgeRepositories({
        getForge: knownForgeCache(new ForgeClient(target)),
        anonymous: new ForgeClient({ ...target, token: '' }),
        now: Date.now,
      })
      const login = `${scene.organization}-twice`
      const find = () => forgeRepositories.organization(login, signal)
      const create = () =>
        seeder.call('POST', `/admin/users/${ann}/orgs`, { body: { username: login } })
      await create()
      const first = await find()
      await seeder.call('DELETE', `/orgs/${login}`)
      assert.equal(await find(), undefined)
      await create()
      const { organizations } = await readPermissions(
        await knownForgeCache(new ForgeClient(target))(signal),
        { login: ann, id: null },
        signal,
      )
      const second = await find()
      await seeder.call('DELETE', `/orgs/${login}`)
      assert.ok(first && second && first.id !== second.id)
      assert.deepEqual(
        organizations.find((each) => each.login === login),
        { ...second, role: 'owner' },
      )
    })

    if (repositories !== undefined)
      it('has its repositories on disk, with the commits of pull requests', async () => {
        const { owner, name } = scene.repository
        const directory = join(repositories, owner.toLowerCase(), `${name.toLowerCase()}.git`)
        const ref = `refs/pull/${scene.mergedPull}/head`
        const args = ['--git-dir', directory, 'rev-parse', '--verify', ref]
        const { stdout } = await promisify(execFile)('git', args)
        const pull = store
          .records('pull_requests')
          .find(({ number }) => number === scene.mergedPull)
        assert.equal(stdout.trim(), pull?.head.sha)
      })

    it('rejects for an invalid token and for an unknown repository', async () => {
      const anonymous = forgeDiscussions({ ...target, token: 'f'.repeat(40) })
      await assert.rejects(
        anonymous.findChanges(scene.repository, new MemoryDiscussionStore(), signal),
        HostRequestFailed,
      )
      const unknown = { owner: scene.organization, name: 'no-such' }
      await assert.rejects(
        discussions.findChanges(unknown, new MemoryDiscussionStore(), signal),
        HostNotFound,
      )
    })
  })
}

for (const dialect of [GITEA_1_15, FORGEJO_11])
  forgeContract(`fake forge ${dialect.version}`, {
    start: async () => {
      const { url, stop, world } = await startForge({ dialect })
      world.advanceClockPerRequest()
      return { url, token: 'admin-token', stop }
    },
  })

const { GODWIT_TEST_FORGE_URL: url, GODWIT_TEST_FORGE_TOKEN: token } = process.env
const { GODWIT_TEST_FORGE_REPOSITORIES: repositories } = process.env
const hasRealForge = Boolean(url && token)

forgeContract('a real forge', {
  skip: !hasRealForge && 'GODWIT_TEST_FORGE_URL and GODWIT_TEST_FORGE_TOKEN are not set',
  repositories,
  start: async () => ({ url: String(url), token: String(token), stop: async () => {} }),
})
