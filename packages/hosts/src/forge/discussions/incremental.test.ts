import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type FakeForge, startForge } from '../../../../../test/support/forge/fake-forge.ts'
import { addManyIssues } from '../../../../../test/support/forge/many-issues.ts'
import { MemoryDiscussionStore } from '../../../../../test/support/forge/memory-discussion-store.ts'
import { type Dialect, GITEA_1_15, GITEA_1_22 } from '../../../../../test/support/forge/render.ts'
import { NOT_FOUND } from '../../../../../test/support/forge/responses.ts'
import { type Discussions, readStateOf } from '../../discussions.ts'
import { cursorOf } from './find-changes.ts'
import { forgeDiscussions } from './forge-discussions.ts'

// The test runner has a timeout. Another one here would make the test depend on the speed of the machine.
const signal = new AbortController().signal

const KINDS = ['issues', 'pull_requests', 'issue_comments', 'issue_events', 'milestones'] as const

describe('reading again', () => {
  const forges: FakeForge[] = []
  afterEach(async () => {
    for (const forge of forges.splice(0)) await forge.stop()
  })

  type SceneOptions = { dialect?: Dialect; maxPageSize?: number }

  /** Starts a forge with many issues. With a small `maxPageSize`, few issues make several pages. */
  async function forgeWithIssues(count: number, how: SceneOptions = {}) {
    const forge = await startForge(how)
    forges.push(forge)
    const many = addManyIssues(forge, count)
    const open = () => forgeDiscussions({ url: forge.url, token: 'admin-token', pauseMs: 1 })
    /** Returns the records of a first reading of the forge in its current state. */
    const fresh = async () => {
      const other = new MemoryDiscussionStore()
      await other.readAll(open(), many.name)
      return other.snapshot()
    }
    return { forge, many, open, fresh }
  }

  /** Starts a forge with many issues and reads it once. */
  async function scene(count: number, how: SceneOptions = {}) {
    const { forge, many, open, fresh } = await forgeWithIssues(count, how)
    const store = new MemoryDiscussionStore()
    await store.readAll(open(), many.name)
    /** Reads the batches only if something changed, as an export does. Returns the number of requests. */
    const again = async (discussions: Discussions = open()) => {
      const before = forge.requests.length
      const changes = await discussions.findChanges(many.name, store, signal)
      if (changes.changeToken !== readStateOf(store.cursor)?.changeToken)
        await store.storeAll(changes)
      return forge.requests.length - before
    }
    return { forge, ...many, store, open, again, fresh, world: forge.world }
  }

  for (const [count, dialect] of [
    [60, GITEA_1_15],
    [80, GITEA_1_22],
  ] as const)
    it(`takes few requests if nothing changed in ${count} issues, and few more for a comment, on ${dialect.version}`, async (t) => {
      const made = await scene(count, { dialect, maxPageSize: 20 })
      const { again, open, repository, world, ann, store } = made
      // One process, which knows the version of the forge and its owners.
      const discussions = open()
      await again(discussions)
      const unchanged = await again(discussions)
      assert.ok(unchanged <= 12, `${unchanged} requests`)
      const issue = repository.issues.get(25)!
      const pull = repository.issues.get(30)! as ReturnType<typeof world.addPull>
      world.addLineComment(pull, world.addReview(pull, ann, 'COMMENT', 'see'), ann, 'a.txt', 1)
      await again(discussions)
      const after = async (change: () => void, most: number) => {
        change()
        const requests = (await again(discussions)) - unchanged
        assert.ok(requests <= most, `${requests} more requests`)
        return requests
      }
      const edit = (of: typeof issue) => () => {
        const comment = of.comments.find(({ type }) => type === 'comment')!
        Object.assign(comment, { body: `edited ${of.number}`, updated: world.clock() })
      }
      const more = [
        await after(edit(issue), 4),
        await after(edit(pull), 4),
        await after(() => world.addComment(issue, ann, 'a new one'), 5),
        await after(() => world.addComment(pull, ann, 'another'), 7),
      ]
      t.diagnostic(`unchanged ${unchanged}, with edited and new comments ${more.join(', ')} more`)
      const bodies = store.records('issue_comments').map(({ body }) => body)
      for (const body of ['edited 25', 'edited 30', 'a new one', 'another'])
        assert.ok(bodies.includes(body), body)
      assert.deepEqual(store.snapshot(), await made.fresh())
    })

  it('asks about owners and people once for all repositories of an export', async () => {
    const { forge, world, name, open, ann } = await scene(3)
    const octo = world.addUser('octo', { isOrganization: true })
    world.addTeam(octo, 'Owners', 'owner', [ann])
    const names = [name, ...['one', 'two'].map((each) => ({ owner: 'octo', name: each }))]
    for (const each of names.slice(1)) world.addIssue(world.addRepository(octo, each.name), ann)
    const stores = names.map(() => new MemoryDiscussionStore())
    const discussions = open()
    for (const [at, each] of names.entries()) await stores[at]!.readAll(discussions, each)
    const exportAll = async (since: number) => {
      const before = forge.requests.length
      const shared = discussions.sharing(since)
      for (const [at, each] of names.entries()) {
        await shared.findChanges(each, stores[at]!, signal)
        await shared.owner(each.owner, signal)
      }
      return forge.requests
        .slice(before)
        .map(({ path }) => path.replace('/api/v1', ''))
        .filter((path) => !path.startsWith('/repos/'))
        .sort()
    }
    const since = Date.now()
    const asked = await exportAll(since)
    const ofOcto = ['/orgs/octo', '/orgs/octo/labels', '/orgs/octo/members', '/orgs/octo/teams']
    const team = `/teams/${world.teams.get('octo')![0]!.id}/members`
    assert.deepEqual(asked, ['/admin/users', ...ofOcto, team, '/users/ann', '/users/octo'])
    // A second export that began at the same time shares all of these, and a later one none.
    assert.deepEqual(await exportAll(since), [])
    assert.deepEqual(await exportAll(Date.now() + 1), asked)
  })

  for (const dialect of [GITEA_1_15, GITEA_1_22])
    it(`follows people who were renamed or deleted, on ${dialect.version}`, async () => {
      const made = await scene(22, { dialect })
      const { again, open, repository, world, ann, store, fresh, forge } = made
      const [bob, cee] = [world.addUser('bob'), world.addUser('cee', { fullName: 'Cee' })]
      const { comments } = repository.issues.get(5)!
      for (const user of [bob, cee]) {
        world.addComment(repository.issues.get(7)!, user, `by ${user.login}`)
        comments[0]!.reactions.push({ user, content: 'heart', created: world.clock() })
      }
      // Otherwise the forge does not report the reactions.
      comments[0]!.updated = world.clock()
      repository.collaborators.set(cee, 'write')
      const discussions = open()
      await again(discussions)
      const unchanged = await again(discussions)
      const logins = () => store.records('users').map(({ login }) => login)
      const check = async (expected: string[], message: string) => {
        await again(discussions)
        assert.deepEqual(logins().sort(), expected, message)
        assert.deepEqual(store.snapshot(), await fresh(), message)
        assert.equal(await again(discussions), unchanged, `${message}: nothing is read twice`)
      }
      cee.fullName = 'Cee Sea'
      await check(['ann', 'bob', 'cee'], 'a profile is edited')
      world.rename(cee, 'sea')
      await check(['ann', 'bob', 'sea'], 'renamed')
      world.rename(bob, 'bobby')
      world.delete(bob)
      const failed = { response: { status: 500, body: { message: 'user does not exist' } } }
      forge.faultFor = ({ path }) => (path.endsWith('/users/bob') ? failed : undefined)
      await check(['ann', 'ghost', 'sea'], 'renamed and deleted')
      world.rename(cee, 'cee')
      const other = world.addUser('sea')
      world.addComment(repository.issues.get(9)!, other, 'by another person')
      await check(['ann', 'cee', 'ghost', 'sea'], 'the login belongs to another person')
      assert.equal(ann.login, 'ann')
    })

  it('takes only the requests of a listing if a comment was deleted', async () => {
    const { again, repository, store, fresh } = await scene(48, { maxPageSize: 20 })
    const issue = repository.issues.get(5)
    assert.ok(issue)
    issue.comments.shift()
    const requests = await again()
    assert.ok(requests < 40, `${requests} requests`)
    assert.deepEqual(store.snapshot(), await fresh())
  })

  for (const dialect of [GITEA_1_15, GITEA_1_22])
    it(`finds every change on ${dialect.version}`, async () => {
      const { again, repository, world, ann, store, fresh } = await scene(22, {
        dialect,
        maxPageSize: 12,
      })
      repository.labels.push({ id: world.id(), name: 'bug', color: '00aabb', description: '' })
      world.close(world.addIssue(repository, ann, { labels: [...repository.labels] }), ann)
      await again()
      const get = (number: number) => {
        const issue = repository.issues.get(number)
        assert.ok(issue)
        return issue
      }
      const changes: Record<string, () => void> = {
        'a comment is edited, which does not change the issue': () => {
          const comment = get(5).comments[0]
          assert.ok(comment)
          comment.body = 'edited'
          comment.updated = world.clock()
        },
        'a comment is deleted': () => void get(5).comments.shift(),
        'a comment is deleted and another added to another issue': () => {
          get(10).comments.shift()
          world.addComment(get(3), ann, 'new')
        },
        'an issue is deleted': () => void repository.issues.delete(20),
        'an issue is deleted and another opened': () => {
          repository.issues.delete(21)
          world.addIssue(repository, ann)
        },
        'an issue is closed': () => world.close(get(7), ann),
        'a label is renamed, which does not change its issues': () => {
          const label = repository.labels[0]
          assert.ok(label)
          label.name = 'renamed'
        },
        'a release is published': () => void world.addRelease(repository, ann, 'v9'),
        'a milestone is closed': () => {
          const now = world.clock()
          const plain = { title: 'm', description: '', due: null, created: now }
          repository.milestones.push({ id: world.id(), ...plain, closed: now })
        },
      }
      for (const [name, change] of Object.entries(changes)) {
        change()
        await again()
        assert.deepEqual(store.snapshot(), await fresh(), name)
      }
    })

  /** Adds a reviewed pull request. `changeUnreported` makes changes that no listing of the forge reports. */
  async function sceneWithReview(count: number, how: SceneOptions = {}) {
    const made = await scene(count, how)
    const { repository, world, ann, again } = made
    const pull = repository.issues.get(10) as ReturnType<typeof world.addPull>
    const review = world.addReview(pull, ann, 'COMMENT', 'see there')
    const [one, other] = [1, 5].map((line) =>
      world.addLineComment(pull, review, ann, 'a.txt', line),
    )
    await again()
    const changeUnreported = () => {
      one!.body = 'edited'
      one!.updated = world.clock()
      other!.code!.resolver = ann
      const reaction = { user: ann, content: 'heart', created: world.clock() }
      repository.issues.get(5)!.comments[0]!.reactions.push(reaction)
      repository.issues.get(7)!.reactions.push(reaction)
    }
    return { ...made, pull, one: one!, changeUnreported }
  }

  const DAY = 24 * 60 * 60

  for (const dialect of [GITEA_1_15, GITEA_1_22])
    it(`reads comments on lines with every change of the pull request, ${dialect.version}`, async () => {
      const { again, world, ann, pull, one, store, fresh } = await sceneWithReview(12, { dialect })
      one.body = 'edited'
      one.updated = world.clock()
      world.addComment(pull, ann, 'by the way')
      await again()
      assert.deepEqual(store.snapshot(), await fresh())
    })

  it('reads everything again after a week, and until then notes what may be missing', async () => {
    const { again, world, repository, ann, store, fresh, changeUnreported } =
      await sceneWithReview(12)
    const whole = cursorOf(store.cursor)?.fullyReadSince ?? 0
    changeUnreported()
    await again()
    assert.notDeepEqual(store.snapshot(), await fresh(), 'the forge does not report the changes')
    world.addIssue(repository, ann)
    await again()
    const { asOf, notes } = readStateOf(store.cursor)!
    assert.ok(asOf > whole)
    const note = `${new Date(whole).toISOString()} may be missing`
    assert.deepEqual(notes.filter((each) => each.endsWith(note)).length, 1, notes.join('; '))
    world.advanceClockPerRequest(world.clock() + 8 * DAY)
    await again()
    assert.deepEqual(store.snapshot(), await fresh())
    assert.doesNotMatch(readStateOf(store.cursor)!.notes.join(), /may be missing/)
  })

  it('reads nothing twice when an interrupted renewal continues', async () => {
    const { forge, world, name, open, store, fresh, changeUnreported } = await sceneWithReview(60, {
      maxPageSize: 12,
    })
    changeUnreported()
    world.advanceClockPerRequest(world.clock() + 8 * DAY)
    const before = forge.requests.length
    for (let runs = 1; ; runs++) {
      assert.ok(runs < 20, 'the renewal does not end')
      await store.readAll(open(), name, 2)
      if (readStateOf(store.cursor)?.isComplete) break
    }
    const timelines = forge.requests.slice(before).filter(({ path }) => path.endsWith('/timeline'))
    assert.equal(timelines.length, 60)
    assert.deepEqual(store.snapshot(), await fresh())
  })

  it('keeps issues that are turned off, with a note until they are turned on again', async () => {
    const { again, world, repository, ann, name, open, store, fresh } = await scene(22)
    const notes = () => readStateOf(store.cursor)?.notes.filter((each) => /turned off/.test(each))
    const records = () => KINDS.map((kind) => store.records(kind))
    const before = records()
    const { asOf } = readStateOf(store.cursor)!
    // This edit is not read before issues are turned off, so the reading after they are turned on must find it.
    const comment = repository.issues.get(5)!.comments[0]!
    Object.assign(comment, { body: 'edited', updated: world.clock() })
    repository.disabled = new Set(['issues', 'pulls'])
    for (let n = 0; n < 2; n++) {
      await again()
      assert.deepEqual(records(), before)
      assert.deepEqual(notes(), ['issues and pull requests are turned off on the forge'])
      assert.equal(readStateOf(store.cursor)?.asOf, asOf, 'the stored records are as old as before')
    }
    const other = new MemoryDiscussionStore()
    await other.readAll(open(), name)
    assert.match(readStateOf(other.cursor)!.notes.join(), /turned off/)
    repository.disabled.clear()
    world.addIssue(repository, ann)
    await again()
    assert.deepEqual(notes(), [])
    assert.deepEqual(store.snapshot(), await fresh())
  })

  for (const what of ['labels', 'milestones', 'releases'] as const)
    it(`keeps ${what} that are turned off, with a note`, async () => {
      const { again, forge, world, repository, ann, store } = await scene(1)
      const plain = { title: 'm', description: '', due: null, created: 1, closed: null }
      repository.milestones.push({ id: world.id(), ...plain })
      repository.labels.push({ id: world.id(), name: 'bug', color: '00aabb', description: '' })
      world.addRelease(repository, ann, 'v1').assets.push(world.createAsset('a.zip', 'zip'))
      await again()
      const records = () => [
        store.records('repositories')[0]?.labels,
        store.records('milestones'),
        store.records('releases'),
      ]
      const before = records()
      forge.faultFor = ({ path }) =>
        path.endsWith(`/many/${what}`) ? { response: NOT_FOUND } : undefined
      await assert.rejects(again(), /are turned on, but does not return them$/)
      repository.disabled = new Set(what === 'releases' ? [what] : ['issues', 'pulls'])
      await again()
      assert.deepEqual(records(), before)
      assert.match(readStateOf(store.cursor)!.notes.join(), new RegExp(`${what} are turned off`))
    })

  for (const dialect of [GITEA_1_15, GITEA_1_22])
    it(`leaves out issues or pull requests that are turned off, on ${dialect.version}`, async () => {
      const { again, fresh, repository, store } = await scene(12, { dialect })
      for (const [off, words, left] of [
        ['issues', 'issues', 'pull_requests'],
        ['pulls', 'pull requests', 'issues'],
      ] as const) {
        repository.disabled = new Set([off])
        await again()
        const notes = readStateOf(store.cursor)!.notes.filter((each) => /turned off/.test(each))
        assert.deepEqual(notes, [`${words} are turned off on the forge`])
        const counts = (['issues', 'pull_requests'] as const).map(
          (kind) => store.records(kind).length,
        )
        assert.deepEqual(
          counts.map((count) => count > 0),
          [left === 'issues', left === 'pull_requests'],
        )
        assert.deepEqual(store.snapshot(), await fresh())
      }
    })

  it('starts from the beginning for another repository of the same name', async () => {
    const { again, world, ann, store, fresh } = await scene(24, { maxPageSize: 12 })
    const other = world.addRepository(ann, 'many')
    world.addIssue(other, ann, { title: 'the only one' })
    await again()
    assert.deepEqual(
      store.records('issues').map(({ title }) => title),
      ['the only one'],
    )
    assert.deepEqual(store.snapshot(), await fresh())
  })

  it('returns the same records if it is interrupted, and loses one batch each time', async () => {
    const { many, forge, open, fresh } = await forgeWithIssues(100, { maxPageSize: 20 })
    const interrupted = new MemoryDiscussionStore()
    let [runs, done] = [0, false]
    const before = forge.requests.length
    while (!done) {
      const batches = await interrupted.readAll(open(), many.name, 2)
      done = readStateOf(interrupted.cursor)?.isComplete === true || batches < 2
      runs++
    }
    assert.ok(runs > 3, `${runs} runs`)
    const requests = forge.requests.length - before
    assert.deepEqual(interrupted.snapshot(), await fresh())
    // Each process lists all issues again, but reads no stored issue twice.
    const timelines = forge.requests
      .slice(before, before + requests)
      .filter(({ path }) => path.endsWith('/timeline'))
    assert.equal(timelines.length, 100)
  })

  it('reports its progress', async () => {
    const { many, open } = await forgeWithIssues(120)
    const store = new MemoryDiscussionStore()
    const progress: string[] = []
    const changes = await open().findChanges(many.name, store, signal)
    for await (const batch of changes.batches()) {
      store.store(batch)
      progress.push(`${batch.progress.read}/${batch.progress.total}`)
    }
    assert.deepEqual(progress, ['0/120', '50/120', '100/120', '120/120', '120/120'])
  })
})
