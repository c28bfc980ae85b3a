import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { after, before, describe, type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../../../test/support/archive-samples.ts'
import {
  type DumpDependencies,
  type DumpEvent,
  dumpForGitea,
} from '../../../../../test/support/dump-for-gitea.ts'
import { cleanupAfterFile } from '../../../../../test/support/file-cleanup.ts'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import {
  addManifest,
  DISCUSSED_FILES,
  discussedRecords,
  HOSTILE_TEXT,
  makeDiscussedRepositories,
  type RecordLists,
  writeUnpackedArchive,
} from '../../../../../test/support/gitea-archive.ts'
import { readDump } from '../../../../../test/support/gitea-dump-reader.ts'
import { recordsOfArchive, recordsOfDump } from '../../../../../test/support/gitea-records.ts'
import { REAL_ARCHIVE } from '../../../../../test/support/real-archive.ts'
import { realRecords } from '../../../../../test/support/real-records.ts'
import type { Git } from '../../../../git/src/git.ts'
import { GitFailed } from '../../../../git/src/git-process.ts'
import { readRecord } from '../../records/read-records.ts'
import type { RecordKind } from '../../records/record-kinds.ts'

let host: GitHost
let records: RecordLists

before(async () => {
  host = await gitHost()
  records = discussedRecords(await makeDiscussedRepositories(host))
})
after(() => host.remove())

type Wishes = Partial<DumpDependencies>

/** Options of tests that need only this repository. */
const SITE: Wishes = { repositories: ['alice/site'] }

const ALL = ['alice/site', 'corp/empty', 'corp/quiet']

async function scene(t: Pick<TestContext, 'after'>, change: RecordLists = {}) {
  const folder = await temporaryFolder(t)
  const into = join(folder, 'dumps')
  const news: DumpEvent[] = []
  const archive = await writeUnpackedArchive(
    join(folder, 'archive'),
    host,
    { ...records, ...change },
    DISCUSSED_FILES,
  )
  const stop = new AbortController()
  const dump = async (wishes: Wishes = {}) => {
    const options: DumpDependencies = {
      ...{ git: host.godwitGit, into, people: new Map(), keepLinks: false, forge: '' },
      ...{ repositories: [], open: () => ({ folder: archive }), onEvent: (one) => news.push(one) },
      ...wishes,
    }
    return await Array.fromAsync(dumpForGitea(options, stop.signal))
  }
  const place = join(into, 'alice/site')
  const git = (...args: string[]) => host.git(args, { dir: join(place, 'git') })
  return { into, archive, place, dump, news, git, stop }
}

const fileCleanup = cleanupAfterFile()
const cachedDumps = new Map<boolean, ReturnType<typeof dumpOnce>>()

async function dumpOnce(keepLinks: boolean) {
  const here = await scene(fileCleanup)
  return { ...here, dumped: await here.dump({ keepLinks }) }
}

/** Dumps the unchanged records once, for all tests that only read the dump. */
function dumpOfAll(keepLinks = false) {
  const dump = cachedDumps.get(keepLinks) ?? dumpOnce(keepLinks)
  cachedDumps.set(keepLinks, dump)
  return dump
}

const warnings = (news: readonly DumpEvent[]) =>
  news.flatMap((one) => ('warning' in one ? [one.warning] : []))

describe('a dump', () => {
  test('has the same records as the archive', async () => {
    const { place } = await dumpOfAll(true)
    assert.deepEqual(recordsOfDump(readDump(place)), recordsOfArchive(records, 'alice/site'))
  })

  test('has the same records as an archive of github.com', REAL_ARCHIVE.needed, async (t) => {
    const { dump, into } = await scene(t)
    await dump({ open: () => createReadStream(REAL_ARCHIVE.file) })
    const real: RecordLists = {}
    for (const [kind, records] of await realRecords())
      real[kind as RecordKind] = records.map((record) =>
        readRecord(kind as RecordKind, record),
      ) as never
    const read = recordsOfDump(readDump(join(into, 'go-gitea/test_repo')))
    assert.deepEqual(read, recordsOfArchive(real, 'go-gitea/test_repo'))
    assert.deepEqual(
      read.discussed.map(({ number, reactions }) => [number, reactions.length]),
      [
        [1, 1],
        [2, 6],
        [3, 0],
        [4, 2],
      ],
    )
  })

  test('has text that YAML parsers and databases accept', async () => {
    const { place } = await dumpOfAll()
    const issue = readDump(place).issues.find(({ number }) => number === 2)
    const readable = HOSTILE_TEXT.toWellFormed().replace('\u0000', '\ufffd')
    assert.deepEqual([issue?.title, issue?.content], [readable, readable])
  })

  test('has titles, colours and labels that old servers accept', async (t) => {
    const [site, ...others] = records.repositories!
    const label = { ...site!.labels[0]!, color: 'red', exclusive: true }
    const { dump, place, news } = await scene(t, {
      issues: [{ ...records.issues![0]!, title: '😝'.repeat(256) }],
      repositories: [{ ...site!, labels: [label] }, ...others],
    })
    await dump(SITE)
    const { issues, labels } = readDump(place)
    assert.equal(issues[0]?.title, `${'😝'.repeat(254)}…`)
    const expected = { name: 'bug', color: 'ededed', description: 'Broken' }
    assert.deepEqual(labels[0], { ...expected, exclusive: true })
    assert.deepEqual(issues[0]?.labels[0], expected)
    assert.match(warnings(news).join('\n'), /the title of #1 is cut to 255 characters/)
  })

  test('has comments on lines with their positions and authors', async () => {
    const { place } = await dumpOfAll()
    const reviews = readDump(place).reviews.get(3)!
    const dumped = reviews.map(({ reviewer_name, state, comments }) => [
      ...[reviewer_name, state],
      ...comments.map((one: { id: number; line: number }) => `${one.id} at ${one.line}`),
    ])
    assert.deepEqual(dumped, [
      ['bob', 'APPROVED'],
      ['carol', 'CHANGES_REQUESTED'],
      ['carol', 'COMMENTED', '31 at -2'],
      ['erin', 'COMMENTED'],
      ['bob', 'COMMENTED', '32 at -2'],
      ['carol', 'COMMENTED', '33 at 2'],
    ])
  })

  test('has comments on missing commits as reviews', async (t) => {
    const gone = '1'.repeat(40)
    const reactions = [{ author: 'bob', content: '+1', createdAt: '2021-03-06T12:00:00Z' }]
    const { dump, place, news } = await scene(t, {
      pull_request_review_comments: records.pull_request_review_comments!.map((comment) =>
        comment.id === 31 ? { ...comment, reactions } : comment,
      ),
      pull_requests: records.pull_requests!.map((pull) =>
        pull.number === 3 ? { ...pull, head: { ...pull.head, sha: gone } } : pull,
      ),
    })
    await dump(SITE)
    const reviews = readDump(place).reviews.get(3)!
    assert.deepEqual(
      reviews.flatMap(({ comments }) => comments),
      [],
    )
    assert.deepEqual(
      reviews.slice(4).map(({ reviewer_name, state, content }) => [reviewer_name, state, content]),
      [
        ['carol', 'COMMENTED', '`a.txt`, line 2:\n\nComment 31'],
        ['bob', 'COMMENTED', '`a.txt`, line 2:\n\nComment 32'],
        ['carol', 'COMMENTED', '`a.txt`, line 2:\n\nComment 33'],
      ],
    )
    const lost = news.find((one) => 'leftBehind' in one)?.leftBehind
    assert.equal(Object.fromEntries(lost!).review_reactions, 2)
  })

  test('handles duplicate numbers, missing milestones and duplicate titles', async (t) => {
    const [pull, ...pulls] = records.pull_requests!
    const [milestone] = records.milestones!
    const [issue] = records.issues!
    const { dump, place, news } = await scene(t, {
      pull_requests: [pull!, { ...pull!, title: 'Again' }, ...pulls],
      milestones: [milestone!, { ...milestone!, number: 8 }],
      issues: [{ ...issue!, milestone: 9 }],
    })
    await dump(SITE)
    const { pulls: written } = readDump(place)
    assert.equal(written.filter(({ number }) => number === pull!.number).length, 1)
    const warned = warnings(news).join('\n')
    assert.match(warned, new RegExp(`alice/site: #${pull!.number} occurs twice`))
    assert.match(warned, /alice\/site: milestone 9 of #1 is not in the archive/)
    assert.match(warned, /a second milestone “(.+)” is renamed to “\1 \(2\)”/)
  })

  test('has assets with names and bytes, and a release without a tag as a draft', async (t) => {
    const [first, ...others] = records.releases!
    // These characters have a meaning in a URL, and the server does not escape them.
    const unusual = { ...first!.assets[0]!, name: '../%41?#.txt' }
    const { dump, place, news } = await scene(t, {
      releases: [{ ...first!, assets: [...first!.assets, unusual] }, ...others],
    })
    await dump(SITE)
    const { releases } = readDump(place)
    const [asset, second] = releases.find(({ tag_name }) => tag_name === 'v1')!.assets
    assert.deepEqual([asset.name, asset.size, second.name], ['a b.txt', 8, unusual.name])
    assert.match(second.download_url, /^release_assets\/\d+\/2\/\.\.__41__\.txt$/)
    assert.equal(readFileSync(join(place, asset.download_url), 'utf8'), 'an asset')
    assert.deepEqual(releases.map(({ tag_name, draft, name }) => [tag_name, draft, name]).sort(), [
      ['next', true, 'next'],
      ['v1', false, 'One'],
      ['v9', true, 'v9'],
    ])
    assert.match(warnings(news).join('\n'), /the tag v9 is not in the archive: its release becomes/)
  })

  test('has files and a list of what the server does not restore', async () => {
    const { place, news } = await dumpOfAll()
    const [settings, attachment, ...others] = JSON.parse(
      readFileSync(join(place, 'finish.json'), 'utf8'),
    )
    assert.deepEqual(settings.collaborators, [{ login: 'bob', permission: 'write' }])
    assert.deepEqual(attachment, {
      ...{ kind: 'attachment', name: 'shot.txt', contentType: 'text/plain', bytes: 9 },
      ...{ file: 'attachments/1/shot.txt', on: { kind: 'issue', number: 1 } },
      address: 'https://old.example.com/user-attachments/assets/u2',
      sha256: createHash('sha256').update('a picture').digest('hex'),
    })
    assert.deepEqual(
      others.map(({ kind, number, assignees, locked }: never) => [kind, number, assignees, locked]),
      [
        ['issue', 1, [], true],
        ['issue', 2, ['bob'], false],
      ],
    )
    assert.equal(readFileSync(join(place, 'attachments/1/shot.txt'), 'utf8'), 'a picture')
    assert.match(
      news.map((one) => ('note' in one ? one.note : '')).join('\n'),
      /^then: run godwit finish .* does not restore 1 collaborator, 1 attachment, 1 assignee$/m,
    )
    assert.match(warnings(news).join('\n'), /attachments\/u3\/gone.txt is not in the archive/)
  })

  test('skips changed files with a warning', async (t) => {
    const { archive, dump, place, news } = await scene(t)
    const stored = Object.keys(DISCUSSED_FILES)
    await addManifest(archive, host, { repositories: ALL, stored })
    await dump(SITE)
    const count = () => warnings(news).filter((line) => /\(SHA-256\)/.test(line)).length
    assert.equal(count(), 0)
    assert.ok(existsSync(join(place, 'attachments/1/shot.txt')))
    await rm(join(place, '../..'), { recursive: true })

    for (const path of stored) await writeFile(join(archive, path), 'An asset')
    await dump(SITE)
    assert.equal(count(), 2)
    const warned =
      /alice\/site: release_assets\/u1\/a b.txt is not the file that was exported \(SHA/
    assert.match(warnings(news).join('\n'), warned)
    assert.equal(existsSync(join(place, 'attachments')), false)
    assert.deepEqual(
      readDump(place).releases.flatMap(({ assets }) => assets),
      [],
    )
  })

  test('reports what the archive lacks', async (t) => {
    const { archive, dump, into, news } = await scene(t)
    const missing = [{ oid: 'a'.repeat(64), size: 1 }]
    await addManifest(archive, host, { repositories: ALL, stored: [] }, (manifest) => {
      manifest.repositories.find(({ full_name }) => full_name === 'corp/quiet')!.lfs_missing =
        missing
      manifest.skipped.push({ full_name: 'corp/lost', reason: 'it is damaged' })
    })
    await dump()
    const warned = warnings(news).join('\n')
    assert.match(warned, /^corp\/quiet: 1 LFS object was missing on the host .*: a{64}$/m)
    assert.match(warned, /^corp\/lost was skipped when the archive was made: it is damaged$/m)
    news.length = 0
    await dump({ repositories: ['corp/empty'], into: `${into}-empty` })
    assert.deepEqual(warnings(news), [])
  })

  test('reports what it cannot contain, by kind', async (t) => {
    const [site, ...others] = records.repositories!
    const [first, ...issues] = records.issues!
    const other = { repository: 'alice/site', kind: 'issue', number: 2 } as const
    const due = { dueOn: '2024-02-01T00:00:00Z', dependsOn: [other], pinOrder: 1 }
    const settings = { website: 'https://example.com', archived: true, template: true }
    const [pull, ...pulls] = records.pull_requests!
    const byHand = { source: 'manual', createdAt: due.dueOn, actor: 'bob', issue: 1 }
    const [thread] = records.pull_request_review_threads!
    const ofLines = { startLine: 1, resolvedAt: due.dueOn, subjectType: 'file' as const }
    const { dump, news, place } = await scene(t, {
      repositories: [{ ...site!, ...settings }, ...others],
      issues: [{ ...first!, ...due }, ...issues],
      pull_requests: [{ ...pull!, closes: [{ ...byHand, repository: 'alice/site' }] }, ...pulls],
      pull_request_review_threads: [{ ...thread!, ...ofLines }],
      pull_request_reviews: records.pull_request_reviews!.map((each) => ({
        ...each,
        official: each.state === 'approved',
      })),
    })
    await dump(SITE)
    assert.deepEqual(Object.fromEntries(news.find((one) => 'leftBehind' in one)!.leftBehind), {
      attachments: 1,
      commit_comments: 1,
      dismissals: 1,
      file_threads: 1,
      issue_comments: 1,
      issue_events: 5,
      line_ranges: 1,
      linked_issues: 1,
      'milestone creation times, on servers before 1.16': 2,
      pending_review_comments: 1,
      pending_reviews: 1,
      reaction_authors: 4,
      release_times: 1,
      resolved_threads: 1,
      review_commits: 4,
      review_reactions: 1,
    })
    assert.match(
      news.map((one) => ('note' in one ? one.note : '')).join('\n'),
      /restore 3 settings, 1 collaborator, 1 attachment, 1 deadline, 1 dependency, 1 pin, 1 assignee$/m,
    )
    const dumped = [...readDump(place).reviews.values()].flat()
    assert.deepEqual(
      dumped.filter(({ official }) => official).map(({ state }) => state),
      ['APPROVED'],
    )
  })

  test('reports a detached HEAD whose commits no ref reaches', async (t) => {
    const dir = host.path('corp/quiet')
    const head = join(dir, 'HEAD')
    const symbolic = await readFile(head, 'utf8')
    t.after(() => writeFile(head, symbolic))
    const alone = await host.git(['commit-tree', '-m', 'alone', 'main^{tree}'], { dir })
    await writeFile(head, `${alone}\n`)
    const { dump, news } = await scene(t)
    await dump({ repositories: ['corp/quiet'] })
    const { leftBehind } = news.find((one) => 'leftBehind' in one)!
    assert.equal(new Map(leftBehind).get('detached_heads'), 1)
  })
})

/** Returns a git that fails for one command. */
function failingAt(command: string, error: Error): Git {
  const { start, run, text } = host.godwitGit
  return {
    run,
    text: (args, call) => (args[0] === command ? Promise.reject(error) : text(args, call)),
    start(args, call) {
      if (args[0] !== command) return start(args, call)
      const done = Promise.reject(error)
      done.catch(() => {})
      const stdout = new Readable({ read: () => stdout.destroy(error) })
      return { stdout, stdin: new PassThrough(), done }
    },
  }
}

describe('git of a dump', () => {
  test('keeps the commits of every pull request, and gives open ones a branch', async () => {
    const { git, place, news } = await dumpOfAll()
    const refs = (await git('for-each-ref', '--format=%(refname)')).split('\n')
    assert.deepEqual(refs, [
      ...['refs/heads/bob/fix', 'refs/heads/main', 'refs/heads/own'],
      ...['refs/pull/3/head', 'refs/pull/4/head', 'refs/pull/5/head', 'refs/tags/v1'],
    ])
    const { pulls } = readDump(place)
    for (const { number, head } of pulls.filter(({ head }) => head.sha !== ''))
      assert.equal(await git('rev-parse', `refs/pull/${number}/head`), head.sha)
    assert.equal(pulls.find(({ number }) => number === 6)?.head.sha, '')
    assert.match(warnings(news).join('\n'), /pull request 6: the commits are not in the archive/)
  })

  test('keeps commits that were pushed after the record was read', async (t) => {
    const [fork, own] = [4, 5].map(
      (n) => records.pull_requests!.find(({ number }) => number === n)!,
    )
    const { dump, place, git, news } = await scene(t, {
      pull_requests: [{ ...fork!, head: { ...fork!.head, sha: own!.head.sha } }],
    })
    const [end] = await dump(SITE)
    assert.deepEqual(end?.errors, [])
    const [pull] = readDump(place).pulls
    assert.equal(pull?.head.sha, fork!.head.sha)
    for (const ref of ['refs/pull/4/head', `refs/heads/${pull?.head.ref}`])
      assert.equal(await git('rev-parse', ref), fork!.head.sha)
    assert.match(warnings(news).join('\n'), /pull request 4: record and ref name different commits/)
  })

  test('has patches relative to where the branch began', async () => {
    const { git, place } = await dumpOfAll()
    const [first] = (await git('rev-list', '--max-parents=0', 'main')).split('\n')
    for (const { number, base, head, patch_url } of readDump(place).pulls) {
      const patch = readFileSync(join(place, patch_url), 'utf8')
      if (head.sha === '') assert.equal(patch, '')
      else {
        assert.equal(base.sha, first, `#${number}`)
        assert.match(patch, /^diff --git/)
      }
    }
  })

  test('has an empty patch with a warning if the base is missing', async (t) => {
    const base = { ref: 'gone', sha: 'd'.repeat(40) }
    const { dump, place, news } = await scene(t, {
      pull_requests: records.pull_requests!.map((pull) => ({ ...pull, base })),
    })
    const [end] = await dump(SITE)
    assert.deepEqual(end?.errors, [])
    const patches = readDump(place).pulls.map(({ number, patch_url }) => [
      number,
      readFileSync(join(place, patch_url), 'utf8') !== '',
    ])
    // The merge commit of 3 has the base as its parent.
    assert.deepEqual(Object.fromEntries(patches), { 3: true, 4: false, 5: false, 6: false })
    const warned = warnings(news).filter((line) => /is unknown or not in the archive/.test(line))
    assert.deepEqual(
      warned.map((line) => /pull request (\d+)/.exec(line)?.[1]),
      ['4', '5'],
    )
    const lost = news.find((one) => 'leftBehind' in one)?.leftBehind
    assert.equal(Object.fromEntries(lost!).pull_request_diffs, 2)
  })

  for (const command of ['merge-base', 'diff'])
    test(`reports a git ${command} that was killed`, async (t) => {
      const { dump, into } = await scene(t)
      const killed = new GitFailed([command], { exitCode: null, stderr: '', killedBy: 'SIGKILL' })
      const [end] = await dump({ ...SITE, git: failingAt(command, killed) })
      assert.deepEqual(end?.errors, [`git ${command} was killed (SIGKILL)`])
      assert.equal(existsSync(into), false)
    })

  test('fails if the disk is full while a patch is written', async (t) => {
    const { dump, into } = await scene(t)
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    await assert.rejects(dump({ ...SITE, git: failingAt('diff', full) }), full)
    assert.equal(existsSync(into), false)
  })

  test('keeps merged pull requests merged, and marks drafts by their title', async () => {
    const { place } = await dumpOfAll()
    const { pulls } = readDump(place)
    const of = (number: number) => pulls.find((pull) => pull.number === number)!
    const merged = records.issue_events!.find(({ event }) => event === 'merged')!.commit
    assert.deepEqual([of(3).merged, of(3).merge_commit_sha, of(3).state], [true, merged, 'closed'])
    assert.deepEqual([of(5).title, of(5).is_draft], ['WIP: Not yet', true])
    assert.deepEqual([of(4).title, of(4).head.ref], ['Pull 4', 'bob/fix'])
  })

  test('has a wiki where the server looks for it, with the branch that it shows', async () => {
    const { place } = await dumpOfAll()
    const dir = join(place, 'git.wiki.git')
    assert.match(await host.git(['log', '--format=%H', 'master'], { dir }), /^[0-9a-f]{40}$/)
  })
})

describe('people and links', () => {
  test('mapped people have their new login, and two with the same one react once', async (t) => {
    const { dump, place } = await scene(t)
    const [alice, bob] = ['alice', 'bob'].map((old) => [old, { login: 'anna', id: 7 }] as const)
    await dump({ ...SITE, people: new Map([alice!, bob!]) })
    const { issues, repository } = readDump(place)
    const [first, second] = issues
    assert.deepEqual([first?.poster_name, second?.poster_name], ['ghost', 'anna'])
    assert.deepEqual(
      first?.reactions.map((one: { user_name: string; content: string }) => one.content),
      ['+1', 'hooray'],
    )
    assert.ok(second?.poster_id < 0, 'an account is known only together with the server')
    assert.deepEqual([repository.owner, repository.description], ['anna', 'A site of hers'])
    assert.match(
      readFileSync(join(place, '../../restore.sh'), 'utf8'),
      /'alice\/site' 'anna' 'site'/,
    )
  })

  test('with the URL of the server, accounts are identified by id', async (t) => {
    const { dump, place } = await scene(t)
    const people = new Map([['alice', { login: 'anna', id: 7 }]])
    await dump({ ...SITE, people, forge: 'https://new.example.com/' })
    const { issues, repository } = readDump(place)
    assert.equal(issues.find(({ number }) => number === 2)?.poster_id, 7)
    assert.ok(issues.find(({ number }) => number === 1)?.poster_id < 0)
    assert.match(repository.original_url!, /^https:\/\/new\.example\.com\/\?migrated-from=https%3A/)
  })

  test('links into the archive are changed to the server, unless they are kept', async () => {
    const body = async (keepLinks: boolean) => {
      const { place } = await dumpOfAll(keepLinks)
      return readDump(place)
        .comments.get(2)
        ?.find(({ index }) => index === 11)?.content
    }
    assert.equal(await body(false), 'See #3.')
    assert.equal(await body(true), 'See https://old.example.com/alice/site/pull/3.')
  })
})

async function removeName(archive: string): Promise<void> {
  const file = join(archive, 'repositories_000001.json')
  const [site, ...others] = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify([{ ...site, name: null }, ...others]))
}

async function removeGit(archive: string): Promise<void> {
  await rm(join(archive, 'repositories/alice'), { recursive: true })
}

const SPOILED: [what: string, spoil: (archive: string) => Promise<void>, why: RegExp][] = [
  ['whose record cannot be read', removeName, /\[0\].*name/],
  ['whose git data is not there', removeGit, /repositories\/alice\/site\.git of .* is not in the/],
]

describe('complete or not at all', () => {
  test('several repositories, also empty ones, are dumped with a script for all', async () => {
    const { dumped, into } = await dumpOfAll()
    assert.deepEqual(dumped, [
      { fullName: 'alice/site', errors: [] },
      { fullName: 'corp/empty', errors: [] },
      { fullName: 'corp/quiet', errors: [] },
    ])
    assert.deepEqual(readdirSync(into).sort(), ['alice', 'corp', 'restore.sh'])
    assert.equal(statSync(join(into, 'restore.sh')).mode & 0o111, 0o111)
    for (const name of ['empty', 'quiet']) {
      const { issues, pulls, repository } = readDump(join(into, 'corp', name))
      assert.deepEqual([issues, pulls], [[], []])
      assert.equal(repository.default_branch, name === 'empty' ? '' : 'main')
    }
  })

  test('only the selected repository is written', async (t) => {
    const { dump, into, news } = await scene(t)
    assert.deepEqual(await dump({ repositories: ['Corp/quiet'] }), [
      { fullName: 'corp/quiet', errors: [] },
    ])
    assert.deepEqual(readdirSync(into).sort(), ['corp', 'restore.sh'])
    assert.deepEqual(news.slice(0, -2), [{ leftBehind: [] }])
    assert.match(JSON.stringify(news.at(-1)), /1 private repository: restore-repo would make it/)
    await assert.rejects(
      (await scene(t)).dump({ repositories: ['corp/other'] }),
      /does not hold corp\/other/,
    )
  })

  test('a repository for which git fails is reported, and the others are dumped', async (t) => {
    const { archive, dump, into } = await scene(t)
    const inTheWay = join(archive, 'repositories/alice/site.git/refs/pull/3')
    await writeFile(inTheWay, `${records.pull_requests![0]!.head.sha}\n`)
    const [site, ...others] = await dump()
    assert.equal(site?.fullName, 'alice/site')
    assert.match(site.errors.join(), /^git update-ref failed .*refs\/pull\/3/)
    assert.deepEqual(
      others.map(({ fullName, errors }) => [fullName, errors]),
      [
        ['corp/empty', []],
        ['corp/quiet', []],
      ],
    )
    assert.deepEqual(readdirSync(into).sort(), ['corp', 'restore.sh'])
    assert.doesNotMatch(readFileSync(join(into, 'restore.sh'), 'utf8'), /alice\/site/)
  })

  test('an aborted dump leaves nothing incomplete', async (t) => {
    const { dump, into, stop } = await scene(t)
    const onEvent = () => stop.abort(new Error('stopped'))
    await assert.rejects(dump({ onEvent }), /stopped/)
    assert.equal(existsSync(into), false)
  })

  test('existing files are never overwritten', async (t) => {
    const { dump, into } = await scene(t)
    await mkdir(join(into, 'corp/quiet'), { recursive: true })
    await assert.rejects(dump(), /corp\/quiet already exists/)
    assert.deepEqual(readdirSync(into, { recursive: true }).sort(), ['corp', 'corp/quiet'])
    await writeFile(join(into, 'restore.sh'), '')
    await assert.rejects(dump(SITE), /restore.sh already exists/)
    assert.deepEqual(readdirSync(into).sort(), ['corp', 'restore.sh'])
  })

  for (const [what, spoil, why] of SPOILED)
    test(`records of a repository ${what} are counted, unless others were selected`, async (t) => {
      const { archive, dump, into, news } = await scene(t)
      await spoil(archive)
      const counted = () =>
        Object.fromEntries(news.flatMap((one) => ('leftBehind' in one ? one.leftBehind : [])))
      await dump({ repositories: ['corp/quiet'], into: `${into}-quiet` })
      assert.equal(counted().issues, undefined)
      await dump()
      assert.match(warnings(news).join('\n'), why)
      const { repositories, issues, issue_comments, pull_requests, releases } = counted()
      assert.deepEqual([repositories, issues, issue_comments, pull_requests], [1, 2, 5, 4])
      assert.equal(releases, 3)
    })

  test('a record with an invalid time is skipped, by file and index', async (t) => {
    const [first, ...others] = records.issues!
    const { dump, place, news } = await scene(t, {
      issues: [{ ...first!, createdAt: 'yesterday' }, ...others],
    })
    await dump(SITE)
    assert.deepEqual(
      readDump(place).issues.map(({ number }) => number),
      [2],
    )
    assert.match(
      warnings(news).join('\n'),
      /issues_000001.json: \[0\]\.created_at is not a valid time: 'yesterday'/,
    )
  })
})
