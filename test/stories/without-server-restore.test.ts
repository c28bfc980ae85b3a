import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { commandLine, type PlainEntry, writeChangedArchive } from '../support/command-line.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { gitHost } from '../support/git-host.ts'
import { git, temporaryDirectory } from '../support/sample-repositories.ts'

const SITE = 'repositories/alice/site.git'

let archive: string

const fileCleanup = cleanupAfterFile()

before(async () => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' }, wiki: { 'Home.md': '# Home\n' } })
  await host.repository('alice/notes', { files: { b: 'b' } })
  const { godwit } = await commandLine(fileCleanup)
  archive = join(temporaryDirectory(fileCleanup), 'whole.tar.gz')
  const command = ['export', 'alice', '--repositories', host.root, '--output', archive]
  const { code, output } = await godwit(command)
  assert.equal(code, 0, output)
})

test('a hostile archive is rejected before anything is written', async (t) => {
  const { godwit, folder, leftovers } = await commandLine(t)
  const file = join(folder, 'hostile.tar.gz')
  await writeChangedArchive(archive, file, (all) => [...all, { name: '../evil' }])
  const { code, output, stderr } = await godwit(['restore', file, '--into', 'into'])
  assert.equal(code, 1, output)
  assert.match(stderr, /the path "\.\.\/evil" has a part that is "\.\."/)
  assert.deepEqual(readdirSync(folder), ['hostile.tar.gz'])
  assert.deepEqual(await leftovers(), [])
})

test('existing repositories are kept, and then nothing is restored', async (t) => {
  const { godwit, folder, leftovers } = await commandLine(t)
  const into = join(folder, 'into')
  await mkdir(join(into, 'alice/SITE.git'), { recursive: true })
  const { code, stderr } = await godwit(['restore', archive, '--into', into])
  assert.equal(code, 1)
  assert.match(stderr, /alice\/SITE\.git already exists; move it away/)
  assert.deepEqual(readdirSync(join(into, 'alice')), ['SITE.git'])
  assert.deepEqual(await leftovers(), [])
})

test('a damaged repository is left out, and the others are restored', async (t) => {
  const { godwit, folder, leftovers } = await commandLine(t)
  const file = join(folder, 'a.tar.gz')
  await writeChangedArchive(archive, file, (all) =>
    all.filter(
      ({ path }) => path !== 'godwit-manifest.json' && !path.startsWith(`${SITE}/objects/`),
    ),
  )
  const { code, output, stderr } = await godwit(['restore', file, '--into', 'back'])
  assert.equal(code, 1, output)
  assert.match(output, /^failed: alice\/site: /m)
  assert.match(stderr, /1 repository could not be restored; the others are in \S+back$/m)
  assert.deepEqual(readdirSync(join(folder, 'back/alice')), ['notes.git'])
  git(join(folder, 'back/alice/notes.git'), ['fsck', '--full', '--strict'])
  const none = join(folder, 'none.tar.gz')
  await writeChangedArchive(file, none, (all) =>
    all.filter(({ path }) => !path.startsWith('repositories/alice/notes')),
  )
  const refused = await godwit(['restore', none, '--into', 'nothing'])
  assert.match(refused.stderr, /1 repository could not be restored$/m)
  assert.equal(existsSync(join(folder, 'nothing')), false)
  assert.deepEqual(await leftovers(), [])
})

const fileEntry = (path: string, text: string): PlainEntry => ({
  path,
  kind: 'file',
  content: Buffer.from(text),
})

test('everything that is not restored is counted by kind, and fails with --strict', async (t) => {
  const { folder, godwit } = await commandLine(t)
  const file = join(folder, 'foreign.tar.gz')
  await writeChangedArchive(archive, file, (all) => [
    ...all.filter(({ path }) => path !== 'godwit-manifest.json'),
    fileEntry('issues_000001.json', '[{"url":"https://x.test/1"}]'),
    fileEntry(
      'pull_requests_000001.json',
      '[{"url":"https://x.test/2"},{"url":"https://x.test/3"}]',
    ),
    fileEntry('milestones_000001.json', '[{"url":7}]'),
  ])
  const { code, output } = await godwit(['restore', file, '--into', 'back'])
  assert.equal(code, 0, output)
  assert.match(output, /^skipped: 1 issue$/m)
  assert.match(output, /^skipped: 2 pull requests$/m)
  assert.match(output, /^warning: milestones_000001\.json: \[0\]\.url is not a URL: 7$/m)
  const strict = await godwit(['restore', file, '--into', 'again', '--strict'])
  assert.equal(strict.code, 1, strict.output)
  assert.match(strict.stderr, /some data could not be restored \(--strict\)/)
  const all = await godwit(['restore', archive, '--into', 'ours', '--strict'])
  assert.equal(all.code, 0, all.output)
  assert.deepEqual(readdirSync(join(folder, 'again')), readdirSync(join(folder, 'ours')))
})

test('show lists the content of an archive, as a table and as JSON, and writes nothing', async (t) => {
  const { folder, godwit, leftovers } = await commandLine(t)
  const table = await godwit(['show', archive])
  assert.equal(table.code, 0, table.output)
  assert.match(table.output, /^created by +godwit \d/m)
  assert.match(table.output, /^REPOSITORY +SIZE +BRANCHES/m)
  assert.match(table.output, /^alice\/site +\S+ \S+ +1 +0 +0 +main +yes/m)
  const piped = await godwit(['show', '-', '--json'], readFileSync(archive))
  const shown = JSON.parse(String(piped.stdout)) as { repositories: { full_name: string }[] }
  assert.deepEqual(
    shown.repositories.map(({ full_name }) => full_name),
    ['alice/notes', 'alice/site'],
  )
  const cut = readFileSync(archive).subarray(0, 3000)
  const damaged = await godwit(['show', '-'], cut)
  assert.equal(damaged.code, 1, damaged.output)
  assert.match(damaged.stderr, /the archive is damaged at byte \d+/)
  const other = await godwit(['show', '-'], Buffer.from('no archive'.repeat(100)))
  assert.deepEqual([other.code, String(other.stdout)], [1, ''])
  assert.deepEqual([...(await leftovers()), ...readdirSync(folder)], [])
})
