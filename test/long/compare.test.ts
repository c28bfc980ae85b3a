import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { commandLine } from '../support/command-line.ts'
import { type FakeForge, startForge } from '../support/forge/fake-forge.ts'
import { fillForge, tokenOf } from '../support/forge/filled-forge.ts'
import type { Issue, Pull } from '../support/forge/forge-data.ts'
import { recordsOfForge } from '../support/forge/records-of-forge.ts'
import { GITEA_1_22 } from '../support/forge/render.ts'
import type { ForgeResponse } from '../support/forge/responses.ts'
import { gitHost } from '../support/git-host.ts'
import {
  addLfsObject,
  DISCUSSED_FILES,
  discussedRecords,
  makeDiscussedRepositories,
  type RecordLists,
  writeUnpackedArchive,
} from '../support/gitea-archive.ts'
import { REAL_ARCHIVE } from '../support/real-archive.ts'
import { RECORDED_GITHUB, recordedPath } from '../support/real-records.ts'

type Counts = Record<'equal' | 'changed' | 'missing' | 'extra' | 'known', number>

interface Result {
  complete: boolean
  totals: Counts
  known: Record<string, number>
  repositories: {
    left: string
    failure?: string
    kinds: Record<string, Counts>
    differences: { kind: string; name: string; outcome: string; fields: { field: string }[] }[]
  }[]
}

const resultOf = ({ stdout }: { stdout: Buffer }) => JSON.parse(stdout.toString()) as Result

/** Returns each unexpected difference as `outcome kind name: field, field`. */
const unexpectedIn = ({ repositories }: Result): string[] =>
  repositories
    .flatMap(({ differences }) => differences)
    .filter(({ outcome }) => outcome !== 'known')
    .map(({ kind, name, outcome, fields }) => {
      const names = fields.map(({ field }) => field).join(', ')
      const shown = name.replace(/^[0-9a-f]{40} /, 'COMMIT ')
      return `${outcome} ${kind} ${shown}${names && `: ${names}`}`
    })
    .sort()

/** Writes an archive, and another one after `change` was made to its metadata, files and git data. */
async function twoArchives(
  t: TestContext,
  change: (
    records: RecordLists,
    files: Record<string, string>,
    root: string,
  ) => Promise<void> | void,
) {
  const host = await gitHost()
  t.after(() => host.remove())
  const line = await commandLine(t)
  const records = discussedRecords(await makeDiscussedRepositories(host))
  records.protected_branches = [{ ...PROTECTION, name: 'main' }]
  const oid = await addLfsObject(host.path('alice/site'))
  const first = await writeUnpackedArchive(join(line.folder, 'a'), host, records, DISCUSSED_FILES)
  const changed = structuredClone(records)
  const files: Record<string, string> = { ...DISCUSSED_FILES }
  const root = join(line.folder, 'changed')
  await cp(host.root, root, { recursive: true })
  await change(changed, files, root)
  const second = await writeUnpackedArchive(join(line.folder, 'b'), { root }, changed, files)
  return { ...line, first, second, oid, host }
}

const PROTECTION = {
  ...{ repository: 'alice/site', creator: null, adminEnforced: true, allowsForcePushes: false },
  ...{ allowsDeletions: false, authorizedActorsOnly: false, authorizedUsers: [] },
  ...{ authorizedTeams: [], requiresSignatures: false, requiresLinearHistory: false },
  reviews: {
    ...{ enforcement: 'off' as const, required: false, approvals: 0, dismissStaleOnPush: false },
    ...{ byCodeOwners: false, restrictsDismissals: false, dismissalUsers: [], dismissalTeams: [] },
  },
  statusChecks: { enforcement: 'off' as const, required: false, strict: false, contexts: [] },
}

const LFS_REASON = 'restore-repo does not read LFS objects; godwit finish does'

describe('godwit compare', () => {
  test('an archive equals itself, and every planted difference of another one is found', async (t) => {
    const { godwit, first, second, oid, folder, leftovers } = await twoArchives(
      t,
      async (records, files, root) => {
        const git = (dir: string, ...args: string[]) =>
          execFileSync('git', ['--git-dir', join(root, dir), ...args], { encoding: 'utf8' }).trim()
        const repository = records.repositories![0]!
        Object.assign(repository, { description: 'Hers', topics: [], private: true })
        Object.assign(repository.labels[0]!, { color: '000000' })
        Object.assign(records.milestones![0]!, { state: 'open', dueOn: null })
        Object.assign(records.issues![0]!, { title: 'Other', labels: [], closedAt: null })
        records.issues![0]!.reactions = records.issues![0]!.reactions.slice(1)
        Object.assign(records.issue_comments![1]!, { body: '<script>alert(1)</script>' })
        records.issue_comments!.splice(2, 1)
        records.issue_events!.splice(0, 1)
        Object.assign(records.pull_requests![1]!, { mergedAt: '2021-03-08T12:00:00Z' })
        // Another commit for #5: its head and its diff change.
        const pull = records.pull_requests![2]!
        const head = git('alice/site.git', 'rev-parse', 'refs/pull/4/head')
        Object.assign(pull, { head: { ...pull.head, sha: head }, title: 'Now' })
        Object.assign(records.pull_request_reviews![2]!, { state: 'commented' })
        Object.assign(records.pull_request_review_comments![1]!, { author: 'mallory' })
        Object.assign(records.pull_request_review_threads![0]!, {
          ...{ line: 1, resolver: 'bob', resolvedAt: '2021-03-09T12:00:00Z' },
        })
        records.commit_comments = []
        Object.assign(records.releases![1]!, { prerelease: true })
        records.releases!.splice(2, 1)
        Object.assign(records.protected_branches![0]!, { allowsForcePushes: true })
        Object.assign(files, {
          'release_assets/u1/a b.txt': 'an Asset',
          'attachments/u2/shot.txt': 'another picture',
        })
        git('alice/site.git', 'update-ref', 'refs/heads/own', 'refs/heads/main')
        git('alice/site.git', 'update-ref', 'refs/heads/new', 'refs/heads/main')
        git('alice/site.git', 'update-ref', '-d', 'refs/tags/v1')
        git('alice/site.git', 'update-ref', '-d', 'refs/pull/4/head')
        git('alice/site.wiki.git', 'update-ref', 'refs/heads/draft', 'HEAD')
        await rm(join(root, 'alice/site.git/lfs'), { recursive: true })
        await rm(join(root, 'corp/quiet.git'), { recursive: true })
      },
    )
    const same = await godwit(['compare', first, first, '--json'])
    assert.equal(same.code, 0, same.output)
    const { totals } = resultOf(same)
    assert.equal(totals.equal > 30, true, same.output)
    assert.deepEqual(
      { ...totals, equal: 0 },
      { equal: 0, changed: 0, missing: 0, extra: 0, known: 0 },
    )

    const page = join(folder, 'report.html')
    const other = await godwit(['compare', first, second, '--json', '--html', page])
    assert.equal(other.code, 1, other.output)
    const result = resultOf(other)
    assert.equal(result.complete, false)
    assert.deepEqual(unexpectedIn(result), [
      'changed branches own: object',
      'changed issue_comments #1 at 2021-03-06T12:00:00Z: body',
      'changed issues #1: title, state, locked, labels, reactions, closed',
      'changed labels bug: color',
      'changed milestones one: state, due',
      'changed protected_branches main: force pushes',
      'changed pull_request_review_comments #3 at 2021-03-05T12:00:00Z: line, resolved',
      'changed pull_request_review_comments #3 at 2021-03-05T12:00:00Z: line, resolved',
      'changed pull_request_review_comments #3 at 2021-03-05T14:00:00Z: author, line, resolved',
      'changed pull_request_reviews #3 at 2021-03-04T11:00:00Z: state',
      'changed pull_requests #4: state, closed, merged',
      'changed pull_requests #5: title, head commit, diff',
      'changed release_assets a b.txt of v1: SHA-256',
      'changed releases next: pre-release',
      'changed repositories settings: description, private, topics',
      'extra attachments shot.txt',
      'extra branches new',
      'extra wiki draft',
      'missing attachments shot.txt',
      'missing commit_comments COMMIT at 2021-03-06T12:00:00Z',
      'missing issue_comments #2 at 2021-03-06T14:00:00Z',
      'missing issue_events #1 locked at 2021-03-07T12:00:00Z',
      `missing lfs_objects ${oid}`,
      'missing other_refs refs/pull/4/head',
      'missing releases v9',
      'missing tags v1',
    ])
    assert.deepEqual(
      result.repositories.map(({ left, failure }) => [left, failure]),
      [
        ['alice/site', undefined],
        ['corp/empty', undefined],
        ['corp/quiet', 'the other archive does not have it'],
      ],
    )
    const html = await readFile(page, 'utf8')
    assert.match(html, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/)
    assert.doesNotMatch(html, /<script|https?:\/\/(?!old\.example)/)
    assert.match(html, /Not compared: the other archive does not have it/)

    const table = await godwit(['compare', first, second])
    assert.equal(table.code, 1)
    assert.match(table.output, /^REPOSITORY +KIND +EQUAL +CHANGED +MISSING +EXTRA +KNOWN$/m)
    assert.match(table.output, /^alice\/site +tags +- +- +1 +- +-$/m)
    assert.match(
      table.stdout.toString(),
      /^alice\/site: changed: labels bug; color: d73a4a → 000000$/m,
    )
    assert.match(
      table.stderr,
      /the two sides differ: 15 changed, 8 missing, 3 extra, 1 repository not compared/,
    )
    const again = await godwit(['compare', first, second, '--html', page])
    assert.match(again.stderr, /report\.html exists already/)
    assert.deepEqual(await leftovers(), [])
  })

  test('a forge is compared by an ordinary user, and only read', async (t) => {
    const forge = await startForge({ dialect: GITEA_1_22 })
    t.after(() => forge.stop())
    const { tools, ann } = fillForge(forge)
    const host = await gitHost()
    t.after(() => host.remove())
    const dir = await host.repository('octo/tools', {
      files: { a: 'a' },
      wiki: { 'Home.md': 'Hi' },
    })
    const oid = await addLfsObject(dir)
    const line = await commandLine(t)
    const archive = join(line.folder, 'archive')
    const target = { url: forge.url, token: tokenOf('ann') }
    const records = await recordsOfForge(target, { owner: 'octo', name: 'tools' }, archive)
    await writeUnpackedArchive(archive, host, records)
    const token = join(line.folder, 'token')
    await writeFile(token, `${tokenOf('ann')}\n`)
    const objects: object[] = [{ oid, size: 13, actions: { download: { href: 'http://other' } } }]
    forge.faultFor = answerGit(host.root, objects)
    const compare = (...more: string[]) =>
      line.godwit(['compare', archive, '--forge', forge.url, '--token-file', token, ...more])
    forge.requests.length = 0
    const same = await compare('--json')
    assert.equal(same.code, 0, same.output)
    const { kinds } = resultOf(same).repositories[0]!
    assert.deepEqual(
      Object.entries(kinds).map(([kind, { equal, known }]) => `${kind} ${equal} ${known}`),
      [
        ...['repositories 1 0', 'branches 1 0', 'wiki 1 0', 'lfs_objects 1 0', 'labels 1 0'],
        ...['milestones 1 0', 'issues 20 0', 'issue_comments 7 0', 'issue_events 16 0'],
        'pull_requests 12 0',
        ...['pull_request_reviews 12 0', 'pull_request_review_comments 12 0', 'releases 3 0'],
        ...['release_assets 6 0', 'attachments 2 0', 'protected_branches 1 0'],
      ],
    )
    assert.equal(forge.requests.length > 100, true)

    objects[0] = { oid, size: 13, error: { code: 404, message: 'Not Found' } }
    tools.issues.get(1)!.title = 'Changed there'
    forge.world.addComment(tools.issues.get(2)!, ann, 'New there')
    tools.releases[0]!.assets[0]!.bytes = Buffer.alloc(300_000, 'Godwit ')
    await host.commit(host.path('octo/tools'), { b: 'b' })
    const changed = await compare('--json')
    assert.equal(changed.code, 1, changed.output)
    assert.deepEqual(
      unexpectedIn(resultOf(changed)).map((line) => line.replace(/at 20.*$/, 'at')),
      [
        'changed branches main: object',
        'changed issues #1: title',
        'changed release_assets tools-v1.0.bin of v1.0: SHA-256',
        'extra issue_comments #2 at',
      ],
    )
    assert.equal(resultOf(changed).known[LFS_REASON], 1)
    objects.length = 0
    const finished = await compare('--finished', '--json')
    assert.equal(unexpectedIn(resultOf(finished)).includes(`missing lfs_objects ${oid}`), true)
    const lost = await compare('--owner', 'nobody')
    assert.equal(lost.code, 1)
    assert.match(
      lost.output,
      /octo\/tools +http:\S+ does not have it, or the token may not read it/,
    )
    await writeFile(token, 'wrong')
    assert.deepEqual((await compare()).code, 3)
    await forge.stop()
    assert.deepEqual((await compare()).code, 4)
    await host.repository('ann/tools')
    const both = await writeUnpackedArchive(join(line.folder, 'both'), host, {})
    const merged = await line.godwit(['compare', both, archive, '--owner', 'octo'])
    assert.equal(merged.code, 1)
    assert.match(
      merged.stderr,
      /ann\/tools and octo\/tools would both be compared with octo\/tools/,
    )
    const usage = await line.godwit(['compare', archive])
    assert.equal(usage.code, 2)
    assert.match(usage.stderr, /either another archive, --forge or --github/)
  })

  test('people with new logins are compared in events too', async (t) => {
    const { godwit, first, second, folder } = await twoArchives(t, (records) => {
      const assigned = { event: 'assigned', subject: { kind: 'user' as const, login: 'bob' } }
      records.issue_events!.push({ ...records.issue_events![0]!, id: 77, ...assigned })
    })
    await writeFile(join(folder, 'people.csv'), 'alice,anna\nbob,robert\n')
    const people = ['--people', 'people.csv']
    const conversion = ['--to', 'github-archive', '--output', 'c.tar.gz', ...people]
    await godwit(['convert', second, ...conversion])
    const result = resultOf(await godwit(['compare', second, 'c.tar.gz', '--json', ...people]))
    assert.deepEqual([result.complete, unexpectedIn(result)], [true, []])

    // What an export for GitLab cannot have is known, and a difference that was planted is not.
    await writeFile(
      join(folder, 'emails.csv'),
      'old-login,new-login,email\nalice,anna,a@example.com\n',
    )
    const emails = ['--people', 'emails.csv']
    await godwit(['convert', first, '--to', 'gitlab-export', '--output', 'gitlab', ...emails])
    const withExport = ['gitlab/alice/site_export.tar.gz', '--owner', 'alice', '--json', ...emails]
    const converted = resultOf(await godwit(['compare', first, ...withExport]))
    assert.deepEqual(unexpectedIn(converted), [])
    const planted = resultOf(await godwit(['compare', second, ...withExport]))
    assert.deepEqual(unexpectedIn(planted), [
      'missing issue_events #1 assigned at 2021-03-07T12:00:00Z',
    ])
  })

  test('what convert changes for a server is known', async (t) => {
    const forge = await startForge({ dialect: GITEA_1_22 })
    t.after(() => forge.stop())
    const { tools, ann } = fillForge(forge)
    const host = await gitHost()
    t.after(() => host.remove())
    await host.repository('octo/tools', { files: { a: 'a' }, wiki: { 'Home.md': 'Hi' } })
    const line = await commandLine(t)
    const archive = join(line.folder, 'archive')
    const milestone = { ...tools.milestones[0]!, id: forge.world.id(), title: 'Spring (2)' }
    tools.milestones.push(milestone)
    Object.assign(tools.issues.get(1)!, { milestone })
    const text = '`README.md`, line 1:\n\nabout line 1'
    const pull = tools.issues.values().find(hasPull)!
    forge.world.addReview(pull, ann, 'COMMENT', text)
    const target = { url: forge.url, token: tokenOf('ann') }
    const records = await recordsOfForge(target, { owner: 'octo', name: 'tools' }, archive)
    // The archive has two milestones of one title, and a comment on a line instead of the review.
    Object.assign(records.milestones!.find(({ title }) => title === 'Spring (2)')!, {
      title: 'Spring',
    })
    const review = records.pull_request_reviews!.find(({ body }) => body === text)!
    records.pull_request_reviews = records.pull_request_reviews!.filter((each) => each !== review)
    const comment = records.pull_request_review_comments!.find((each) => each.pull === review.pull)!
    const createdAt = review.submittedAt ?? review.createdAt
    records.pull_request_review_comments!.push({ ...comment, id: 9999, createdAt })
    await writeUnpackedArchive(archive, host, records)
    const token = join(line.folder, 'token')
    await writeFile(token, `${tokenOf('ann')}\n`)
    forge.faultFor = answerGit(host.root, [])
    const args = ['compare', archive, '--forge', forge.url, '--token-file', token, '--json']
    const compared = await line.godwit(args)
    assert.deepEqual(unexpectedIn(resultOf(compared)), [])
    assert.equal(compared.code, 0, compared.output)
    assert.deepEqual(resultOf(compared).known, {
      'a second milestone of the same title gets a number, because servers find milestones by title': 1,
      'a comment on a line whose review or commits are not in the archive becomes a review': 2,
    })
  })

  test('an archive of github.com equals what GitHub returns, except for what is known', {
    skip: REAL_ARCHIVE.needed.skip || RECORDED_GITHUB.needed.skip,
  }, async (t) => {
    const { godwit, folder } = await commandLine(t)
    const root = join(folder, 'unpacked')
    await mkdir(root)
    execFileSync('tar', ['-xzf', REAL_ARCHIVE.file, '--no-same-owner', '-C', root])
    const url = await recordedGitHub(t, join(root, 'repositories'))
    const token = join(folder, 'token')
    await writeFile(token, 'a-token')
    const at = ['--github', url, '--token-file', token, '--json']
    const compared = await godwit(['compare', REAL_ARCHIVE.file, ...at])
    const result = resultOf(compared)
    // The responses were recorded after the archive was made, and the website was set in between.
    assert.deepEqual(unexpectedIn(result), ['changed repositories settings: website'])
    assert.equal(compared.code, 1, compared.output)
    assert.deepEqual(result.known, {
      'collaborators need an account on the new host': 1,
      'events are not restored; state and lock are': 14,
      'not compared with GitHub': 1,
    })
    const { kinds } = result.repositories[0]!
    const equal = Object.entries(kinds).map(([kind, counts]) => `${kind} ${counts.equal}`)
    assert.deepEqual(equal, [
      ...['repositories 0', 'branches 1', 'tags 1', 'other_refs 4', 'labels 9', 'milestones 2'],
      ...['issues 2', 'issue_comments 2', 'issue_events 0', 'pull_requests 2'],
      ...['pull_request_reviews 6', 'pull_request_review_comments 2', 'releases 1'],
      'protected_branches 0',
    ])
  })
})

const hasPull = (issue: Issue): issue is Issue & { pull: Pull } => issue.pull !== null

/** Answers git's requests for the refs of the repositories in a directory, as a host does. Without `objects` it has no git-lfs. */
const answerGit =
  (root: string, objects: readonly object[]): FakeForge['faultFor'] =>
  ({ path, headers }) => {
    if (path.endsWith('.git/info/lfs/objects/batch'))
      return { response: objects.length > 0 ? { body: { objects } } : { status: 404, body: {} } }
    const dir = /^\/(.+\.git)\/info\/refs$/.exec(path)?.[1]
    if (dir === undefined) return undefined
    assert.match(headers.authorization ?? '', /^Basic /)
    return { response: gitRefs(join(root, dir)) }
  }

function gitRefs(dir: string): ForgeResponse {
  if (!existsSync(dir)) return { status: 404, body: { message: 'Not Found' } }
  const refs = execFileSync('git', ['upload-pack', '--advertise-refs', '--strict', dir])
  const bytes = Buffer.concat([Buffer.from('001e# service=git-upload-pack\n0000'), refs])
  return { bytes, headers: { 'content-type': 'application/x-git-upload-pack-advertisement' } }
}

/** Serves the recorded responses of GitHub. They were recorded page by page, so the second page of a list is empty. */
async function recordedGitHub(t: TestContext, repositories: string): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://github.test')
    const send = ({ status = 200, body, bytes }: ForgeResponse) => {
      response.writeHead(status, bytes ? {} : { 'content-type': 'application/json' })
      response.end(bytes ?? JSON.stringify(body))
    }
    const missing = {
      status: 404,
      body: { message: 'Not Found', documentation_url: 'https://docs.github.com/rest' },
    }
    const git = /^\/(.+\.git)\/info\/refs$/.exec(url.pathname)?.[1]
    if (git !== undefined) return send(gitRefs(join(repositories, git)))
    const part = /^\/api\/v3\/repos\/go-gitea\/test_repo(.*)$/.exec(url.pathname)?.[1]
    if (part === undefined) return send(missing)
    if (/diff/.test(request.headers.accept ?? '')) {
      const dir = join(repositories, 'go-gitea/test_repo.git')
      const head = `refs/pull/${part.split('/').at(-1)}/head`
      const diff = execFileSync('git', ['--git-dir', dir, 'diff', `HEAD...${head}`])
      return send({ bytes: diff })
    }
    const body = recorded(part)
    if (body === undefined) return send(missing)
    return send({ body: Number(url.searchParams.get('page') ?? 1) > 1 ? [] : body })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** GitHub lists pull requests among the issues, and also returns each by its number. */
function recorded(part: string): unknown {
  type Listed = { number: number }
  const pulls = recordedPath('/pulls') as Listed[]
  const issues = [
    ...(recordedPath('/issues') as Listed[]),
    ...pulls.map((pull) => ({ ...pull, pull_request: {} })),
  ]
  if (part === '/issues') return issues
  const [, list, number] = /^\/(issues|pulls)\/(\d+)$/.exec(part) ?? []
  if (!list) return recordedPath(part)
  return (list === 'issues' ? issues : pulls).find((each) => each.number === Number(number))
}
