import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { readStateOf } from '../../packages/hosts/src/discussions.ts'
import { ForgeClient } from '../../packages/hosts/src/forge/client/forge-client.ts'
import { forgeDiscussions } from '../../packages/hosts/src/forge/discussions/forge-discussions.ts'
import {
  FileDamaged,
  FileTooLarge,
  HostRequestFailed,
  HostServerError,
  HostUnavailable,
} from '../../packages/hosts/src/host-errors.ts'
import { openFile } from '../../packages/hosts/src/http/open-file.ts'
import { type FakeForge, type Request, startForge } from '../support/forge/fake-forge.ts'
import { addManyIssues, LONG_AGO } from '../support/forge/many-issues.ts'
import { MemoryDiscussionStore } from '../support/forge/memory-discussion-store.ts'
import { type Dialect, GITEA_1_15, GITEA_1_22 } from '../support/forge/render.ts'
import { type ForgeResponse, NOT_FOUND, PROXY_NOT_FOUND } from '../support/forge/responses.ts'
import { freePort } from '../support/free-port.ts'

// The test runner has a timeout. Another one here would make the test depend on the speed of the machine.
const signal = new AbortController().signal

describe('a forge that misbehaves', () => {
  const forges: FakeForge[] = []
  afterEach(async () => {
    for (const forge of forges.splice(0)) await forge.stop()
  })

  /** Pages of 20 need fewer issues than pages of 50. */
  async function scene(count = 48, dialect: Dialect = GITEA_1_22) {
    const forge = await startForge({ dialect, maxPageSize: 20 })
    forges.push(forge)
    const many = addManyIssues(forge, count)
    const store = new MemoryDiscussionStore()
    const open = () => forgeDiscussions({ url: forge.url, token: 'admin-token', pauseMs: 1 })
    /** Returns the metadata without the misbehaviour. */
    const expected = async () => {
      forge.faultFor = () => undefined
      const other = new MemoryDiscussionStore()
      await other.readAll(open(), many.name)
      return other.snapshot()
    }
    return { forge, ...many, store, expected, open, read: () => store.readAll(open(), many.name) }
  }

  const isComplete = (store: MemoryDiscussionStore) =>
    readStateOf(store.cursor)?.isComplete === true

  it('that sends Retry-After is read later, and nothing is read twice', async () => {
    const { forge, store, read, expected } = await scene()
    forge.faultFor = ({ count }) =>
      count === 100
        ? { response: { status: 429, headers: { 'retry-after': '90' }, body: {} } }
        : undefined
    await assert.rejects(
      read(),
      (error) => error instanceof HostUnavailable && error.dueAt > Date.now(),
    )
    assert.equal(isComplete(store), false)
    const before = store.records('issues').length
    assert.ok(before > 0)
    await read()
    assert.equal(isComplete(store), true)
    assert.deepEqual(store.snapshot(), await expected())
  })

  it('that sometimes sends bad gateways and truncated bodies is read completely', async () => {
    const { forge, store, read, expected } = await scene()
    const seen = new Set<string>()
    forge.faultFor = ({ path, query, count }) => {
      const isFirst = !seen.has(`${path}${query}`)
      seen.add(`${path}${query}`)
      if (!isFirst) return undefined
      if (count % 5 === 3) return { response: { status: 502, body: {} } }
      return count % 5 === 1 ? { cut: true } : undefined
    }
    await read()
    assert.deepEqual(store.snapshot(), await expected())
  })

  for (const dialect of [GITEA_1_15, GITEA_1_22])
    it(`that sends neither Link nor a total is read to an empty page, ${dialect.version}`, async () => {
      const { forge, store, read, expected } = await scene(48, dialect)
      forge.faultFor = () => ({ without: ['link', 'x-total-count'] })
      await read()
      assert.equal(store.records('issues').length + store.records('pull_requests').length, 48)
      assert.deepEqual(store.snapshot(), await expected())
    })

  it('that sends smaller pages than requested is read completely', async () => {
    const { forge, store, read, expected } = await scene()
    const plain = forge.faultFor
    forge.faultFor = (request) => {
      if (request.path.endsWith('/settings/api')) return { response: { status: 404, body: {} } }
      request.query.set('limit', String(Math.min(7, Number(request.query.get('limit') ?? 7))))
      return plain(request)
    }
    await read()
    assert.deepEqual(store.snapshot(), await expected())
  })

  const isPage = ({ path, query }: Request, page: number) =>
    path.endsWith('/issues') && query.get('page') === String(page) && query.get('limit') !== '1'

  it('whose pages shift forward: issues opened meanwhile are read, and none twice', async () => {
    const { forge, store, read, expected, repository, ann } = await scene()
    forge.faultFor = (request) => {
      if (isPage(request, 2) && repository.issues.size === 48)
        for (let n = 0; n < 3; n++) forge.world.addIssue(repository, ann)
      return undefined
    }
    await read()
    assert.equal(repository.issues.size, 51)
    assert.deepEqual(store.snapshot(), await expected())
  })

  it('whose pages shift back: an issue that moves to an earlier page is read', async () => {
    const { forge, store, read, expected, repository } = await scene()
    forge.faultFor = (request) => {
      // Numbers 29 to 48 were on the first page.
      if (isPage(request, 2)) for (const number of [41, 45]) repository.issues.delete(number)
      return undefined
    }
    await read()
    assert.equal(repository.issues.size, 46)
    assert.deepEqual(store.snapshot(), await expected())
  })

  it('whose pages shift back while issues are opened', async () => {
    const { forge, store, read, expected, repository, ann } = await scene()
    forge.faultFor = (request) => {
      if (isPage(request, 2) && repository.issues.size === 48) forge.world.addIssue(repository, ann)
      if (isPage(request, 3)) repository.issues.delete(45)
      return undefined
    }
    await read()
    assert.deepEqual(store.snapshot(), await expected())
  })

  it('that deletes an issue between its listing and its reading', async () => {
    const { forge, store, read, expected, repository } = await scene()
    forge.faultFor = ({ path }) => {
      if (path.endsWith('/issues/40/timeline')) repository.issues.delete(40)
      return undefined
    }
    await read()
    assert.equal(store.groups.has('issue/40'), false)
    assert.deepEqual(store.snapshot(), await expected())
  })

  it('that always fails for one issue makes the reading fail, with the reason', async () => {
    const { forge, store, read } = await scene()
    forge.faultFor = ({ path }) =>
      path.endsWith('/issues/20/comments') ? { response: { status: 500, body: {} } } : undefined
    await assert.rejects(read(), (error) => {
      assert.ok(error instanceof HostServerError)
      return error.message.includes('/issues/20/comments failed with status 500')
    })
    assert.equal(isComplete(store), false)
  })

  it('that lacks the timeline of its version is read without it, with a note', async () => {
    const { forge, store, read } = await scene(30)
    forge.faultFor = ({ path }) =>
      path.endsWith('/timeline') ? { response: NOT_FOUND } : undefined
    await read()
    assert.equal(isComplete(store), true)
    assert.match(readStateOf(store.cursor)?.notes.join() ?? '', /has no timeline/)
  })

  it('that answers 404 for an existing part is unavailable, and nothing is lost', async () => {
    const { forge, store, read, open, name, expected, repository, ann } = await scene(10)
    const { world } = forge
    repository.labels.push({ id: world.id(), name: 'bug', color: '00aabb', description: '' })
    repository.collaborators.set(world.addUser('bob'), 'read')
    repository.issues.get(10)!.reactions.push({ user: ann, content: 'heart', created: LONG_AGO })
    const whole = await expected()
    // One endpoint of each kind.
    const parts = new Map(
      forge.requests
        .filter(({ path }) => !/\/(version|settings\/api|pulls)$/.test(path))
        .map(({ path }) => [path.replace(/\d+/g, 'N'), path]),
    )
    assert.ok(parts.size >= 15, [...parts.keys()].join())
    for (const part of parts.values()) {
      let left = 1
      forge.faultFor = ({ path }) =>
        path === part && left-- > 0 ? { response: PROXY_NOT_FOUND } : undefined
      const other = new MemoryDiscussionStore()
      await assert.rejects(other.readAll(open(), name), HostUnavailable, part)
      await other.readAll(open(), name)
      assert.deepEqual(other.snapshot(), whole, part)
    }
    // A 404 of the forge itself is not trusted either while the repository says that it has issues.
    forge.faultFor = ({ path }) => (path.endsWith('/issues') ? { response: NOT_FOUND } : undefined)
    await assert.rejects(read(), (error) => {
      assert.ok(error instanceof HostUnavailable)
      return /issues and pull requests of ann\/many are turned on/.test(error.message)
    })
    assert.equal(store.groups.size, 0)
  })

  const isList = ({ path, query }: Request) =>
    path.endsWith('/issues') && query.get('limit') !== '1'
  const halved = (issues: unknown[]) => issues.map((each, n) => (n % 2 ? null : each))
  const COUNTS = ['x-total-count', 'link']

  for (const [name, change, without] of [
    ['every second issue is null', halved, []],
    ['every second issue is null, without a count', halved, COUNTS],
    ['there are lists instead of issues', () => [[[[]]]], COUNTS],
  ] as const)
    it(`in whose listing ${name} is read issue by issue`, async () => {
      const { forge, store, read, expected } = await scene(24)
      const whole = await expected()
      forge.faultFor = (request) => {
        if (!isList(request)) return undefined
        const body = (given: unknown) =>
          Array.isArray(given) && given.length > 0 ? change(given) : given
        return { change: (given) => ({ ...given, body: body(given.body) }), without }
      }
      await read()
      assert.deepEqual(store.snapshot(), whole)
      assert.deepEqual(readStateOf(store.cursor)?.notes, [])
    })

  it('whose total is one although there are many issues is read completely', async () => {
    const { forge, store, read, expected } = await scene(32)
    const whole = await expected()
    forge.faultFor = (request) => {
      if (!request.path.endsWith('/issues')) return undefined
      request.query.set('limit', String(Math.min(5, Number(request.query.get('limit')))))
      return { change: ({ body }) => ({ body, headers: { 'x-total-count': '1' } }) }
    }
    await read()
    assert.deepEqual(store.snapshot(), whole)
  })

  const MISSING = 'missing: the forge lists or counts them but does not return them'

  it('whose total is too high is read, and the missing issues are counted', async () => {
    const { forge, store, read, expected } = await scene(24)
    const whole = await expected()
    forge.faultFor = (request) =>
      isList(request)
        ? { change: ({ body }) => ({ body, headers: { 'x-total-count': '27' } }) }
        : undefined
    await read()
    assert.deepEqual(store.snapshot(), whole)
    assert.deepEqual(readStateOf(store.cursor)?.notes, [`issues: 3 entries are ${MISSING}`])
  })

  it('that omits an entry of a list: a note names it until it is sent', async () => {
    const { forge, store, read, repository, ann } = await scene(6)
    const { world } = forge
    repository.labels.push({ id: world.id(), name: 'bug', color: '00aabb', description: '' })
    const issue = repository.issues.get(5)!
    const [comment] = issue.comments
    for (const content of ['heart', 'eyes'])
      comment!.reactions.push({ user: ann, content, created: LONG_AGO })
    const reactions = `issues/comments/${comment!.id}/reactions`
    const ofIssue = ['issues/5/comments', 'issues/5/timeline', reactions]
    const change = (given: ForgeResponse) => ({
      ...given,
      body: [null, ...(given.body as []).slice(1)],
    })
    for (const part of ['labels', ...ofIssue]) {
      const readAgain = async (hasNewComment = true) => {
        comment!.updated = world.clock()
        if (hasNewComment) world.addComment(issue, ann, part)
        await read()
        return readStateOf(store.cursor)?.notes.filter((each) => each.endsWith(MISSING))
      }
      forge.faultFor = ({ path }) => (path.endsWith(`/many/${part}`) ? { change } : undefined)
      const subject = ofIssue.includes(part) ? `issue 5: ${part}` : part
      assert.deepEqual(await readAgain(), [`${subject}: 1 entry is ${MISSING}`])
      assert.deepEqual(await readAgain(false), [`${subject}: 1 entry is ${MISSING}`], 'edited')
      forge.faultFor = () => undefined
      assert.deepEqual(await readAgain(), [])
    }
  })

  it('that sends null instead of a user', async () => {
    const { forge, store, read } = await scene(1)
    const nobody = { id: 5, body: 'left', user: null, created_at: '2020-01-01T00:00:00Z' }
    forge.faultFor = ({ path }) => {
      if (path.endsWith('/issues/1/timeline'))
        return { response: { body: [{ ...nobody, type: 'comment' }] } }
      return path.endsWith('/issues/1/comments') ? { response: { body: [nobody] } } : undefined
    }
    await read()
    assert.equal(store.records('issue_comments')[0]?.author, 'ghost')
    assert.ok(store.groups.has('user/ghost'))
  })

  it('that answers with a web page changes nothing, and the error says so', async () => {
    const { forge, store, open, name } = await scene(30)
    await store.readAll(open(), name)
    const before = store.snapshot()
    forge.faultFor = () => ({
      response: { headers: { 'content-type': 'text/html' }, bytes: Buffer.from('<html>') },
    })
    await assert.rejects(open().findChanges(name, store, signal), /a web page instead of JSON/)
    await assert.rejects(store.readAll(open(), name), HostRequestFailed)
    assert.deepEqual(store.snapshot(), before)
  })

  it('that answers with something other than a list is refused', async () => {
    const { forge, read } = await scene(30)
    forge.faultFor = ({ path }) =>
      path.endsWith('/labels') ? { response: { body: { message: 'hello' } } } : undefined
    await assert.rejects(read(), /did not return a list/)
    forge.faultFor = ({ path }) =>
      path.endsWith('/repos/ann/many') ? { response: { body: [] } } : undefined
    await assert.rejects(read(), /did not return a repository/)
  })

  it('that is not Gitea or Forgejo, too old, or unreachable', async () => {
    const { forge, read, name } = await scene(1)
    for (const [version, words] of [
      ['1.14.7', /1\.15 or later/],
      ['', /not a Gitea or Forgejo/],
    ] as const) {
      forge.faultFor = ({ path }) =>
        path.endsWith('/version') ? { response: { body: { version } } } : undefined
      await assert.rejects(read(), words)
    }
    const url = `http://127.0.0.1:${await freePort()}`
    const unreachable = forgeDiscussions({ url, token: 'x', pauseMs: 1 })
    await assert.rejects(
      unreachable.findChanges(name, new MemoryDiscussionStore(), signal),
      HostUnavailable,
    )
  })

  it('that truncates an attachment is requested again, and a wrong size is an error', async () => {
    const { forge, open, repository, ann } = await scene(1)
    const bytes = Buffer.alloc(300_000, 'x')
    const asset = forge.world.createAsset('big.bin', bytes)
    forge.world.addRelease(repository, ann, 'v1').assets.push(asset)
    const file = { file: 'x', source: `/attachments/${asset.uuid}`, size: bytes.length }
    let cuts = 2
    forge.faultFor = () => (cuts-- > 0 ? { cut: true } : undefined)
    const whole = Buffer.concat(await Array.fromAsync(open().open(file, signal)))
    assert.ok(whole.equals(bytes))
    await assert.rejects(
      Array.fromAsync(open().open({ ...file, size: 5 }, signal)),
      HostRequestFailed,
    )
    const longer = { ...file, size: bytes.length + 1 }
    await assert.rejects(Array.fromAsync(open().open(longer, signal)), HostRequestFailed)
    forge.faultFor = () => ({ cut: true })
    await assert.rejects(Array.fromAsync(open().open(file, signal)), HostUnavailable)
  })

  it('that sends a file byte by byte times out', async () => {
    const { forge } = await scene(1)
    const client = new ForgeClient({ url: forge.url, token: 'admin-token', pauseMs: 1 })
    forge.faultFor = ({ path }) => (path === '/attachments/1' ? { drip: true } : undefined)
    const file = { file: 'x', source: '/attachments/1', size: 300_000 }
    const download = Array.fromAsync(openFile(client, file, signal, { idleMs: 100 }))
    await assert.rejects(download, FileDamaged)
  })

  it('that sends a file without a size is stopped at the limit', async () => {
    const { forge, repository, ann } = await scene(1)
    const asset = forge.world.createAsset('big.bin', Buffer.alloc(300_000, 'x'))
    forge.world.addRelease(repository, ann, 'v1').assets.push(asset)
    const client = new ForgeClient({ url: forge.url, token: 'admin-token', pauseMs: 1 })
    const file = { file: 'x', source: `/attachments/${asset.uuid}`, size: null }
    const download = (maxUnlisted: number) =>
      Array.fromAsync(openFile(client, file, signal, { maxUnlisted }))
    for (const without of [[], ['content-length']]) {
      forge.faultFor = () => ({ without })
      assert.equal(Buffer.concat(await download(300_000)).length, 300_000)
      await assert.rejects(download(299_999), FileTooLarge)
    }
    const listed = { ...file, size: 300_000 }
    assert.ok(
      await Array.fromAsync(openFile(client, listed, signal, { maxUnlisted: 5 })),
      'the limit does not apply to a listed size',
    )
  })
})
