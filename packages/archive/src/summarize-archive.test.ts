import assert from 'node:assert/strict'
import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/archive-samples.ts'
import { needs, runTool } from '../../../test/support/archive-tools.ts'
import { ARCHIVE_WRITERS } from '../../../test/support/archive-writers.ts'
import { REAL_ARCHIVE } from '../../../test/support/real-archive.ts'
import { type UnusualEntry, unusualGzip, unusualTar } from '../../../test/support/unusual-tar.ts'
import { listPeople } from './list-people.ts'
import { summarizeArchive } from './summarize-archive.ts'

const signal = () => new AbortController().signal

const entry = (path: string, text: string): UnusualEntry => ({
  path,
  kind: 'file',
  content: Buffer.from(text),
  pathPrefix: './',
  type: '0',
  magic: 'gnu',
  name: 'gnu',
  numbers: 'octal',
  extraHeaders: false,
})
/** The modification time of every entry that `unusualTar` writes, in seconds. */
const MTIME = 1_000_000_000
const OID = '1'.repeat(40)

test('an archive is summarized in one pass, whatever the order of its entries', async () => {
  const site = 'repositories/octo/site'
  const entries = [
    entry(`${site}.wiki.git/HEAD`, 'ref: refs/heads/main\n'),
    entry(`${site}.wiki.git/objects/11/${'1'.repeat(38)}`, 'loose'),
    entry(`${site}.git/objects/pack/pack-${OID}.pack`, 'objects'),
    entry(`${site}.git/refs/heads/main`, `${OID}\n`),
    entry(`${site}.git/refs/heads/next`, `${OID}\n`),
    entry(
      `${site}.git/packed-refs`,
      `# pack-refs with: peeled\n${OID} refs/heads/main\n${OID} refs/tags/v1\n^${OID}\n${OID} refs/pull/1/head\n`,
    ),
    entry(`${site}.git/lfs/objects/aa/bb/${'a'.repeat(64)}`, 'large'),
    // The name ends in U+3000, which is no whitespace for git.
    entry(`${site}.git/HEAD`, 'ref: refs/heads/main\u3000\n'),
    // Without a repository octo/lonely, this is a repository and not a wiki.
    entry('repositories/octo/lonely.wiki.git/HEAD', `${OID}\n`),
    entry('attachments/1/shot.png', 'png'),
    entry('issues_000002.json', '[{"url":"https://x.test/3"}]'),
    entry('issues_000001.json', '[{"url":"https://x.test/1"},{"url":null}]'),
    entry('users_000001.json', '{}'),
    // An unknown kind with the name of a property of every object.
    entry('constructor_000001.json', '[1]'),
    entry('schema.json', '{"version":"1.0.1","github_sha":"abc"}'),
  ]
  for (const ordered of [entries, entries.toReversed()]) {
    const { summary, damage } = await summarizeArchive(
      [unusualGzip(unusualTar(ordered), 2)],
      signal(),
    )
    assert.equal(damage, undefined)
    const bytes = ordered.reduce((sum, { content }) => sum + content.length, 0)
    assert.deepEqual(
      { ...summary, warnings: summary.warnings.toSorted() },
      {
        made_by: 'GitHub (abc)',
        made_at: new Date(MTIME * 1000).toISOString(),
        schema_version: '1.0.1',
        migration_guid: null,
        has_manifest: false,
        entries: ordered.length,
        bytes,
        repositories: [
          {
            full_name: 'octo/lonely.wiki',
            bytes: 0,
            default_branch: OID,
            branches: 0,
            tags: 0,
            other_refs: 0,
            has_wiki: false,
            lfs_objects: 0,
            lfs_bytes: 0,
          },
          {
            full_name: 'octo/site',
            // Objects of git and LFS, of the repository and its wiki.
            bytes: 'large'.length + 'loose'.length + 'objects'.length,
            default_branch: 'main\u3000',
            branches: 2,
            tags: 1,
            other_refs: 1,
            has_wiki: true,
            lfs_objects: 1,
            lfs_bytes: 5,
          },
        ],
        records: { constructor: 1, issues: 3 },
        attachments: { files: 1, bytes: 3 },
        lfs: { objects: 1, bytes: 5 },
        skipped: [],
        losses: [],
        warnings: [
          'issues_000001.json: [1].url is not a URL: null',
          'users_000001.json: not a JSON array',
        ],
      },
    )
  }
})

test('a damaged archive is summarized as far as it can be read', async () => {
  const entries = [entry('schema.json', '{"version":"1"}'), entry('users_000001.json', '[]')]
  const tar = unusualTar(entries)
  const { summary, damage } = await summarizeArchive([tar.subarray(0, -1024)], signal())
  assert.equal(summary.entries, 2)
  assert.match(damage?.message ?? '', /ends too early/)
})

test('branches of a project export are named in UTF-8', async () => {
  const header = `# v2 git bundle\n${OID} refs/heads/größe\n${OID} refs/tags/v1\n${OID} HEAD\n\nPACK`
  const entries = [entry('VERSION', '0.2.4'), entry('project.bundle', header)]
  const { summary } = await summarizeArchive([unusualTar(entries)], signal())
  const [{ default_branch, branches, tags } = {}] = summary.repositories as {
    default_branch?: string | null
    branches?: number
    tags?: number
  }[]
  assert.deepEqual([default_branch, branches, tags], ['größe', 1, 1])
})

test('a project export has the name of its project, or else that of its file', async () => {
  const nameOf = async (project: string, file: string) => {
    const tar = unusualTar([entry('tree/project.json', project)])
    return (await summarizeArchive([tar], signal(), file)).summary.repositories[0]?.full_name
  }
  assert.equal(await nameOf('{"path":"Tool","topics":["a"]}', 'x.tar.gz'), 'Tool')
  const file = '/tmp/2024-05-01_12-00-123_group_site_export.tar.gz'
  assert.equal(await nameOf('{}', file), 'group_site')
})

test('a tar of anything else is refused', async () => {
  for (const [path, text] of [
    ['README', 'hello'],
    ['VERSION', '1.2'],
  ] as const) {
    const tar = unusualTar([entry(path, text)])
    const why = /neither a migration archive nor a project export/
    await assert.rejects(summarizeArchive([tar], signal()), why)
    await assert.rejects(listPeople([tar], signal()), why)
  }
})

test('the export of a GitLab group is refused', async () => {
  const group = [entry('VERSION', '0.2.4'), entry('tree/groups/1.json', '{}')]
  await assert.rejects(
    summarizeArchive([unusualTar(group)], signal()),
    /: it is the export of a GitLab group/,
  )
})

describe('an archive exported by github.com', REAL_ARCHIVE.needed, () => {
  test('is summarized with its exporter, time and contents', async () => {
    const { summary, damage } = await summarizeArchive(
      createReadStream(REAL_ARCHIVE.file),
      signal(),
    )
    assert.equal(damage, undefined)
    const { made_by, made_at, schema_version, repositories, records, warnings } = summary
    assert.equal(made_by, 'GitHub (8de0984858fd99a8dcd2d756cf0f128b9161e3b5)')
    assert.match(made_at ?? '', /^2022-01-03T08:20:/)
    assert.equal(schema_version, '1.0.1')
    assert.deepEqual(warnings, [])
    assert.equal(records.users, 49)
    assert.equal(records.issue_events, 14)
    const [{ full_name, default_branch, branches } = {}] = repositories as [
      Partial<(typeof repositories)[number]>?,
    ]
    assert.deepEqual([full_name, default_branch], ['go-gitea/test_repo', 'master'])
    assert.ok((branches ?? 0) > 0)
  })

  test('has the same summary after it is extracted or repacked', needs('GNU tar'), async (t) => {
    const folder = await temporaryFolder(t)
    await runTool('GNU tar', ['-xzf', REAL_ARCHIVE.file, '--no-same-owner', '-C', folder])
    const repacked = join(await temporaryFolder(t), 'repacked')
    await ARCHIVE_WRITERS['GNU tar, pax']!.write(folder, repacked)
    const first = await summarizeArchive([readFileSync(REAL_ARCHIVE.file)], signal())
    // The number of entries and the order of the kinds depend on how the archive was packed.
    const comparable = (summary: typeof first.summary) => ({
      ...summary,
      entries: 0,
      records: Object.fromEntries(Object.entries(summary.records).sort()),
    })
    for (const archive of [createReadStream(repacked), { folder }]) {
      const { summary } = await summarizeArchive(archive, signal())
      assert.deepEqual(comparable(summary), comparable(first.summary))
    }
  })
})
