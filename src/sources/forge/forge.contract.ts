import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Target } from '../../../test/support/forge/forge-seeder.ts'
import { KeptInMemory } from '../../../test/support/forge/kept-in-memory.ts'
import { type SeededScene, seedForge } from '../../../test/support/forge/seeded-scene.ts'
import { readingOf } from '../discussions.ts'
import { ForgeNotFound, ForgeRefused } from '../forge-errors.ts'
import type { RepositoryName } from '../source.ts'
import { ForgeClient } from './client/forge-client.ts'
import { knownForgeCache } from './client/known-forge.ts'
import { forgeDiscussions } from './discussions/forge-discussions.ts'
import { forgeCatalogue } from './forge-repositories.ts'
import { readRights } from './read-rights.ts'

// What hangs is ended by the runner: a bound for the whole file would be one on the speed of the machine.
const signal = new AbortController().signal

export interface ContractTarget {
  /** Called once, before anything else. */
  start(): Promise<Target & { stop(): Promise<void> }>
  skip?: string | false
  /** Where its repositories lie on disk; undefined where that is not to be looked at. */
  repositories?: string | undefined
}

/**
 * What reading a forge rests on. It runs against the stand-in of the suite, so that this answers as a forge does, and against any
 * Gitea 1.15 or newer, or Forgejo. Everything it reads it has written before, through the API, and it removes that in the end.
 */
export function forgeContract(
  name: string,
  { start, skip = false, repositories }: ContractTarget,
): void {
  describe(`a forge: ${name}`, { skip }, () => {
    let target: Awaited<ReturnType<ContractTarget['start']>>
    let scene: SeededScene
    let kept: KeptInMemory
    let discussions: ReturnType<typeof forgeDiscussions>
    before(async () => {
      target = await start()
      scene = await seedForge(target)
      discussions = forgeDiscussions(target)
      kept = new KeptInMemory()
      await kept.readAll(discussions, scene.repository, Number.POSITIVE_INFINITY, signal)
    })
    after(async () => {
      await scene?.remove()
      await target?.stop()
    })

    const again = async () => {
      const stamp = await discussions.stamp(scene.repository, kept, signal)
      const isChanged = stamp !== readingOf(kept.cursor)?.stamp
      if (isChanged)
        await kept.readAll(discussions, scene.repository, Number.POSITIVE_INFINITY, signal)
      return isChanged
    }
    const hasTimeline = () =>
      !readingOf(kept.cursor)?.notes.some((note) => /no timeline/.test(note))
    const eventsOf = (number: number) =>
      kept.facts('issue_events').filter(({ on }) => on.number === number)

    it('gives all issues, however many pages they are', () => {
      const { issueCount } = scene
      assert.equal(kept.facts('issues').length + kept.facts('pull_requests').length, issueCount)
      assert.equal(kept.facts('pull_requests').length, 2)
    })

    it('gives an issue with label, milestone, assignee and reaction', () => {
      const issue = kept.facts('issues').find(({ number }) => number === scene.issue)
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
        kept.facts('milestones').find(({ number }) => number === scene.milestone.id)?.title,
        'v1',
      )
    })

    it('gives comments with reactions, and a ghost for whom is gone', () => {
      const comments = kept.facts('issue_comments').filter(({ on }) => on.number === scene.issue)
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

    it('gives events: closed, merged and closed, and where there is a timeline the rest', () => {
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

    it('gives pull requests, merged and open', () => {
      const pull = (number: number) =>
        kept.facts('pull_requests').find((each) => each.number === number)
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

    it('gives reviews of every state, with a thread for what was said of a line', () => {
      const reviews = kept
        .facts('pull_request_reviews')
        .filter(({ pull }) => pull === scene.mergedPull)
      assert.deepEqual(
        reviews.map(({ state, author, body }) => `${state} ${author} ${body}`).sort(),
        [
          `approved ${scene.bob} fine`,
          `commented ${scene.ann} by the way`,
          `dismissed ${scene.bob} not yet`,
        ],
      )
      const [thread, ...others] = kept.facts('pull_request_review_threads')
      const [comment] = kept.facts('pull_request_review_comments')
      assert.equal(others.length, 0)
      assert.equal(thread?.path, 'work-1.txt')
      assert.equal(thread?.line, 3)
      assert.equal(thread?.side, 'right')
      assert.match(thread?.diffHunk ?? '', /^@@/)
      assert.equal(comment?.body, 'why this line?')
      assert.equal(comment?.thread, thread?.id)
      assert.ok(reviews.some(({ id }) => id === comment?.review))
    })

    it('gives releases, a draft too, and the bytes of an asset', async () => {
      const releases = kept.facts('releases')
      const byTag = new Map(releases.map((release) => [release.tag, release]))
      assert.deepEqual([...byTag.keys()].sort(), ['v1.0', 'v2.0'])
      assert.equal(byTag.get('v2.0')?.draft, true)
      assert.equal(byTag.get('v1.0')?.prerelease, true)
      assert.equal(byTag.get('v1.0')?.assets[0]?.name, 'tool.txt')
      const [file] = kept.groups.get('releases')?.files ?? []
      assert.ok(file)
      const bytes = await Array.fromAsync(discussions.open(file, signal))
      assert.equal(Buffer.concat(bytes).toString(), 'bytes of a tool')
    })

    it('gives the bytes of an attachment of an issue', async (t) => {
      if (!scene.hasIssueFile)
        return t.skip('this version takes no files for issues through its API')
      const [file] = kept.groups.get(`issue/${scene.issue}`)?.files ?? []
      assert.ok(file)
      const bytes = await Array.fromAsync(discussions.open(file, signal))
      assert.equal(Buffer.concat(bytes).toString(), 'bytes of notes')
    })

    it('gives labels of repository and organization, the protected branch, teams', async () => {
      const labels = kept.facts('repositories')[0]?.labels.map(({ name }) => name) ?? []
      assert.ok(labels.includes('bug') && labels.includes('all over'), labels.join())
      const rule = kept.facts('protected_branches').find((each) => each.name === 'main')
      assert.equal(rule?.reviews.approvals, 1)
      assert.deepEqual(rule?.authorizedUsers, [scene.ann])
      const teams = kept.groups.get('repository')?.teams ?? []
      assert.ok(teams.some(({ slug, access }) => slug === 'core-team' && access === 'push'))
      const { facts } = await discussions.owner(scene.organization, signal)
      const roles = new Map(
        facts.organizations?.[0]?.members.map(({ login, role }) => [login, role]),
      )
      assert.equal(roles.get(scene.ann), 'admin')
      assert.equal(roles.get(scene.bob), 'direct_member')
      const core = facts.teams?.find(({ slug }) => slug === 'core-team')
      assert.deepEqual(
        core?.members.map(({ login }) => login),
        [scene.bob],
      )
    })

    it('gives a record of everyone it names', () => {
      const logins = new Set(kept.facts('users').map(({ login }) => login))
      const named = [
        ...kept.facts('issues'),
        ...kept.facts('issue_comments'),
        ...kept.facts('pull_requests'),
      ]
      for (const { author } of named) assert.ok(author && logins.has(author), `${author}`)
    })

    it('tells the same stamp while nothing changes, for few requests', async () => {
      const before = discussions.requests()
      assert.equal(await again(), false)
      assert.ok(discussions.requests() - before <= 45)
    })

    const changes: [string, () => Promise<unknown>, () => void][] = [
      [
        'a comment is written',
        () =>
          scene.seeder.call('POST', `${scene.path}/issues/${scene.closedIssue}/comments`, {
            body: { body: 'late' },
          }),
        () => assert.ok(kept.facts('issue_comments').some(({ body }) => body === 'late')),
      ],
      [
        'a comment is edited',
        () =>
          scene.seeder.call('PATCH', `${scene.path}/issues/comments/${scene.comment.id}`, {
            body: { body: 'edited' },
          }),
        () => assert.ok(kept.facts('issue_comments').some(({ body }) => body === 'edited')),
      ],
      [
        'a comment is deleted',
        () => scene.seeder.call('DELETE', `${scene.path}/issues/comments/${scene.comment.id}`),
        () => assert.ok(!kept.facts('issue_comments').some(({ body }) => body === 'edited')),
      ],
      [
        'an issue is opened',
        () => scene.seeder.call('POST', `${scene.path}/issues`, { body: { title: 'brand new' } }),
        () => assert.ok(kept.facts('issues').some(({ title }) => title === 'brand new')),
      ],
    ]
    for (const [what, change, check] of changes)
      it(`tells another stamp after ${what}, and reads it`, async () => {
        await change()
        assert.equal(await again(), true)
        check()
        assert.equal(await again(), false)
      })

    it('tells when an issue is deleted', async (t) => {
      const deleted = await scene.seeder.callIfKnown(
        'DELETE',
        `${scene.path}/issues/${scene.closedIssue}`,
      )
      if (!deleted) return t.skip('this version deletes no issues through its API')
      assert.equal(await again(), true)
      assert.equal(kept.groups.has(`issue/${scene.closedIssue}`), false)
    })

    it('comes to the same when it is read anew', async () => {
      const other = new KeptInMemory()
      await other.readAll(
        forgeDiscussions(target),
        scene.repository,
        Number.POSITIVE_INFINITY,
        signal,
      )
      const plain = (all: KeptInMemory) =>
        [...all.groups.values()]
          .filter(({ key }) => key.startsWith('issue/'))
          .map(({ key, facts }) => ({ key, facts }))
          .sort((a, b) => (a.key < b.key ? -1 : 1))
      assert.deepEqual(plain(kept), plain(other))
    })

    it('tells what a person may do, asked in their name: by a team, and no more when they left it', async () => {
      const { ann, bob, organization, team, seeder } = scene
      const client = new ForgeClient(target)
      const widgets = async (login: string) => {
        const known = { login, id: null }
        const { person, repositories, organizations } = await readRights(client, known, signal)
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
      assert.equal((await readRights(client, nobody, signal)).person, undefined)
      const { person } = await readRights(client, { login: bob, id: null }, signal)
      assert.deepEqual(
        (await readRights(client, { ...nobody, id: person!.id }, signal)).person,
        person,
      )
    })

    it('tells which repositories and organizations there are', async () => {
      const { organization, repository } = scene
      const catalogue = forgeCatalogue({
        getForge: knownForgeCache(new ForgeClient(target)),
        anonymous: new ForgeClient({ ...target, token: '' }),
        now: Date.now,
      })
      const isIt = ({ owner, name }: RepositoryName) =>
        owner === repository.owner && name === repository.name
      const listed = (await Array.fromAsync(catalogue.all(signal))).find(isIt)
      assert.deepEqual(listed, await catalogue.find(repository, signal))
      assert.equal(listed?.facts.archived, false)
      assert.deepEqual((await catalogue.ofOrganization(organization, signal)).map(isIt), [true])
      const found = await catalogue.organization(organization, signal)
      assert.equal(found?.login, organization)
      const all = await catalogue.organizations(signal)
      assert.deepEqual(
        all.find(({ id }) => id === found.id),
        found,
      )
      assert.equal(await catalogue.organization(`${organization}-none`, signal), undefined)
      assert.deepEqual(await catalogue.topics(repository, signal), scene.topics)
      assert.equal(typeof (await catalogue.isOpen(signal)), 'boolean')
      const nowhere = { owner: organization, name: 'no-such' }
      assert.equal(await catalogue.find(nowhere, signal), undefined)
    })

    it('tells a new organization from a deleted one that had its login', async () => {
      const { ann, seeder } = scene
      const catalogue = forgeCatalogue({
        getForge: knownForgeCache(new ForgeClient(target)),
        anonymous: new ForgeClient({ ...target, token: '' }),
        now: Date.now,
      })
      const login = `${scene.organization}-twice`
      const find = () => catalogue.organization(login, signal)
      const make = () =>
        seeder.call('POST', `/admin/users/${ann}/orgs`, { body: { username: login } })
      await make()
      const first = await find()
      await seeder.call('DELETE', `/orgs/${login}`)
      assert.equal(await find(), undefined)
      await make()
      const { organizations } = await readRights(
        new ForgeClient(target),
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
        const asked = ['--git-dir', directory, 'rev-parse', '--verify', ref]
        const { stdout } = await promisify(execFile)('git', asked)
        const pull = kept.facts('pull_requests').find(({ number }) => number === scene.mergedPull)
        assert.equal(stdout.trim(), pull?.head.sha)
      })

    it('refuses a token that is none, and a repository that is not there', async () => {
      const anonymous = forgeDiscussions({ ...target, token: 'f'.repeat(40) })
      await assert.rejects(
        anonymous.stamp(scene.repository, new KeptInMemory(), signal),
        ForgeRefused,
      )
      const nowhere = { owner: scene.organization, name: 'no-such' }
      await assert.rejects(discussions.stamp(nowhere, new KeptInMemory(), signal), ForgeNotFound)
    })
  })
}
