import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { IS_OBJECT } from '../../packages/archive/src/formats/unpack-archive.ts'
import type { RecordKind, RecordsByKind } from '../../packages/archive/src/records/record-kinds.ts'
import { splitIntoFiles } from '../../packages/archive/src/records/write-records.ts'
import type {
  Manifest,
  ManifestFile,
  ManifestGit,
  ManifestSegment,
} from '../../packages/archive/src/tar/manifest.ts'
import type { GitHost } from './git-host.ts'
import { hostUrlsAt, toAnyGitHubRecord } from './records.ts'

export type RecordLists = { [K in RecordKind]?: RecordsByKind[K][] }

/** Writes records and the git data of a host as an unpacked archive, and returns its folder. */
export async function writeUnpackedArchive(
  folder: string,
  host: Pick<GitHost, 'root'>,
  records: RecordLists,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<string> {
  await mkdir(folder, { recursive: true })
  await cp(host.root, join(folder, 'repositories'), { recursive: true })
  await writeFile(join(folder, 'schema.json'), '{"version":"1.0.1"}')
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  for (const kind of Object.keys(records) as RecordKind[]) {
    const githubRecords = records[kind]!.map((record) => toAnyGitHubRecord(kind, record, ADDRESSES))
    for await (const { name, text } of splitIntoFiles(kind, githubRecords))
      await writeFile(join(folder, name), text)
  }
  return folder
}

const ADDRESSES = hostUrlsAt('https://old.example.com')

const at = (day: number, hour = 12) => `2021-03-${String(day).padStart(2, '0')}T${hour}:00:00Z`
const REPOSITORY = 'alice/site'
const reaction = (author: string, content: string) => ({
  ...{ author, content, createdAt: '2021-03-02T09:00:00.000+08:00' },
})
const UNTRIAGED = { assignees: [], milestone: null, labels: [], reactions: [] }

export const HOSTILE_TEXT =
  'tab\tquote"back\\slash\u0000 nul \u0085\u2028\u2029 breaks \ufeff mark \ud83d half \u007f\u009b "poster_id":1 😝\r\nend'

/** Makes a repository that `discussedRecords` describes, an empty one, and one without issues. */
export async function makeDiscussedRepositories(host: GitHost) {
  const dir = await host.repository(REPOSITORY, {
    files: { 'a.txt': 'one\ntwo\n' },
    public: true,
    wiki: { 'Home.md': '# Home\n' },
  })
  const git = (...args: string[]) => host.git(args, { dir })
  const main = await git('rev-parse', 'main')
  await git('update-ref', 'refs/heads/own', main)
  const own = await host.commit(dir, { 'a.txt': 'one\nTWO\n' }, { branch: 'own' })
  await git('update-ref', 'refs/heads/fork', main)
  const fork = await host.commit(dir, { 'b.txt': 'new\n' }, { branch: 'fork' })
  await git('update-ref', 'refs/pull/4/head', fork)
  await git('update-ref', '-d', 'refs/heads/fork')
  await git('update-ref', 'refs/tags/v1', main)
  const later = await host.commit(dir, { 'c.txt': 'later\n' })
  await host.repository('corp/empty')
  await host.repository('corp/quiet', { files: { a: 'a' } })
  return { main, own, fork, later }
}

/** Adds an LFS object to a bare repository, and returns its oid. */
export async function addLfsObject(dir: string): Promise<string> {
  const oid = createHash('sha256').update('an LFS object').digest('hex')
  const folder = join(dir, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4))
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, oid), 'an LFS object')
  return oid
}

type Commits = Awaited<ReturnType<typeof makeDiscussedRepositories>>

export function discussedRecords({ main, own, fork, later }: Commits): RecordLists {
  const defaults = { description: null, website: null, labels: [], collaborators: [] }
  const repository = (fullName: string) => {
    const [owner, name] = fullName.split('/') as [string, string]
    const git = `repositories/${fullName}.git`
    return {
      owner,
      name,
      git,
      private: false,
      defaultBranch: 'main',
      createdAt: at(1),
      ...defaults,
    }
  }
  const pull = (number: number, ref: string, sha: string, change: object) => ({
    ...{ repository: REPOSITORY, number, author: 'bob', title: `Pull ${number}`, body: 'Please.' },
    ...{
      base: { ref: 'main', sha: later },
      ...UNTRIAGED,
      reviewRequests: [],
      closes: [],
      draft: false,
    },
    head: { ref, sha, owner: 'alice', repository: REPOSITORY },
    ...{ mergedAt: null, closedAt: null, createdAt: at(3) },
    ...change,
  })
  const review = (id: number, author: string, state: string, change: object = {}) => ({
    ...{
      repository: REPOSITORY,
      id,
      pull: 3,
      author,
      body: '',
      headSha: own,
      state,
      reactions: [],
    },
    ...{ createdAt: at(4, 10), submittedAt: at(4, 10 + (id % 10)) },
    ...change,
  })
  const diffPosition = {
    ...{ diffHunk: '@@ -1,2 +1,2 @@\n one\n-two\n+TWO', path: 'a.txt', position: 3 },
    ...{ originalPosition: 3, commit: own, originalCommit: own },
  }
  const reviewComment = (id: number, author: string, change: object = {}) => ({
    ...{
      repository: REPOSITORY,
      id,
      pull: 3,
      review: 303,
      thread: 1,
      author,
      body: `Comment ${id}`,
    },
    ...{ ...diffPosition, state: 'submitted', inReplyTo: null, reactions: [], createdAt: at(5) },
    ...change,
  })
  const comment = (id: number, number: number, change: object = {}) => ({
    ...{
      repository: REPOSITORY,
      id,
      author: 'bob',
      body: `Comment ${id}`,
      reactions: [],
      createdAt: at(6),
    },
    on: { kind: number > 2 ? 'pull_request' : 'issue', number },
    ...change,
  })
  const event = (id: number, number: number, name: string, change: object = {}) => ({
    ...{ repository: REPOSITORY, id, actor: 'alice', event: name, createdAt: at(7), ...change },
    on: { kind: number > 2 ? 'pull_request' : 'issue', number },
  })
  const file = (uuid: string, folder: string, name: string) => ({
    ...{ uuid, name, contentType: 'text/plain', file: `${folder}/${uuid}/${name}` },
  })
  const issue = (number: number, change: object) => ({
    ...{
      repository: REPOSITORY,
      number,
      author: 'alice',
      title: `Issue ${number}`,
      body: null,
      ...UNTRIAGED,
    },
    ...{ closedAt: null, createdAt: at(2), updatedAt: at(2, 13), ...change },
  })
  return {
    repositories: [
      {
        ...repository(REPOSITORY),
        description: 'A site\nof hers',
        labels: [{ name: 'bug', color: 'd73a4a', description: 'Broken', createdAt: at(1) }],
        collaborators: [{ login: 'bob', permission: 'write' }],
        topics: [{ name: 'birds', creator: 'alice', createdAt: at(1), updatedAt: at(1) }],
        wiki: 'repositories/alice/site.wiki.git',
      },
      { ...repository('corp/empty'), defaultBranch: null },
      { ...repository('corp/quiet'), private: true },
    ],
    milestones: [
      milestone(1, { state: 'closed', dueOn: at(9), closedAt: at(8) }),
      milestone(2, { title: 'two' }),
    ],
    issues: [
      issue(1, {
        ...{ labels: ['bug', 'gone'], milestone: 1, closedAt: at(8), author: null },
        reactions: [reaction('alice', '+1'), reaction('bob', '+1'), reaction('bob', 'hooray')],
      }),
      issue(2, { body: HOSTILE_TEXT, title: HOSTILE_TEXT, assignees: ['bob'], milestone: 2 }),
    ],
    // Archives sort comments by age, not by issue.
    issue_comments: [
      comment(11, 2, {
        createdAt: at(6, 15),
        body: 'See https://old.example.com/alice/site/pull/3.',
      }),
      comment(12, 1, { reactions: [reaction('carol', 'eyes')] }),
      comment(13, 2, { createdAt: at(6, 14) }),
      comment(14, 3),
      comment(15, 99),
    ],
    issue_events: [
      event(21, 1, 'locked'),
      event(22, 2, 'locked'),
      event(23, 2, 'unlocked', { createdAt: at(8) }),
      event(24, 3, 'merged', { commit: later, commitRepository: REPOSITORY }),
      event(25, 3, 'closed'),
    ],
    pull_requests: [
      pull(3, 'own', own, { mergedAt: at(7), closedAt: at(7), labels: ['bug'] }),
      pull(4, 'fix', fork, { head: { ref: 'fix', sha: fork, owner: 'bob', repository: null } }),
      pull(5, 'own', own, { draft: true, title: 'Not yet' }),
      pull(6, 'lost', 'c'.repeat(40), { closedAt: at(9), base: { ref: 'main', sha: main } }),
    ],
    pull_request_reviews: [
      review(304, 'dora', 'pending', { submittedAt: null }),
      review(302, 'carol', 'changes_requested', {
        body: 'No.',
        reactions: [reaction('bob', '-1')],
      }),
      review(301, 'bob', 'approved'),
      review(303, 'carol', 'commented'),
      review(305, 'erin', 'dismissed'),
    ],
    pull_request_review_threads: [
      {
        ...{
          repository: REPOSITORY,
          id: 1,
          pull: 3,
          review: 303,
          ...diffPosition,
          line: 2,
          side: 'left',
        },
        ...{ startLine: null, startSide: null, originalLine: 2, originalStartLine: null },
        ...{ createdAt: at(5), resolvedAt: null, resolver: null },
      },
    ],
    pull_request_review_comments: [
      reviewComment(31, 'carol'),
      reviewComment(32, 'bob', { inReplyTo: 31, createdAt: at(5, 14) }),
      reviewComment(33, 'carol', { review: 999, thread: null, createdAt: at(5, 15) }),
      reviewComment(34, 'dora', { review: 304, state: 'pending' }),
    ],
    commit_comments: [
      {
        ...{
          repository: REPOSITORY,
          id: 41,
          commit: main,
          author: 'bob',
          body: 'Nice',
          path: null,
        },
        ...{ position: null, reactions: [], createdAt: at(6) },
      },
    ],
    releases: [
      release('v1', { assets: [file('u1', 'release_assets', 'a b.txt')], name: 'One' }),
      release('next', { draft: true, publishedAt: null }),
      release('v9', {}),
    ],
    attachments: [
      {
        ...{
          repository: REPOSITORY,
          author: 'bob',
          createdAt: at(6),
          on: { kind: 'issue', number: 1 },
        },
        ...file('u2', 'attachments', 'shot.txt'),
      },
      {
        ...{
          repository: REPOSITORY,
          author: 'bob',
          createdAt: at(6),
          on: { kind: 'release', tag: 'v1' },
        },
        ...file('u3', 'attachments', 'gone.txt'),
      },
    ],
  } as RecordLists
}

export const DISCUSSED_FILES = {
  'release_assets/u1/a b.txt': 'an asset',
  'attachments/u2/shot.txt': 'a picture',
}

function milestone(number: number, change: object) {
  return {
    ...{
      repository: REPOSITORY,
      number,
      author: 'alice',
      title: 'one',
      description: null,
      state: 'open',
    },
    ...{ dueOn: null, createdAt: at(1), updatedAt: at(2), closedAt: null, ...change },
  }
}

function release(tag: string, change: object) {
  return {
    ...{ repository: REPOSITORY, tag, author: 'alice', name: null, body: 'Notes', draft: false },
    ...{ prerelease: false, target: 'main', assets: [], publishedAt: at(9), createdAt: at(8) },
    ...change,
  }
}

/** An unpacked archive has no segments, so all of them are the same in its manifest. */
const SEGMENT: ManifestSegment = { sha256: '0'.repeat(64), length: 1, plain_length: 1, crc32: 0 }

/** Writes the manifest of an unpacked archive. `change` can edit it first. */
export async function addManifest(
  archive: string,
  host: Pick<GitHost, 'git'>,
  { repositories, stored = [] }: { repositories: readonly string[]; stored?: readonly string[] },
  change: (manifest: Manifest) => void = () => {},
): Promise<void> {
  const manifestFiles = async (paths: readonly string[]) =>
    await Promise.all(paths.map((path) => manifestFile(archive, path)))
  const manifest: Manifest = {
    ...{ format: 4, generator: 'godwit test', migration_guid: 'a', skipped: [], repositories: [] },
    created_at: '2024-01-01T00:00:00Z',
    metadata: {
      segment: SEGMENT,
      files: await manifestFiles((await readdir(archive)).filter((name) => name.endsWith('.json'))),
    },
    stored_files: [
      { full_name: repositories[0]!, segment: SEGMENT, files: await manifestFiles(stored) },
    ],
  }
  async function plainFiles(folder: string): Promise<string[]> {
    const below = join('repositories', folder)
    const found = await readdir(join(archive, below), { recursive: true, withFileTypes: true })
    return found
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(archive, join(entry.parentPath, entry.name)))
      .filter((path) => !IS_OBJECT.test(path))
  }
  for (const full_name of repositories) {
    const dir = join(archive, 'repositories', full_name)
    const wiki = existsSync(`${dir}.wiki.git`) ? await manifestGit(host, `${dir}.wiki.git`) : null
    const folders = [`${full_name}.git`, ...(wiki ? [`${full_name}.wiki.git`] : [])]
    const files = await manifestFiles((await Promise.all(folders.map(plainFiles))).flat())
    const repository = { full_name, size: 1, segment: SEGMENT, wiki, lfs: [], files }
    manifest.repositories.push({ ...repository, ...(await manifestGit(host, `${dir}.git`)) })
  }
  change(manifest)
  await writeFile(join(archive, 'godwit-manifest.json'), JSON.stringify(manifest))
}

async function manifestFile(archive: string, path: string): Promise<ManifestFile> {
  const content = await readFile(join(archive, path))
  return { path, size: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

async function manifestGit(host: Pick<GitHost, 'git'>, dir: string): Promise<ManifestGit> {
  const lines = await host.git(['for-each-ref', '--format=%(objectname) %(refname)'], { dir })
  const refs = lines.split('\n').flatMap((line) => {
    const [oid, name] = line.split(' ')
    return oid && name ? [{ oid, name }] : []
  })
  const head = (await host.git(['symbolic-ref', 'HEAD'], { dir })).trim()
  return { object_format: 'sha1', head, refs, symrefs: [] }
}
