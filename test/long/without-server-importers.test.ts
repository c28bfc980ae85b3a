import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandLine, entriesIn, jsonIn } from '../support/command-line.ts'
import { gitHost } from '../support/git-host.ts'
import { git } from '../support/sample-repositories.ts'

type Json = Record<string, unknown>

test('each repository gets its own archive, for importers of one at a time', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: '1' }, wiki: { 'Home.md': '# Home' } })
  await host.repository('alice/notes', { files: { a: '1' } })
  await host.repository('octo/notes', { files: { a: '2' } })
  await host.repository('octo/lost', { files: { a: '3' } })
  await host.loseObjects('octo/lost')
  const { godwit, folder, leftovers } = await commandLine(t)
  const command = ['export', 'alice', 'octo', '--repositories', host.root, '--output', 'archives']
  const separate = [...command, '--one-archive-per-repository', '--report', 'report.json']

  const failed = await godwit(separate)
  assert.notEqual(failed.code, 0)
  assert.match(
    failed.output,
    /octo\/lost: .*1 of 4 repositories cannot be exported: nothing was written/s,
  )
  assert.ok(!existsSync(join(folder, 'archives')))

  const { code, output } = await godwit([...separate, '--allow-partial'])
  assert.equal(code, 0, output)
  const files = ['alice/notes', 'alice/site', 'octo/notes'].map((name) => `${name}.tar.gz`)
  const all = readdirSync(join(folder, 'archives'), { recursive: true, encoding: 'utf8' })
  assert.deepEqual(all.filter((path) => path.endsWith('.gz')).sort(), files)
  const repositoriesIn = async (file: string) =>
    (await entriesIn(join(folder, 'archives', file))).map(({ path }) => path).filter(isRepository)
  assert.deepEqual(await repositoriesIn(files[0]!), ['repositories/alice/notes.git'])
  assert.deepEqual(await repositoriesIn(files[1]!), [
    'repositories/alice/site.git',
    'repositories/alice/site.wiki.git',
  ])
  for (const file of files) {
    const verified = await godwit(['verify', `archives/${file}`])
    assert.equal(verified.code, 0, verified.output)
    const records = await jsonIn<Json[]>(join(folder, 'archives', file), 'repositories_000001.json')
    assert.equal(records.length, 1)
  }
  const report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')) as Json
  const reported = (report.repositories as Json[]).map(({ full_name, archive }) => [
    full_name,
    archive,
  ])
  assert.deepEqual(reported.sort(), [
    ['alice/notes', 'alice/notes.tar.gz'],
    ['alice/site', 'alice/site.tar.gz'],
    ['octo/lost', undefined],
    ['octo/notes', 'octo/notes.tar.gz'],
  ])
  const taken = await godwit([...separate, '--allow-partial'])
  assert.match(taken.output, /notes\.tar\.gz exists already; use --force to replace it/)
  assert.equal((await godwit([...separate, '--allow-partial', '--force'])).code, 0)
  const piped = await godwit([...command.slice(0, -1), '-', '--one-archive-per-repository'])
  assert.match(piped.output, /writes many files: use --output DIR/)
  assert.deepEqual(await leftovers(), [])
})

const isRepository = (path: string): boolean => /\.git$/.test(path)

test('archives of two hosts do not collide: their records are named after the host', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: '1' } })
  const { godwit, folder } = await commandLine(t)
  const exportUrl = async (...more: string[]) => {
    const file = `${more.at(-1)?.replace(/\W/g, '') ?? 'plain'}.tar.gz`
    const settings = ['--repositories', host.root, '--output', file, '--report', 'report.json']
    const { code, output } = await godwit(['export', 'alice', ...settings, ...more])
    assert.equal(code, 0, output)
    const [record] = await jsonIn<Json[]>(join(folder, file), 'repositories_000001.json')
    const { warnings } = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')) as Json
    return { url: String(record!.url), output, warnings: warnings as string[] }
  }
  const plain = await exportUrl()
  const hostName = hostname().toLowerCase()
  assert.match(plain.url, /^https:\/\/[^/]+\/alice\/site$/)
  if (/^[a-z0-9.-]+$/.test(hostName)) assert.equal(plain.url, `https://${hostName}/alice/site`)
  assert.match(plain.output, /^warning: records in the archive have addresses at https:\/\//m)
  assert.equal(plain.warnings.length, 1)

  const named = await exportUrl('--host-name', 'git.example.test')
  assert.equal(named.url, 'https://git.example.test/alice/site')
  const reported = await exportUrl('--base-url', 'https://api.example.test')
  assert.equal(reported.url, 'https://api.example.test/alice/site')
  for (const { output, warnings } of [named, reported]) {
    assert.doesNotMatch(output, /warning/)
    assert.deepEqual(warnings, [])
  }
})

test('push rules and attributes are restored, and --strict accepts them', async (t) => {
  await using host = await gitHost()
  const dir = await host.repository('alice/site', {
    files: { a: '1' },
    config: { 'receive.denyNonFastForwards': 'true', 'receive.denyDeletes': 'yes' },
  })
  await mkdir(join(dir, 'info'), { recursive: true })
  await writeFile(join(dir, 'info/attributes'), '*.png binary\n')
  const { godwit, folder } = await commandLine(t)
  const exportTo = (from: string, file: string) =>
    godwit(['export', 'alice', '--repositories', from, '--output', file])
  assert.equal((await exportTo(host.root, 'first.tar.gz')).code, 0)
  const rules = await jsonIn<Json[]>(join(folder, 'first.tar.gz'), 'protected_branches_000001.json')
  assert.deepEqual(
    rules.map(({ name, allows_deletions, allows_force_pushes }) => [
      name,
      allows_deletions,
      allows_force_pushes,
    ]),
    [['main', false, false]],
  )
  const restored = await godwit(['restore', 'first.tar.gz', '--into', 'back', '--strict'])
  assert.equal(restored.code, 0, restored.output)
  const copy = join(folder, 'back/alice/site.git')
  assert.equal(git(copy, ['config', 'receive.denyDeletes']), 'true')
  assert.equal(git(copy, ['config', 'receive.denyNonFastForwards']), 'true')
  assert.equal(readFileSync(join(copy, 'info/attributes'), 'utf8'), '*.png binary\n')
  // It would be a mirror of the original host, and a fetch would overwrite it.
  assert.throws(() => git(copy, ['config', 'remote.origin.url']))

  const again = await exportTo('back', 'second.tar.gz')
  assert.equal(again.code, 0, again.output)
  const repositoriesIn = async (file: string) =>
    (await jsonIn<{ repositories: Json[] }>(join(folder, file), 'godwit-manifest.json'))
      .repositories
  assert.deepEqual(await repositoriesIn('second.tar.gz'), await repositoriesIn('first.tar.gz'))
})
