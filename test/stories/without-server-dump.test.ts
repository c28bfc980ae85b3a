import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { commandLine } from '../support/command-line.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import {
  DISCUSSED_FILES,
  discussedRecords,
  makeDiscussedRepositories,
  writeUnpackedArchive,
} from '../support/gitea-archive.ts'
import { readDump } from '../support/gitea-dump-reader.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { until } from '../support/wait-until.ts'

let host: GitHost
let archive: string

const fileCleanup = cleanupAfterFile()

before(async () => {
  host = await gitHost()
  const records = discussedRecords(await makeDiscussedRepositories(host))
  const folder = join(temporaryDirectory(fileCleanup), 'archive')
  archive = await writeUnpackedArchive(folder, host, records, DISCUSSED_FILES)
})
after(() => host.remove())

const asExport = (...more: string[]) => [
  ...['convert', archive, '--to', 'gitlab-export', '--output', 'exports', ...more],
]
const asDump = (...more: string[]) => ['convert', archive, '--to', 'gitea-dump', ...more]

test('a dump reports what it cannot hold, and exits with 0', async (t) => {
  const { godwit, folder, leftovers } = await commandLine(t)
  const { code, stdout, output } = await godwit(asDump('--output', 'dumps'))
  assert.equal(code, 0, output)
  const lines = stdout.toString().split('\n')
  assert.deepEqual(
    lines.filter((line) => line.startsWith('converted:')),
    ['converted: alice/site', 'converted: corp/empty', 'converted: corp/quiet'],
  )
  assert.match(output, /^5 issue events +-$/m)
  assert.match(output, /restore-repo does not restore 1 collaborator, 1 attachment, 1 assignee$/m)
  assert.match(output, /next: run .*dumps\/restore\.sh on the server/)
  assert.match(output, /1 private repository: restore-repo would make it public/)
  assert.equal(readDump(join(folder, 'dumps/alice/site')).issues.length, 2)
  assert.deepEqual(await leftovers(), [])
  const chosen = ['--include', 'corp/quiet', '--include', 'alice/site']
  const strict = await godwit(
    asDump('--output', 'other', '--strict', '--report', 'lost.json', ...chosen),
  )
  assert.equal(strict.code, 1)
  assert.match(strict.stderr, /some data could not be converted \(--strict\)/)
  const { converted, lost } = JSON.parse(readFileSync(join(folder, 'lost.json'), 'utf8'))
  assert.deepEqual(converted, ['alice/site', 'corp/quiet'])
  const comments = { kind: 'issue_comments', count: 1 }
  assert.partialDeepStrictEqual(lost, [comments, { kind: 'issue_events', count: 5 }])
})

test('a report that cannot be written is refused before anything is converted', async (t) => {
  const { godwit, folder } = await commandLine(t)
  const { code, stderr } = await godwit(asDump('--output', 'dumps', '--report', 'gone/lost.json'))
  assert.deepEqual([code, stderr], [1, 'godwit: directory gone does not exist\n'])
  assert.ok(!existsSync(join(folder, 'dumps')))
})

test('a filled-in list of people maps them; an invalid line is reported by its number', async (t) => {
  const { godwit, folder } = await commandLine(t)
  const { code, stdout, output } = await godwit(['show', archive, '--people'])
  assert.equal(code, 0, output)
  const [titles, ...people] = stdout.toString().trimEnd().split('\n')
  assert.equal(
    titles,
    'old-login,new-login,account-id,email,issues,pull_requests,comments,reviews,commit_comments,releases,reactions',
  )
  assert.ok(people.includes('bob,,,,0,4,6,1,1,0,3'), people.join('\n'))
  assert.ok(people.includes('corp,,,,0,0,0,0,0,0,0'), 'owners can be mapped too')
  const filled = stdout.toString().replace('bob,,', 'bob,robert,').replace('carol,,', 'carol,a b,')
  await writeFile(join(folder, 'people.csv'), filled)
  const dumped = await godwit(asDump('--output', 'dumps', '--people', 'people.csv'))
  assert.equal(dumped.code, 0, dumped.output)
  const bad = filled.split('\n').findIndex((line) => line.startsWith('carol')) + 1
  assert.match(dumped.output, new RegExp(`warning: people.csv, line ${bad}: a b: the name may`))
  const { pulls, comments } = readDump(join(folder, 'dumps/alice/site'))
  assert.deepEqual(new Set(pulls.map(({ poster_name }) => poster_name)), new Set(['robert']))
  assert.deepEqual(
    comments
      .get(1)
      ?.flatMap(({ reactions }) => reactions)
      .map(({ user_name }) => user_name),
    ['carol'],
  )
})

test('names that the server rejects are listed, and nothing is written', async (t) => {
  const { godwit, folder, leftovers } = await commandLine(t)
  await writeFile(join(folder, 'people.csv'), 'corp,org\n')
  const refused = await godwit(asDump('--output', 'dumps', '--people', 'people.csv'))
  assert.match(refused.output, /line 1: org: the name is reserved; the line is ignored/)
  assert.equal(refused.code, 0, 'the line is ignored, and the owner keeps the name')
  await using unusualHost = await gitHost()
  await unusualHost.repository('api/site', { files: { a: 'a' } })
  await unusualHost.repository('alice/a..b', { files: { a: 'a' } })
  const file = await writeUnpackedArchive(join(folder, 'odd'), unusualHost, {})
  const { code, stderr } = await godwit([
    'convert',
    file,
    '--to',
    'gitea-dump',
    '--output',
    'odd-dumps',
  ])
  assert.equal(code, 1)
  assert.match(stderr, /refuse these names/)
  assert.match(stderr, /alice\/a\.\.b: the name has/)
  assert.match(stderr, /api\/site: api: the name is reserved/)
  assert.equal(existsSync(join(folder, 'odd-dumps')), false)
  assert.deepEqual(await leftovers(), [])
})

test('account ids without the address of their server are reported as useless', async (t) => {
  const { godwit, folder } = await commandLine(t)
  await writeFile(join(folder, 'people.csv'), 'old-login,new-login,account-id\nbob,robert,7\n')
  const people = ['--people', 'people.csv', '--include', 'corp/quiet']
  const { output } = await godwit(asDump('--output', 'dumps', ...people))
  assert.match(output, /warning: account-id is used only with --forge/)
  const known = await godwit(asDump('--output', 'more', '--forge', 'https://a.example', ...people))
  assert.doesNotMatch(known.output, /account-id/)
})

test('a killed dump leaves complete dumps, and no script that names others', async (t) => {
  const { start, folder } = await commandLine(t)
  const into = join(folder, 'dumps')
  const running = start(asDump('--output', into))
  const dumps = ['alice/site', 'corp/empty', 'corp/quiet'].map((name) => join(into, name))
  // A target is reserved by an empty directory before the dump is moved there: a process killed in between leaves it
  // behind.
  const hasDump = (target: string) => existsSync(target) && readdirSync(target).length > 0
  await until('the first dump is there', () => hasDump(dumps[0]!))
  running.kill('SIGKILL')
  await running.result
  const complete = dumps.filter(hasDump)
  for (const target of complete) readDump(target)
  assert.ok(complete.length === dumps.length || !existsSync(join(into, 'restore.sh')))
})

test('an export for GitLab reports what it cannot hold, and where to publish assets', async (t) => {
  const { godwit, folder, leftovers } = await commandLine(t)
  await writeFile(join(folder, 'people.csv'), 'old-login,new-login,email\nbob,,bob@example.com\n')
  const options = ['--people', 'people.csv', '--asset-base-url', 'https://files.example.com']
  const { code, output } = await godwit(asExport(...options))
  assert.equal(code, 0, output)
  assert.match(output, /^1 topic +alice\/site: birds$/m)
  assert.match(
    output,
    /publish .*exports\/alice\/site_assets as https:\/\/files.example.com\/alice/,
  )
  assert.deepEqual(readdirSync(join(folder, 'exports/alice')).sort(), [
    ...['site_assets', 'site_export.tar.gz'],
  ])
  assert.deepEqual(await leftovers(), [])
  const again = await godwit(asExport())
  assert.equal(again.code, 1)
  assert.match(again.stderr, /site_(?:assets|export\.tar\.gz) already exists/)
})

test('options that need another are rejected before anything is read', async (t) => {
  const { godwit, folder } = await commandLine(t)
  const cases: [args: string[], message: RegExp][] = [
    [['restore', archive, '--into', 'x', 'alice/site'], /too many arguments/],
    [asDump('--output', 'x', '--owner', 'a b'), /--owner a b: its name has characters/],
    [
      asDump('--output', 'x', '--forge', 'git.example.com'),
      /--forge: must be an http or https address/,
    ],
    [asExport('--asset-base-url', 'ftp://x'), /--asset-base-url: must be an http or https address/],
    [
      asExport('--asset-base-url', 'https://:secret@x'),
      /^(?!.*secret).*--asset-base-url: must be/s,
    ],
    [asDump('--output', '100%'), /must not have %, \? or # in it/],
    [['convert', archive, '--output', 'x', '--to', 'tarball'], /gitea-dump/],
  ]
  for (const [args, message] of cases) {
    const { code, stderr } = await godwit(args)
    assert.equal(code, 2, stderr)
    assert.match(stderr, message)
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('the script names every repository, and runs in any shell', async (t) => {
  const { godwit, folder } = await commandLine(t)
  await godwit(asDump('--output', 'dumps', '--forge', 'https://git.example.com/sub'))
  const script = readFileSync(join(folder, 'dumps/restore.sh'), 'utf8')
  assert.match(script, /^#!\/bin\/sh\n/)
  assert.match(script, /^restore 'corp\/quiet' 'corp' 'quiet' private$/m)
  const { original_url } = readDump(join(folder, 'dumps/alice/site')).repository
  assert.match(original_url!, /^https:\/\/git\.example\.com\/sub\/\?migrated-from=/)
})
