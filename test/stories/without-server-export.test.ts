import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { Manifest } from '../../packages/archive/src/tar/manifest.ts'
import { commandLine, entriesIn, jsonIn } from '../support/command-line.ts'
import { refStateOf } from '../support/export-proof.ts'
import { sharedExportStory, until } from '../support/export-story.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { git, UNUSUAL_REPOSITORIES } from '../support/sample-repositories.ts'
import { createCommandRunner } from '../support/shared-commands.ts'

type Records = Record<string, unknown>[]

const MANIFEST = 'godwit-manifest.json'
const REPOSITORIES = 'repositories_000001.json'

async function makeRepositories(host: GitHost): Promise<void> {
  await host.repository('alice/site', {
    files: { 'index.html': '<h1>Alice</h1>' },
    description: 'A "site" \\ with a back-slash\n',
    public: true,
    wiki: { 'Home.md': '# Home\n' },
    config: {
      'godwit.topic': ['birds', 'coast'],
      'godwit.homepage': 'https://example.org/?a="b"&c=d',
      'godwit.isTemplate': 'true',
      'godwit.hasIssues': 'true',
      'godwit.allowSquashMerge': 'false',
      'godwit.collaborator': ['bob:admin', 'carol:read'],
    },
  })
  await host.repository('alice/notes', { files: { 'a.txt': 'a' }, objectFormat: 'sha256' })
  await host.repository('birds/count', { files: { 'n.txt': '41' } })
  UNUSUAL_REPOSITORIES['LFS objects'](host.path('alice/large'))
  UNUSUAL_REPOSITORIES['symbolic refs, one leading nowhere'](host.path('alice/symbolic'))
  UNUSUAL_REPOSITORIES['ref names beyond ASCII, and beyond UTF-8'](host.path('alice/names'))
  UNUSUAL_REPOSITORIES['an empty repository'](host.path('alice/empty'))
}

test('an archive that is restored and exported again is the same', async (t) => {
  await using host = await gitHost()
  await makeRepositories(host)
  const { godwit, folder, leftovers } = await commandLine(t)
  const exported = await godwit([
    'export',
    'alice',
    'birds/count',
    '--repositories',
    host.root,
    '--output',
    'first.tar.gz',
  ])
  assert.equal(exported.code, 0, exported.output)
  const verified = await godwit(['verify', 'first.tar.gz'])
  assert.equal(verified.code, 0, verified.output)
  assert.match(verified.output, /first\.tar\.gz is intact: 7 repositories/)

  const restored = await godwit(['restore', 'first.tar.gz', '--into', 'back'])
  assert.equal(restored.code, 0, restored.output)
  const names = ['alice/site', 'alice/site.wiki', 'alice/notes', 'alice/large', 'alice/names']
  for (const name of [...names, 'birds/count']) {
    const dir = join(folder, 'back', `${name}.git`)
    git(dir, ['fsck', '--full', '--strict', '--no-dangling'])
    assert.deepEqual(refStateOf(dir), refStateOf(host.path(name)), name)
  }
  const again = await godwit([
    'export',
    'alice',
    'birds',
    '--repositories',
    'back',
    '--output',
    'second.tar.gz',
  ])
  assert.equal(again.code, 0, again.output)
  const [first, second] = [join(folder, 'first.tar.gz'), join(folder, 'second.tar.gz')]
  assert.deepEqual(
    (await jsonIn<Manifest>(second, MANIFEST)).repositories,
    (await jsonIn<Manifest>(first, MANIFEST)).repositories,
  )
  assert.deepEqual(await comparableRecords(second), await comparableRecords(first))
  assert.deepEqual(await leftovers(), [])
})

/** The creation time of an empty repository is that of its directory, which differs after a restore. */
async function comparableRecords(archive: string): Promise<Records> {
  return (await recordsByName(archive)).map(({ created_at, repository_topics, ...record }) => ({
    ...record,
    ...(record.name !== 'empty' && { created_at }),
    topics: (repository_topics as Records).map(({ topic_name, creator }) => [topic_name, creator]),
  }))
}

async function recordsByName(archive: string): Promise<Records> {
  const records = await jsonIn<Records>(archive, REPOSITORIES)
  return records.sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1))
}

test('the archive equals the one of a migration of the service', async (t) => {
  const story = await sharedExportStory(t, { repositories: makeRepositories })
  const { id } = await story.migrate(['site', 'notes', 'large'])
  const { godwit, folder } = await commandLine(t)
  const names = ['alice/site', 'alice/notes', 'alice/large']
  const settings = ['--repositories', story.host.root, '--base-url', story.service.url]
  const { code, output } = await godwit(['export', ...names, ...settings, '--output', 'a.tar.gz'])
  assert.equal(code, 0, output)
  const [migrated, exported] = [await story.download(id), join(folder, 'a.tar.gz')]
  const comparableManifest = ({
    created_at: _,
    migration_guid: __,
    metadata,
    ...rest
  }: Manifest) => ({
    ...rest,
    files: metadata?.files.map(({ path }) => path),
  })
  assert.deepEqual(
    comparableManifest(await jsonIn<Manifest>(exported, MANIFEST)),
    comparableManifest(await jsonIn<Manifest>(migrated, MANIFEST)),
  )
  assert.deepEqual(await recordsByName(exported), await recordsByName(migrated))
  const paths = async (archive: string) => (await entriesIn(archive)).map(({ path }) => path)
  assert.deepEqual(await paths(exported), await paths(migrated))
})

test('a second export of the same data reuses everything', async (t) => {
  await using host = await gitHost()
  await makeRepositories(host)
  const { godwit, folder } = await commandLine(t)
  const command = ['export', 'alice', '--repositories', host.root, '--data', 'kept']
  const first = await godwit([...command, '--output', 'first.tar.gz'])
  assert.equal(first.code, 0, first.output)
  assert.equal(first.output.match(/: exported(?:;.*)?$/gm)?.length, 6)
  const blobs = () =>
    readdirSync(join(folder, 'kept/export/blobs'), { recursive: true, withFileTypes: true })
      .flatMap((entry) => (entry.isFile() ? [entry.name] : []))
      .sort()
  const kept = blobs()

  const second = await godwit([...command, '--output', 'second.tar.gz'])
  assert.equal(second.code, 0, second.output)
  assert.equal(second.output.match(/: reused(?:;.*)?$/gm)?.length, 6, second.output)
  assert.deepEqual(blobs(), kept)

  await host.push('alice/site', { 'new.txt': 'new' })
  const third = await godwit([...command, '--output', 'third.tar.gz'])
  assert.match(third.output, /^alice\/site: exported$/m)
  assert.equal(third.output.match(/: reused(?:;.*)?$/gm)?.length, 5, third.output)
})

test('the data directory and the bucket of a service are left alone', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const { godwit, folder } = await commandLine(t, {
    GODWIT_DATA: 'service',
    GODWIT_BLOBS: 's3://archives',
    // Nothing listens there, so every use of the bucket fails.
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
  })
  const archive = join(folder, 'service/blobs/ab/abcdef')
  await mkdir(dirname(archive), { recursive: true })
  await writeFile(archive, 'an archive')
  const command = ['export', 'alice', '--repositories', host.root, '--output', 'a.tar.gz']
  const { code, output } = await godwit(command)
  assert.equal(code, 0, output)
  assert.equal(await readFile(archive, 'utf8'), 'an archive')
})

test('standard output can be piped into tar', async (t) => {
  await using host = await gitHost()
  await makeRepositories(host)
  const { godwit, leftovers } = await commandLine(t)
  const command = ['export', 'alice/site', '--repositories', host.root, '--output', '-']
  const { code, stdout, stderr } = await godwit(command)
  assert.equal(code, 0, stderr)
  const listed = execFileSync('tar', ['tzf', '-'], { input: stdout, encoding: 'utf8' })
  assert.match(listed, /^repositories\/alice\/site\.git\/packed-refs$/m)
  assert.match(listed, /^repositories\/alice\/site\.wiki\.git\/HEAD$/m)
  assert.deepEqual(await leftovers(), [])
  const verified = await godwit(['verify', '-'], stdout)
  assert.equal(verified.code, 0, verified.output)
})

test('an existing file is replaced only with --force, and atomically', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const { godwit, folder, leftovers } = await commandLine(t)
  const file = join(folder, 'a.tar.gz')
  await writeFile(file, 'mine')
  const command = ['export', 'alice', '--repositories', host.root, '--output', 'a.tar.gz']
  const refused = await godwit(command)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /exists already; use --force to replace it/)
  assert.equal(await readFile(file, 'utf8'), 'mine')

  await host.loseObjects('alice/site')
  assert.equal((await godwit([...command, '--force'])).code, 1)
  assert.equal(await readFile(file, 'utf8'), 'mine')

  await host.repository('alice/other', { files: { a: 'a' } })
  const forced = await godwit([...command, '--force', '--allow-partial'])
  assert.equal(forced.code, 0, forced.output)
  const manifest = await jsonIn<Manifest>(file, MANIFEST)
  assert.deepEqual(
    manifest.repositories.map(({ full_name }) => full_name),
    ['alice/other'],
  )
  assert.deepEqual(await leftovers(), [])
})

test('a failed export names the reason and writes no file', async (t) => {
  await using host = await gitHost()
  for (const name of ['alice/good', 'alice/bad', 'alice/worse'])
    await host.repository(name, { files: { a: name } })
  await host.loseObjects('alice/bad')
  await host.loseObjects('alice/worse')
  const { godwit, folder, leftovers } = await commandLine(t)
  const command = ['export', 'alice', '--repositories', host.root, '--output', 'a.tar.gz']
  const { code, stderr } = await godwit(command)
  assert.equal(code, 1)
  assert.match(stderr, /alice\/bad: .*[0-9a-f]{40}/)
  assert.equal(stderr.match(/alice\/bad: /g)?.length, 1, 'the reason is printed once')
  assert.match(stderr, /alice\/worse: .*[0-9a-f]{40}/)
  assert.match(stderr, /nothing was written; use --allow-partial to skip these\n$/)
  assert.ok(!existsSync(join(folder, 'a.tar.gz')))
  assert.deepEqual(await leftovers(), [])
})

test('a signal during an export leaves nothing behind', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const { folder, start, leftovers } = await commandLine(t)
  // A git that reports when it verifies the repository, and then never ends.
  const git = join(folder, 'git')
  const slow = `#!/bin/sh\ncase "$*" in *--quiet*) echo > ${folder}/verifying; exec sleep 600;; esac\n`
  await writeFile(git, `${slow}exec git "$@"\n`, { mode: 0o755 })
  const command = ['export', 'alice', '--repositories', host.root, '--output', 'a.tar.gz']
  const running = start([...command, '--git', git])
  await until('the repository is being verified', () => existsSync(join(folder, 'verifying')))
  running.kill('SIGINT')
  const { code, stderr } = await running.result
  assert.equal(code, 130)
  assert.equal(stderr, 'godwit: stopped; no unfinished files are left\n')
  assert.ok(!existsSync(join(folder, 'a.tar.gz')))
  assert.deepEqual(await leftovers(), [])
})

test('a usage error is reported in one line', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const { folder, env, leftovers } = await commandLine(t)
  const godwit = createCommandRunner({ cwd: folder, env })
  const to = ['--repositories', host.root, '--output', 'a.tar.gz']
  const usageErrors: [args: string[], code: number, message: RegExp][] = [
    [['export', 'bob', ...to], 1, /^godwit: bob has no repositories.*\n$/],
    [['export', 'alice/nothing', ...to], 1, /^godwit: repository alice\/nothing does not exist\n$/],
    [['export', 'alice/../x', ...to], 2, /^godwit: "alice\/\.\.\/x" is neither OWNER nor/],
    [['export', 'alice', '--output', 'a.tar.gz'], 2, /no repositories: set --repositories/],
    [['export', 'alice', '--repositories', host.root], 2, /--output/],
    [
      ['export', 'alice', '--repositories', 'nowhere', '--output', 'a'],
      1,
      /^godwit: --repositories: directory .*nowhere does not exist: check the spelling/,
    ],
    [['verify', 'nothing.tar.gz'], 1, /^godwit: nothing\.tar\.gz: no such file or directory\n$/],
    [['restore', '-', '--into', 'back'], 2, /give a file/],
  ]
  for (const [args, code, message] of usageErrors) {
    const ended = await godwit(args)
    assert.equal(ended.code, code, `${args}: ${ended.stderr}`)
    assert.match(ended.stderr, message)
  }
  assert.deepEqual(await leftovers(), [])
})
