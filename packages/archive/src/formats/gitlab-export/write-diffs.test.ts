import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { temporaryFolder } from '../../../../../test/support/archive-samples.ts'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import { GITLAB_2019, needsGitLab, TREE_2020 } from '../../../../../test/support/gitlab-exports.ts'
import { openDiffs, readCommits } from './write-diffs.ts'

const { signal } = new AbortController()
let host: GitHost
before(async () => {
  host = await gitHost()
})
after(() => host.remove())

// biome-ignore lint/suspicious/noExplicitAny: records of an export.
type Value = Record<string, any>

test('commits and diffs equal those that GitLab recorded', needsGitLab, async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'x'))
  execFileSync('tar', ['xzf', GITLAB_2019, '-C', join(folder, 'x')])
  execFileSync('tar', ['xzf', TREE_2020, '-C', folder])
  const dir = join(folder, 'git')
  await host.git(['clone', '--quiet', '--mirror', join(folder, 'x/project.bundle'), dir], {
    dir: folder,
  })
  const lines = readFileSync(join(folder, 'complex/tree/project/merge_requests.ndjson'), 'utf8')
  const recorded: Value[] = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  await using diffs = openDiffs({ git: host.godwitGit, dir, signal })
  let [commits, files] = [0, 0]
  for (const { iid, merge_request_diff: diff } of recorded) {
    const { base_commit_sha: base } = diff
    const head = diff.merge_request_diff_commits[0]?.sha ?? base
    const range = (await readCommits({ git: host.godwitGit, dir, signal }, base, head))!
    assert.equal(range.base, base)
    assert.deepEqual(
      range.commits.map(comparableCommit),
      inOrder(diff.merge_request_diff_commits).map(comparableCommit),
      `commits of !${iid}`,
    )
    const { files: computed, isComplete } = await diffs.read(base, head)
    assert.ok(isComplete)
    assert.deepEqual(
      computed.map(({ binary, ...file }) => file),
      diff.merge_request_diff_files.map(withoutFileHeaders),
      `files of !${iid}`,
    )
    commits += range.commits.length
    files += computed.length
  }
  assert.deepEqual([recorded.length, commits, files], [9, 77, 55])
})

/** In !2 of the fixture a number is missing: it goes from 14 to 16. */
const inOrder = (commits: Value[]): Value[] =>
  commits
    .toSorted((a, b) => a.relative_order - b.relative_order)
    .map((commit, index) => ({ ...commit, relative_order: index }))

/** Somebody corrected these messages in the fixture. The ids show that the commits do not have them. */
const CORRECTED: Readonly<Record<string, [recorded: string, real: string]>> = {
  bb5206fee213d983da88c47f9cf4cc6caf9c66dc: ['conflict', 'conflcit'],
  '08f22f255f082689c0d7d39d19205085311542bc': ['empty file.', 'emtpy file.'],
  e56497bb5f03a90a51293fc6d516788730953899: ['gitlab-foss', 'gitlab-ce'],
}

/** Compares times as instants: the recorded export has them in the time zone of its server, and we write UTC. */
function comparableCommit({ relative_order, sha, message, ...commit }: Value) {
  const { author_name, author_email, committer_name, committer_email } = commit
  return {
    message: message.replace(...(CORRECTED[sha] ?? ['', ''])),
    ...{ relative_order, sha, author_name, author_email, committer_name, committer_email },
    authored: Date.parse(commit.authored_date),
    committed: Date.parse(commit.committed_date),
  }
}

/** Servers before 9.0 recorded the two lines that name the files. Newer ones begin with the first hunk. */
function withoutFileHeaders({ merge_request_diff_id, utf8_diff, ...file }: Value) {
  const [old, created] = [
    file.new_file ? '/dev/null' : `a/${file.old_path}`,
    file.deleted_file ? '/dev/null' : `b/${file.new_path}`,
  ]
  const headers = `--- ${old}\n+++ ${created}\n`
  if (utf8_diff.startsWith('Binary files ')) return { ...file, utf8_diff }
  assert.equal(utf8_diff.slice(0, headers.length), headers)
  return { ...file, utf8_diff: utf8_diff.slice(headers.length) }
}

describe('the diff of a pull request', () => {
  async function diffOf(before: Record<string, string>, change: (dir: string) => Promise<unknown>) {
    const dir = await host.repository(`alice/r${Math.random()}`, { files: before })
    const base = await host.git(['rev-parse', 'main'], { dir })
    await change(dir)
    const head = await host.git(['rev-parse', 'main'], { dir })
    await using diffs = openDiffs({ git: host.godwitGit, dir, signal })
    return { ...(await diffs.read(base, head)), again: await diffs.read(head, head) }
  }

  test('leaves out a patch of more than 200 KiB, and all files after the 1000th', async () => {
    const long = await diffOf({ a: 'a\n' }, (dir) =>
      host.commit(dir, { b: 'line\n'.repeat(50_000), c: `${'x'.repeat(300_000)}\n`, d: 'd\n' }),
    )
    assert.deepEqual(
      long.files.map(({ new_path, too_large, utf8_diff }) => [new_path, too_large, utf8_diff]),
      [
        ['b', true, ''],
        ['c', true, ''],
        ['d', false, '@@ -0,0 +1 @@\n+d\n'],
      ],
    )
    assert.deepEqual([long.isComplete, long.again], [true, { files: [], isComplete: true }])
    const names = Array.from({ length: 1001 }, (_, n) => [`f${n}`, `${n}\n`])
    const many = await diffOf({ a: 'a\n' }, (dir) => host.commit(dir, Object.fromEntries(names)))
    assert.deepEqual([many.files.length, many.isComplete], [1000, false])
  })

  test('has renames and names with unusual characters', async () => {
    const text = 'one\ntwo\nthree\nfour\n'
    const { files } = await diffOf({ 'old name': text }, async (dir) => {
      await host.commit(dir, { 'new\nname': text, latin1: 'x' })
      await host.git(['update-ref', 'refs/heads/main', await withoutFile(dir, 'old name')], { dir })
    })
    assert.deepEqual(
      files.map(({ old_path, new_path, renamed_file, utf8_diff }) => [
        old_path,
        new_path,
        renamed_file,
        utf8_diff,
      ]),
      [
        ['latin1', 'latin1', false, '@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n'],
        ['old name', 'new\nname', true, ''],
      ],
    )
  })

  /** Makes a commit without one of the files of the branch, and returns its id. */
  async function withoutFile(dir: string, name: string): Promise<string> {
    const entries = (await host.git(['ls-tree', '-z', 'main'], { dir })).split('\0')
    const kept = entries.filter((entry) => entry !== '' && !entry.endsWith(`\t${name}`))
    const tree = await host.git(['mktree', '-z'], {
      dir,
      input: kept.map((entry) => `${entry}\0`).join(''),
    })
    return await host.git(['commit-tree', '-p', 'main', '-m', 'Remove', tree], { dir })
  }
})

test('the merge base is found where a pull request merged its target branch, and missing between unrelated ones', async () => {
  const dir = await host.repository('alice/merges', { files: { a: 'a\n' } })
  const git = (...args: string[]) => host.git(args, { dir })
  await git('branch', 'topic', 'main')
  const main = await host.commit(dir, { b: 'b\n' })
  const topic = await host.commit(dir, { c: 'c\n' }, { branch: 'topic' })
  const merge = await git('commit-tree', '-p', topic, '-p', main, '-m', 'Merge', `${topic}^{tree}`)
  const later = await host.commit(dir, { d: 'd\n' })
  const range = await readCommits({ git: host.godwitGit, dir, signal }, later, merge)
  assert.equal(range?.base, main)
  assert.deepEqual(
    range.commits.map(({ sha }) => sha),
    [merge, topic],
  )
  const unrelated = await git('commit-tree', '-m', 'Alone', `${main}^{tree}`)
  assert.equal(await readCommits({ git: host.godwitGit, dir, signal }, main, unrelated), undefined)
  const none = await readCommits({ git: host.godwitGit, dir, signal }, later, main)
  assert.deepEqual(none, { base: main, start: later, head: main, commits: [], isComplete: true })
})
