import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type DumpParts, dumpForGitea } from '../../test/support/dump-for-gitea.ts'
import { cleanupAfterFile } from '../../test/support/file-cleanup.ts'
import { gitHost } from '../../test/support/git-host.ts'
import { temporaryDirectory } from '../../test/support/sample-repositories.ts'
import { createGit, type Git } from '../git/git.ts'
import { listPeople } from './list-people.ts'
import { restoreArchive } from './restore-archive.ts'
import { summarizeArchive } from './summarize-archive.ts'
import { verifyArchive } from './verify-archive.ts'

/** More than a function call can have arguments. */
const COUNT = 130_000
const LEFT_OUT = 'issues: and 129,900 more of this kind'
const { signal } = new AbortController()

const fileCleanup = cleanupAfterFile()
let folder: string
let git: Git

before(async () => {
  await using host = await gitHost()
  const base = temporaryDirectory(fileCleanup)
  folder = join(base, 'unpacked')
  git = createGit({ program: 'git', searchPath: process.env.PATH ?? '', home: join(base, 'home') })
  const place = join(folder, 'repositories/alice')
  await mkdir(place, { recursive: true })
  const site = await host.repository('alice/site', { files: { a: '1' } })
  await host.git(['clone', '--quiet', '--bare', site, join(place, 'site.git')], { dir: base })
  const numbers = Array.from({ length: COUNT }, (_, n) => n)
  const user = (n: number) => ({ type: 'user', url: `http://h/u${n}`, login: `u${n}`, emails: [] })
  const rule = (n: number) => ({ type: 'protected_branch', url: `http://h/a/b/protected/${n}` })
  const files = {
    'schema.json': { version: '1.2.0' },
    'users_000001.json': numbers.map(user),
    'protected_branches_000001.json': numbers.map(rule),
    // All of these are invalid.
    'issues_000001.json': numbers,
  }
  for (const [name, value] of Object.entries(files))
    await writeFile(join(folder, name), JSON.stringify(value))
})

const archive = () => ({ folder })

test(`${COUNT} records of a kind are verified; of invalid ones the first are named`, async () => {
  const directory = temporaryDirectory(fileCleanup)
  const findings = await Array.fromAsync(verifyArchive({ git, directory }, archive(), signal))
  const ofLevel = (level: string) =>
    findings.filter((each) => 'level' in each && each.level === level)
  assert.deepEqual(ofLevel('error'), [])
  const warnings = ofLevel('warning')
  assert.equal(warnings.length, 101)
  const text = 'issues_000001.json: [99] is not an object: 99'
  assert.deepEqual(warnings[99], { level: 'warning', text, count: 1 })
  assert.deepEqual(warnings[100], { level: 'warning', text: LEFT_OUT, count: 129_900 })
})

test(`an archive with ${COUNT} records of a kind is restored, and dumped for Gitea`, async () => {
  const into = temporaryDirectory(fileCleanup)
  const notes: string[] = []
  const onNote = (line: string) => void notes.push(line)
  const restored = await Array.fromAsync(
    restoreArchive({ git, open: archive, into: join(into, 'bare'), onNote }, signal),
  )
  assert.deepEqual(restored, [{ fullName: 'alice/site', errors: [] }])
  assert.equal(notes.filter((line) => line.startsWith('warning: ')).length, 102)
  assert.ok(notes.includes(`warning: ${LEFT_OUT}`))

  const warnings: string[] = []
  const options = { repositories: [], people: new Map(), keepLinks: true, target: '' }
  const parts: DumpParts = {
    git,
    open: archive,
    into: join(into, 'dumps'),
    onEvent: (each) => 'warning' in each && warnings.push(each.warning),
    ...options,
  }
  const [dumped] = await Array.fromAsync(dumpForGitea(parts, signal))
  assert.deepEqual(dumped, { fullName: 'alice/site', errors: [] })
  assert.ok(warnings.includes(LEFT_OUT))
  assert.ok(warnings.length < 250, String(warnings.length))
})

test(`the summary of an archive with ${COUNT} invalid records names the first`, async () => {
  const { summary } = await summarizeArchive(archive(), signal)
  assert.equal(summary.records.issues, COUNT)
  assert.equal(summary.warnings.length, 101)
  assert.equal(summary.warnings.at(-1), LEFT_OUT)
  const people = await listPeople(archive(), signal)
  assert.ok(people?.warnings.includes(LEFT_OUT))
})
