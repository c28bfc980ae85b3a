import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WrittenKind } from '../packages/archive/src/records/record-kinds.ts'
import { splitIntoFiles, toGitHubRecord } from '../packages/archive/src/records/write-records.ts'
import { gitHost } from '../test/support/git-host.ts'
import { hostUrlsAt } from '../test/support/records.ts'
import { run } from './measure.ts'

const ADDRESSES = hostUrlsAt('https://github.com')
const REPOSITORY = 'alice/site'
const WORDS = 'The godwit flies eleven days over open sea, and nobody has seen it land. See #1. '
const FIRST = Date.UTC(2020, 0, 1)
const PEOPLE = 40

const at = (minutes: number) => new Date(FIRST + minutes * 60_000).toISOString().replace('.000', '')

/** Writes an archive of one repository with `issues` issues and twice as many comments. */
export async function makeDiscussions(directory: string, issues: number): Promise<string> {
  const folder = join(directory, 'archive')
  await mkdir(join(folder, 'repositories/alice'), { recursive: true })
  await using host = await gitHost()
  const dir = await host.repository(REPOSITORY, { files: { 'README.md': '# Site\n' } })
  await run('cp', ['-r', dir, join(folder, 'repositories/alice/site.git')])
  await writeFile(join(folder, 'schema.json'), '{"version":"1.0.1"}')
  for (const [kind, records] of recordsOf(issues))
    for await (const { name, text } of splitIntoFiles(kind, githubRecords(kind, records)))
      await writeFile(join(folder, name), text)
  const file = join(directory, `${issues}.tar.gz`)
  await run('tar', ['-C', folder, '-czf', file, '.'])
  await run('rm', ['-rf', folder])
  return file
}

function* githubRecords(kind: WrittenKind, records: Iterable<unknown>): Generator<unknown> {
  for (const record of records) yield toGitHubRecord(kind, record as never, ADDRESSES)
}

function* recordsOf(issues: number): Generator<[WrittenKind, Iterable<unknown>]> {
  const labels = ['bug', 'idea'].map((name) => ({
    ...{ name, color: 'd73a4a', description: null, createdAt: at(0) },
  }))
  const unsaid = { description: null, website: null, collaborators: [] }
  const git = `repositories/${REPOSITORY}.git`
  const named = { owner: 'alice', name: 'site', private: false, defaultBranch: 'main' }
  yield ['repositories', [{ ...named, ...unsaid, labels, git, createdAt: at(0) }]]
  yield ['issues', range(issues, issueAt)]
  yield ['issue_comments', range(2 * issues, (n) => commentAt(n, issues))]
}

function* range<T>(count: number, make: (n: number) => T): Generator<T> {
  for (let n = 1; n <= count; n++) yield make(n)
}

function issueAt(number: number) {
  return {
    ...{
      repository: REPOSITORY,
      number,
      author: `person-${number % PEOPLE}`,
      title: `Issue ${number}`,
    },
    ...{ body: WORDS.repeat(5), assignees: [], milestone: null, labels: ['bug'] },
    reactions: [{ author: 'alice', content: '+1', createdAt: at(number) }],
    ...{
      closedAt: number % 2 ? at(number + 1) : null,
      createdAt: at(number),
      updatedAt: at(number + 1),
    },
  }
}

/** The comments are ordered by age, so a dump cannot rely on their order. */
function commentAt(n: number, issues: number) {
  return {
    ...{ repository: REPOSITORY, id: n, author: `person-${n % PEOPLE}`, body: WORDS.repeat(3) },
    ...{
      on: { kind: 'issue', number: ((n * 7919) % issues) + 1 },
      reactions: [],
      createdAt: at(n),
    },
  }
}
