import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/archive-samples.ts'
import { type GitHost, gitHost } from '../../../test/support/git-host.ts'
import {
  DISCUSSED_FILES,
  discussedRecords,
  makeDiscussedRepositories,
  type RecordLists,
  writeUnpackedArchive,
} from '../../../test/support/gitea-archive.ts'
import {
  GITLAB_2019,
  needsGitLab,
  readContent,
  unpackTree2020,
  writeExport,
} from '../../../test/support/gitlab-exports.ts'
import { REAL_ARCHIVE } from '../../../test/support/real-archive.ts'
import type { Bytes } from '../../lib/src/bytes.ts'
import { type ConvertOptions, convert } from './convert.ts'
import { Report } from './formats/format.ts'
import { giteaDumpWriter } from './formats/gitea-dump/write-gitea-dump.ts'
import { githubArchiveWriter } from './formats/github-archive/write-github-archive.ts'
import { gitlabExportWriter } from './formats/gitlab-export/write-gitlab-export.ts'
import { htmlWriter } from './formats/html/write-html.ts'
import { organizationRecord } from './records/people.ts'
import { RECORD_KINDS, type RecordsByKind } from './records/record-kinds.ts'
import { restoreArchive } from './restore-archive.ts'
import type { Folder } from './tar/read-folder.ts'
import { type Finding, verifyArchive } from './verify-archive.ts'

let host: GitHost
let records: RecordLists
before(async () => {
  host = await gitHost()
  records = discussedRecords(await makeDiscussedRepositories(host))
})
after(() => host.remove())

const { signal } = new AbortController()

async function scene(t: TestContext) {
  const into = await temporaryFolder(t)
  const output = join(into, 'archive.tar.gz')
  const warnings: string[] = []
  const report = new Report((text) => warnings.push(text))
  const convertAll = (inputs: (Bytes | Folder)[], more: Partial<ConvertOptions> = {}) =>
    Array.fromAsync(
      convert(
        {
          ...{
            git: host.godwitGit,
            repositories: [],
            owner: 'alice',
            people: new Map(),
            into,
            report,
          },
          inputs: inputs.map((input, n) => ({
            name: `group_tool-${n}_export.tar.gz`,
            open: () => input,
          })),
          createWriter: (workDirectory) =>
            githubArchiveWriter({ output, workDirectory, generator: 'godwit test', now: Date.now }),
          numbersFile: join(into, 'numbers.csv'),
          ...more,
        },
        signal,
      ),
    )
  const verify = async () => {
    const directory = await temporaryFolder(t)
    const options = { git: host.godwitGit, directory, file: output }
    return Array.fromAsync(verifyArchive(options, createReadStream(output), signal))
  }
  const readOutput = () => readContent(t, createReadStream(output), { git: host.godwitGit })
  return { into, output, report, warnings, convertAll, verify, readOutput }
}

/** A team with access to a repository that is not in the archive. */
const TEAM = {
  ...{ organization: 'corp', slug: 'core', parent: null, name: 'Core', description: null },
  ...{ privacy: 'closed', members: [], createdAt: '2021-01-01T00:00:00Z' },
  permissions: [{ repository: 'corp/elsewhere', access: 'push' }],
}

const SITE = { repositories: ['alice/site'] }

const textsIn = (findings: readonly Finding[], level: string) =>
  findings.flatMap((each) => ('text' in each && each.level === level ? [each.text] : []))
const errorsIn = (findings: readonly Finding[]) => textsIn(findings, 'error')

/** The sample refers to a pull request, a review and a label that it does not have. An archive has no such links. */
function withoutBrokenLinks(record: object): object[] {
  if ('id' in record && 'on' in record && record.id === 15) return []
  if ('review' in record && record.review === 999) return [{ ...record, review: null }]
  if (!('git' in record && 'labels' in record && 'name' in record && record.name === 'site'))
    return [record]
  const { labels, createdAt } = record as RecordsByKind['repositories']
  const gone = { name: 'gone', color: 'ededed', description: null, createdAt }
  return [{ ...record, labels: [...labels, gone] }]
}

test('an archive is converted to an archive with the same records, which is verified and restored', async (t) => {
  const { into, output, warnings, convertAll, verify, readOutput } = await scene(t)
  const folder = join(into, 'unpacked')
  await writeUnpackedArchive(folder, host, { ...records, teams: [TEAM] }, DISCUSSED_FILES)
  const before = await readContent(t, { folder }, { git: host.godwitGit })
  const written = await convertAll([{ folder }])
  assert.deepEqual(
    written,
    ['alice/site', 'corp/empty', 'corp/quiet'].map((fullName) => ({ fullName, errors: [] })),
  )
  assert.doesNotMatch(execFileSync('tar', ['-xOzf', output]).toString('latin1'), /gitlab\.invalid/)
  const findings = await verify()
  assert.deepEqual(errorsIn(findings), [])
  assert.deepEqual(findings.at(-1), { compared: true })
  const made = await readOutput()
  for (const kind of RECORD_KINDS)
    if (!['users', 'attachments', 'releases'].includes(kind))
      assert.deepEqual(
        await made.records(kind),
        (await before.records(kind)).flatMap(withoutBrokenLinks),
        kind,
      )
  const links = 'is not in the input'
  assert.deepEqual(
    warnings
      .filter((text) => text.includes(links))
      .map((text) => /[#\w-]+ (?=belongs|leads)/.exec(text)?.[0]),
    ['99#issuecomment-15 ', 'pull_request_review '],
  )
  const [attachment] = await made.records('attachments')
  const found = await made.content.findFile(attachment!.file, 'alice/site')
  assert.ok('file' in found)
  assert.equal(await readFile(found.file, 'utf8'), 'a picture')
  const restored = join(into, 'restored')
  const open = () => createReadStream(output)
  const results = await Array.fromAsync(
    restoreArchive({ git: host.godwitGit, open, into: restored }, signal),
  )
  assert.deepEqual(
    results.map(({ errors }) => errors.length),
    [0, 0, 0],
  )
  assert.deepEqual(readdirSync(into).sort(), ['archive.tar.gz', 'restored', 'unpacked'])
})

test('records without their git data are refused, and converted from one directory with it', async (t) => {
  const { into, convertAll, readOutput } = await scene(t)
  const folder = join(into, 'both')
  await writeUnpackedArchive(folder, host, records, DISCUSSED_FILES)
  const recordsText = join(into, 'records')
  await cp(folder, recordsText, { recursive: true })
  await rm(join(recordsText, 'repositories'), { recursive: true })
  const git = join(into, 'git')
  await mkdir(git)
  await rename(join(folder, 'repositories'), join(git, 'repositories'))
  await assert.rejects(
    convertAll([{ folder: git }, { folder: recordsText }]),
    /-1_export\.tar\.gz: .* no git data: unpack it over the archive that has it/,
  )
  await cp(recordsText, git, { recursive: true })
  await convertAll([{ folder: git }])
  assert.equal((await (await readOutput()).records('issues')).length, records.issues?.length)
})

test('webhooks and deploy keys are reported as lost', async (t) => {
  const { into, convertAll, report } = await scene(t)
  const folder = join(into, 'unpacked')
  await writeUnpackedArchive(folder, host, records, DISCUSSED_FILES)
  const file = join(folder, 'repositories_000001.json')
  const [first, ...others] = JSON.parse(await readFile(file, 'utf8'))
  const changed = { ...first, webhooks: [{}, {}], public_keys: [{}] }
  await writeFile(file, JSON.stringify([changed, ...others]))
  const organization = { type: 'organization', url: 'https://old.example.com/corp', login: 'corp' }
  const organizations = [{ ...organization, members: [], webhooks: [{}] }]
  await writeFile(join(folder, 'organizations_000001.json'), JSON.stringify(organizations))
  await convertAll([{ folder }])
  const counts = report.end().map(({ kind, count }) => [kind, count])
  assert.deepEqual(
    counts.filter(([kind]) => /webhooks|keys/.test(String(kind))),
    [
      ['deploy_keys', 1],
      ['webhooks', 3],
    ],
  )
})

test('an owner that no input needs is a warning', async (t) => {
  const { into, convertAll, warnings } = await scene(t)
  const folder = join(into, 'unpacked')
  await writeUnpackedArchive(folder, host, records, DISCUSSED_FILES)
  await convertAll([{ folder }], { owner: 'bob' })
  assert.ok(warnings.includes('--owner is ignored: no input is a project export of GitLab'))
})

test('a loss without an example is counted when the archive is verified', async (t) => {
  const { into, convertAll, verify } = await scene(t)
  const folder = join(into, 'unpacked')
  const discussions = [{ repository: 'alice/site' }]
  await writeUnpackedArchive(folder, host, { ...records, discussions }, DISCUSSED_FILES)
  await convertAll([{ folder }])
  const notes = textsIn(await verify(), 'note')
  assert.deepEqual(
    notes.filter((note) => note.includes('discussion')),
    ['not in the archive: 1 discussion'],
  )
})

test('an archive of github.com is converted and verified', REAL_ARCHIVE.needed, async (t) => {
  const { convertAll, verify, readOutput, report } = await scene(t)
  const before = await readContent(t, createReadStream(REAL_ARCHIVE.file), { git: host.godwitGit })
  await convertAll([createReadStream(REAL_ARCHIVE.file)])
  assert.deepEqual(errorsIn(await verify()), [])
  const made = await readOutput()
  for (const kind of ['issues', 'issue_comments', 'pull_requests', 'pull_request_reviews'] as const)
    assert.deepEqual(await made.records(kind), await before.records(kind), kind)
  assert.deepEqual(
    report.end().filter(({ kind }) => RECORD_KINDS.includes(kind as never)),
    [],
  )
})

test(
  'exports of GitLab become one archive with new numbers, which is verified',
  needsGitLab,
  async (t) => {
    const { into, convertAll, verify, readOutput } = await scene(t)
    const folder = await unpackTree2020(t, 'complex')
    const written = await convertAll([createReadStream(GITLAB_2019), { folder }])
    assert.deepEqual(
      written.map(({ fullName, errors }) => [fullName, errors]),
      [
        ['alice/group_tool-0', []],
        ['alice/group_tool-1', []],
      ],
    )
    const findings = await verify()
    assert.deepEqual(errorsIn(findings), [])
    const made = await readOutput()
    assert.equal((await made.records('issues')).length, 20)
    assert.equal((await made.records('pull_requests')).length, 18)
    assert.equal((await made.records('issue_comments')).length, 304)
    const lines = (await readFile(join(into, 'numbers.csv'), 'utf8')).split('\n')
    assert.deepEqual(
      [lines[0], lines[1], lines.length],
      ['repository,old,new', 'alice/group_tool-0,!1,#11', 20],
    )
  },
)

test('people are mapped, and two that become one have one record', async (t) => {
  const { into, convertAll, verify, readOutput } = await scene(t)
  const folder = join(into, 'unpacked')
  await writeUnpackedArchive(folder, host, records, DISCUSSED_FILES)
  const anna = { login: 'anna', id: undefined }
  await convertAll([{ folder }], {
    ...SITE,
    people: new Map([
      ['bob', anna],
      ['carol', anna],
    ]),
  })
  assert.deepEqual(errorsIn(await verify()), [])
  const made = await readOutput()
  const logins = (await made.records('users')).map(({ login }) => login)
  assert.deepEqual(
    logins.filter((login) => ['anna', 'bob', 'carol'].includes(login)),
    ['anna'],
  )
  const authors = new Set((await made.records('pull_requests')).map(({ author }) => author))
  assert.deepEqual([...authors], ['anna'])
})

test('owners and organizations keep their names, and nobody is listed twice', async (t) => {
  const { into, convertAll, verify, readOutput, warnings } = await scene(t)
  const folder = join(into, 'unpacked')
  const [issue, ...issues] = records.issues!
  const user = (login: string) => `https://old.example.com/${login}`
  const members = [
    { user: user('bob'), role: 'direct_member' },
    { user: user('carol'), role: 'admin' },
  ]
  const changed: RecordLists = {
    ...records,
    issues: [{ ...issue!, assignees: ['bob', 'carol'] }, ...issues],
    organizations: [organizationRecord({ login: 'corp', members }, '')],
  }
  await writeUnpackedArchive(folder, host, changed, DISCUSSED_FILES)
  const people = ['bob', 'carol'].map((login) => [login, { login: 'anna', id: undefined }] as const)
  await convertAll([{ folder }], {
    owner: '',
    people: new Map([...people, ['corp', { login: 'newcorp', id: undefined }]]),
  })
  assert.deepEqual(errorsIn(await verify()), [])
  const made = await readOutput()
  assert.deepEqual(
    (await made.records('organizations')).map(({ members }) => members.map(({ role }) => role)),
    [['admin']],
  )
  const users = (await made.records('users')).map(({ login }) => login)
  assert.deepEqual(
    users.filter((login) => login.includes('corp')),
    [],
  )
  assert.deepEqual((await made.records('issues'))[0]?.assignees, ['anna'])
  assert.deepEqual(
    warnings.filter((line) => line.includes('owner')),
    ['the repositories of corp keep their owner: only people are mapped'],
  )
})

const SECRET = '0123456789abcdef'.repeat(2)

/** Writes an export with one issue, whose text links to an upload. */
const exportWithUpload = (into: string, name: string, content: string) => {
  const times = { created_at: '2024-05-01T12:00:00Z', updated_at: '2024-05-01T12:00:00Z' }
  const description = `[a](/uploads/${SECRET}/a.txt)`
  const issue = { iid: 1, title: 'One', author_id: 1, state: 'opened', description, ...times }
  const files = {
    'tree/project.json': JSON.stringify({ name }),
    [`uploads/${SECRET}/a.txt`]: content,
  }
  const milestone = { iid: 1, title: 'First', state: 'active', description, ...times }
  return writeExport(join(into, name), { issues: [issue], milestones: [milestone] }, files)
}

test('a conversion that fails for every repository leaves nothing', async (t) => {
  const { into, convertAll, report } = await scene(t)
  const times = { created_at: '2024-05-01T12:00:00Z', updated_at: '2024-05-01T12:00:00Z' }
  const merge = { iid: 1, title: 'One', author_id: 1, state: 'opened', ...times }
  const branches = { source_branch: 'topic', target_branch: 'main' }
  const folder = await writeExport(
    join(into, 'one'),
    { merge_requests: [{ ...merge, ...branches }] },
    { 'project.bundle': '# v2 git bundle\n\nno pack' },
  )
  const output = join(into, 'site')
  const toHtml = (workDirectory: string) =>
    htmlWriter({
      git: host.godwitGit,
      ...{ output, workDirectory, generator: 'godwit test', now: new Date() },
    })
  for (const more of [{}, { createWriter: toHtml }]) {
    const written = await convertAll([{ folder }], more)
    assert.deepEqual(
      written.map(({ errors }) => errors.length),
      [1],
    )
    assert.deepEqual(readdirSync(into), ['one'])
  }
  assert.deepEqual(report.notes, [])
})

describe('two inputs with different files at one path', () => {
  async function twoInputs(t: TestContext) {
    const { into, ...rest } = await scene(t)
    const [one, two] = [
      await exportWithUpload(into, 'one', 'first'),
      await exportWithUpload(into, 'two', 'second'),
    ]
    return { ...rest, into, folders: [{ folder: one }, { folder: two }] }
  }
  const contentsOf = (directory: string, suffix: string) =>
    readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(suffix))
      .sort()
      .map((path) => readFileSync(join(directory, path), 'utf8'))

  test('become an archive in which each text links to its own file', async (t) => {
    const { folders, convertAll, verify, readOutput } = await twoInputs(t)
    await convertAll(folders)
    assert.deepEqual(errorsIn(await verify()), [])
    const { records, content } = await readOutput()
    const attachments = await records('attachments')
    const linked = []
    const milestones = await records('milestones')
    for (const { repository, body } of await records('issues')) {
      const milestone = milestones.find((each) => each.repository === repository)!
      assert.equal(milestone.description, body)
      const attachment = attachments.find(({ uuid }) => body!.includes(`/assets/${uuid})`))!
      assert.equal(attachment.repository, repository)
      const found = await content.findFile(attachment.file, repository)
      linked.push([repository, 'file' in found && (await readFile(found.file, 'utf8'))])
    }
    assert.deepEqual(linked, [
      ['alice/one', 'first'],
      ['alice/two', 'second'],
    ])
  })

  test('become a site in which each text links to its own file', async (t) => {
    const { folders, into, convertAll } = await twoInputs(t)
    const output = join(into, 'site')
    await convertAll(folders, {
      createWriter: (workDirectory) =>
        htmlWriter({
          git: host.godwitGit,
          ...{ output, workDirectory, generator: 'godwit test', now: new Date() },
        }),
    })
    const linked = ['one', 'two'].map((name) => {
      const directory = join(output, 'repositories/alice', name, 'issues')
      const [, link] = /href="([^"]*a\.txt)"/.exec(readFileSync(join(directory, '1.html'), 'utf8'))!
      return readFileSync(join(directory, link!), 'utf8')
    })
    assert.deepEqual(linked, ['first', 'second'])
  })

  test('become dumps and exports with their own files', async (t) => {
    const { folders, into, convertAll } = await twoInputs(t)
    const common = { git: host.godwitGit, into: join(into, 'dumps'), people: new Map() }
    await convertAll(folders, {
      createWriter: (workDirectory) =>
        giteaDumpWriter({ ...common, workDirectory, keepLinks: false, forge: '' }),
    })
    assert.deepEqual(contentsOf(common.into, 'a.txt'), ['first', 'second'])
    await convertAll(folders, {
      createWriter: (workDirectory) =>
        gitlabExportWriter({ ...common, workDirectory, assetBaseUrl: '' }),
    })
    for (const [name, content] of Object.entries({ one: 'first', two: 'second' })) {
      const file = join(common.into, `alice/${name}_export.tar.gz`)
      const path = `uploads/${SECRET}/a.txt`
      assert.equal(execFileSync('tar', ['xzOf', file, path], { encoding: 'utf8' }), content)
    }
  })
})

test('an attachment that two repositories have in common is packed once', async (t) => {
  const { into, convertAll, verify, readOutput } = await scene(t)
  const folder = join(into, 'unpacked')
  const [shot] = records.attachments!
  const shared = { ...shot!, repository: 'corp/quiet', on: { kind: 'repository' as const } }
  const both = { ...records, attachments: [shot!, shared] }
  await writeUnpackedArchive(folder, host, both, DISCUSSED_FILES)
  await convertAll([{ folder }])
  assert.deepEqual(errorsIn(await verify()), [])
  const made = await (await readOutput()).records('attachments')
  assert.deepEqual(
    made.map(({ repository, file }) => [repository, file]),
    ['alice/site', 'corp/quiet'].map((name) => [name, shot!.file]),
  )
})

test('an attachment without a folder of its own is packed', async (t) => {
  const { into, convertAll, verify } = await scene(t)
  const folder = join(into, 'unpacked')
  const [shot] = records.attachments!
  const flat = { ...records, attachments: [{ ...shot!, file: 'attachments/shot.txt' }] }
  const files = { ...DISCUSSED_FILES, 'attachments/shot.txt': 'a picture' }
  await writeUnpackedArchive(folder, host, flat, files)
  await convertAll([{ folder }])
  assert.deepEqual(errorsIn(await verify()), [])
})

test('inputs that clash, existing outputs and unknown repositories are refused, and nothing is left', async (t) => {
  const { into, output, convertAll, warnings } = await scene(t)
  const times = { created_at: '2024-05-01T12:00:00Z', updated_at: '2024-05-01T12:00:00Z' }
  const make = (name: string, author: string) =>
    writeExport(
      join(into, name),
      {
        issues: [
          {
            ...{ iid: 1, title: 'One', author_id: 1, state: 'opened', ...times },
            notes: [{ note: 'x', author_id: 1, author: { name: author }, ...times }],
          },
        ],
      },
      { 'tree/project.json': JSON.stringify({ name }) },
    )
  const [one, two] = [await make('one', 'Ann'), await make('two', 'Other')]
  const left = () => readdirSync(into).sort()
  await assert.rejects(
    convertAll([{ folder: one }, { folder: one }]),
    /alice\/one is both in group_tool-0_export\.tar\.gz and in group_tool-1/,
  )
  await assert.rejects(
    convertAll([{ folder: one }], { repositories: ['x/y'] }),
    /does not hold x\/y/,
  )
  await assert.rejects(convertAll([{ folder: one }], { owner: '' }), /use --owner LOGIN/)
  assert.deepEqual(left(), ['one', 'two'])
  await convertAll([{ folder: one }, { folder: two }])
  assert.deepEqual(
    warnings.filter((line) => line.includes('two names')),
    ['gitlab-user-1 has two names, Ann and Other; the first is used'],
  )
  assert.deepEqual(left(), ['archive.tar.gz', 'one', 'two'])
  await assert.rejects(convertAll([{ folder: one }]), /archive\.tar\.gz already exists/)
  assert.ok(existsSync(output))
  await mkdir(join(into, 'empty'))
  await writeFile(join(into, 'empty/schema.json'), '{"version":"1.0.1"}')
  await assert.rejects(
    convertAll([{ folder: join(into, 'empty') }], {
      createWriter: () => ({ write: async function* () {} }),
    }),
    /it holds no repositories/,
  )
})

test('files of an archive that cannot be parsed are named and counted', async (t) => {
  const { convertAll, into, warnings, report } = await scene(t)
  const folder = join(into, 'archive')
  await writeUnpackedArchive(folder, host, records, DISCUSSED_FILES)
  await writeFile(join(folder, 'schema.json'), 'null')
  await writeFile(join(folder, 'milestones_000001.json'), '[')
  await writeFile(join(folder, 'organizations_000001.json'), '[')
  await convertAll([{ folder }])
  assert.equal(report.losses().find(({ kind }) => kind === 'unreadable_files')?.count, 2)
  assert.match(warnings.join('\n'), /milestones_000001.json: .*; nothing of it is used/)
})
