import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { needsChromium, visit } from '../support/browser.ts'
import {
  type CommandLine,
  commandLine,
  entriesIn,
  type PlainEntry,
  packEntries,
} from '../support/command-line.ts'
import { section, untilHeading } from '../support/dashboard.ts'
import { untilEnded } from '../support/ended-migration.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type FakeForge, startForge } from '../support/forge/fake-forge.ts'
import { BINARY, fillForge, tokenOf } from '../support/forge/filled-forge.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import type { SharedService } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

type JsonRecord = Record<string, unknown>

/** The fields of each kind of record in GitHub's own archives, not taken from our code. */
const FIELDS: Record<string, string> = {
  users:
    'type url avatar_url login name bio company website location emails social_accounts billing_plan created_at',
  organizations:
    'type url login name description website location email members owners_team webhooks created_at member_privileges repository_defaults',
  teams:
    'type url organization parent_team name description privacy permissions members created_at',
  repositories:
    'type url owner name description website private has_issues has_wiki has_downloads is_archived labels collaborators created_at git_url default_branch webhooks page public_keys repository_topics',
  milestones:
    'type url repository user title description state due_on created_at updated_at closed_at',
  issues:
    'type url repository user title body assignee assignees milestone labels reactions closed_at created_at updated_at',
  issue_comments: 'type url user body formatter reactions created_at',
  issue_events: 'type url actor event created_at',
  pull_requests:
    'type url user repository title body base head assignee assignees milestone labels reactions review_requests close_issue_references work_in_progress merged_at closed_at created_at merge_commit_sha',
  pull_request_reviews:
    'type url pull_request user body head_sha formatter state reactions created_at submitted_at',
  pull_request_review_threads:
    'type url pull_request pull_request_review diff_hunk path position original_position commit_id original_commit_id created_at resolved_at resolver',
  pull_request_review_comments:
    'type url pull_request pull_request_review pull_request_review_thread user body formatter diff_hunk path position original_position commit_id original_commit_id state in_reply_to reactions created_at',
  releases:
    'type url repository user name tag_name body state pending_tag prerelease target_commitish release_assets published_at created_at',
  protected_branches:
    'type name url creator_url repository_url admin_enforced authorized_actors_only authorized_user_urls authorized_team_urls required_status_checks required_approving_review_count',
  attachments: 'type url user asset_name asset_content_type asset_url created_at',
}

const FIELDS_OF_PEOPLE =
  /^(user|owner|actor|assignee|assignees|creator|creator_url|resolver|subject_user)$/
const FIELDS_OF_RECORDS =
  /^(repository|repository_url|issue|pull_request|milestone|issue_comment|pull_request_review|pull_request_review_thread|pull_request_review_comment|in_reply_to|organization|release|authorized_team_urls)$/

interface CheckedRecords {
  of(kind: string): JsonRecord[]
}

/**
 * Checks that files are numbered without gaps and hold at most 100 records each, that URLs are unique, that
 * every record has the fields of its kind, and that every link leads to a record or an entry of the archive. It
 * shares no code with the exporter.
 */
function checkRecords(entries: readonly PlainEntry[]): CheckedRecords {
  const files = new Map<string, number[]>()
  const records = new Map<string, JsonRecord[]>()
  for (const { path, content } of entries) {
    const [, kind, number] = /^([a-z_]+)_(\d{6})\.json$/.exec(path) ?? []
    if (!kind) continue
    const found = JSON.parse(String(content)) as JsonRecord[]
    assert.ok(found.length > 0 && found.length <= 100, `${path} has ${found.length} records`)
    files.set(kind, [...(files.get(kind) ?? []), Number(number)])
    records.set(kind, [...(records.get(kind) ?? []), ...found])
  }
  for (const [kind, numbers] of files)
    assert.deepEqual(
      numbers,
      numbers.map((_, n) => n + 1),
      kind,
    )
  const all = [...records].flatMap(([kind, found]) => found.map((record) => ({ kind, record })))
  const urls = new Set<unknown>()
  for (const { kind, record } of all) {
    assert.ok(!urls.has(record.url), `${record.url} is not unique`)
    urls.add(record.url)
    for (const field of (FIELDS[kind] ?? '').split(' '))
      assert.ok(field in record, `${record.url} has no ${field}`)
  }
  const people = new Set(
    ['users', 'organizations'].flatMap((kind) => (records.get(kind) ?? []).map(({ url }) => url)),
  )
  const paths = new Set(entries.map(({ path }) => path.replace(/\/$/, '')))
  for (const { record } of all) checkLinks(record, '', `${record.url}`, { urls, people, paths })
  checkPulls(records)
  return { of: (kind) => records.get(kind) ?? [] }
}

interface Known {
  urls: ReadonlySet<unknown>
  people: ReadonlySet<unknown>
  paths: ReadonlySet<string>
}

function checkLinks(value: unknown, name: string, at: string, known: Known): void {
  if (Array.isArray(value)) for (const each of value) checkLinks(each, name, at, known)
  else if (typeof value === 'object' && value !== null) {
    // A fork need not be in the archive.
    for (const [key, each] of Object.entries(value))
      if (key !== 'repo') checkLinks(each, key, `${at} ${key}`, known)
  } else if (typeof value === 'string') {
    if (value.startsWith('tarball://root/'))
      assert.ok(known.paths.has(value.slice('tarball://root/'.length)), `${at}: ${value}`)
    else if (FIELDS_OF_PEOPLE.test(name))
      assert.ok(known.people.has(value), `${at}: no person has the URL ${value}`)
    else if (FIELDS_OF_RECORDS.test(name))
      assert.ok(known.urls.has(value), `${at}: no record has the URL ${value}`)
  }
}

/** Checks that importers can read the pull requests. */
function checkPulls(records: ReadonlyMap<string, JsonRecord[]>): void {
  const events = records.get('issue_events') ?? []
  for (const pull of records.get('pull_requests') ?? []) {
    if (pull.merged_at === null) continue
    const of = (event: string) =>
      events.some((each) => each.event === event && each.pull_request === pull.url)
    assert.ok(of('merged') && of('closed'), `${pull.url} is merged without both events`)
  }
  for (const comment of records.get('pull_request_review_comments') ?? [])
    assert.notEqual(comment.diff_hunk, '', `${comment.url} has an empty diff_hunk`)
}

const REPOSITORIES = ['ann/site', 'octo/tools', 'tern/data']

let forge: FakeForge
let site: ReturnType<typeof fillForge>['site']
let host: GitHost
let service: SharedService
let commands: CommandLine
let flags: string[]

const fileCleanup = cleanupAfterFile()

before(async () => {
  forge = await startForge()
  fileCleanup.after(() => forge.stop())
  site = fillForge(forge).site
  host = await gitHost()
  fileCleanup.after(host.remove)
  for (const name of REPOSITORIES) await host.repository(name, { files: { 'README.md': name } })
  const tokenFile = join(temporaryDirectory(fileCleanup), 'token')
  await writeFile(tokenFile, 'admin-token\n')
  await chmod(tokenFile, 0o600)
  flags = ['--forge', forge.url, '--forge-token-file', tokenFile]
  service = await startSharedService(fileCleanup, { repositories: host.root, flags })
  commands = await commandLine(fileCleanup)
})

async function migrate(repositories: readonly string[], more: object = {}) {
  const token = tokenOf('ann')
  const body = JSON.stringify({ repositories, ...more })
  const response = await service.call(token, '/user/migrations', { method: 'POST', body })
  assert.equal(response.status, 201, service.log())
  const { id } = (await response.json()) as { id: number }
  await untilEnded(service, token, id, 'exported')
  const archive = await service.call(token, `/user/migrations/${id}/archive`, {
    redirect: 'follow',
  })
  const file = join(commands.folder, `${id}.tar.gz`)
  await writeFile(file, Buffer.from(await archive.arrayBuffer()))
  return { id, token, file }
}

test('what the forge did not return is in the archive, and every command shows it', async (t) => {
  // Later tests export the file, and their segments are reused.
  const { uuid } = site.issues.get(1)!.assets[0]!
  forge.faultFor = ({ path }) =>
    path === `/attachments/${uuid}` ? { response: { status: 404, body: {} } } : undefined
  t.after(() => {
    forge.faultFor = () => undefined
  })
  const { id, file } = await migrate(['ann/site'])
  const example = new RegExp(`ann/site: attachments/${uuid}/[^\\n]*: missing on the forge`)
  const { godwit } = await commandLine(t, { GODWIT_URL: service.url, GODWIT_TOKEN: tokenOf('ann') })
  const commandsOf: Record<string, string[]> = {
    show: ['show', file],
    verify: ['verify', file],
    'migration show': ['migration', 'show', String(id)],
    convert: ['convert', file, '--to', 'github-archive', '--output', 'again.tar.gz'],
    'show what convert wrote': ['show', 'again.tar.gz'],
  }
  for (const [name, args] of Object.entries(commandsOf)) {
    const shown = await godwit(args)
    assert.equal(shown.code, 0, shown.output)
    assert.match(shown.output, example, name)
    assert.match(shown.output, /1 attachment\b/, name)
  }
  for (const name of ['show', 'migration show']) {
    const { stdout } = await godwit([...commandsOf[name]!, '--json'])
    const losses = JSON.parse(String(stdout)).losses as { kind: string; count: number }[]
    assert.equal(losses.find(({ kind }) => kind === 'attachments')?.count, 1, name)
  }
})

test('a forge is exported to an archive that passes every check', async () => {
  const { id, token, file } = await migrate(REPOSITORIES)
  const entries = await entriesIn(file)
  const { of } = checkRecords(entries)
  assert.deepEqual(
    ['issues', 'pull_requests', 'releases', 'organizations'].map((kind) => of(kind).length),
    [40, 12, 3, 2],
  )
  const states = new Set(of('pull_request_reviews').map(({ state }) => state))
  assert.deepEqual([...states].sort(), [1, 30, 40, 50])
  assert.equal(of('pull_requests').filter(({ merged_at }) => merged_at !== null).length, 4)
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  const binaries = entries.filter(({ path }) => path.endsWith('.bin'))
  assert.deepEqual(
    binaries.map(({ content }) => digest(content)),
    Array.from({ length: 3 }, () => digest(BINARY)),
  )
  const everything = entries.map(({ content }) => String(content)).join('\n')
  assert.ok(!everything.includes('admin-token') && !service.log().includes('admin-token'))

  const verified = await commands.godwit(['verify', file])
  assert.equal(verified.code, 0, verified.output)
  const shown = await commands.godwit(['show', file])
  assert.match(shown.output, /^issues +40$/m)
  const report = await (
    await service.call(token, `/user/migrations/${id}/report`, {
      headers: { accept: 'text/plain' },
    })
  ).text()
  assert.match(report, /20 issues and pull requests as of 20\d\d-/)
  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  assert.match(metrics, /^godwit_dependency_up\{dependency="forge"\} 1$/m)
})

test(
  'the page of a migration shows the number of issues and pull requests',
  needsChromium,
  async (t) => {
    const { id } = await migrate(REPOSITORIES)
    const page = await visit(t, `${service.url}/#/migrations/${id}`, { token: tokenOf('ann') })
    await untilHeading(page, `Migration ${id}`)
    const figures = section(page, 'Progress')
    await figures.getByText('Issues and pull requests').waitFor()
    assert.match(await figures.innerText(), /Issues and pull requests\s+52\b/)
  },
)

test('`export` without a service exports the same', async () => {
  const { file } = await migrate(REPOSITORIES)
  const args = ['export', ...REPOSITORIES, '--repositories', host.root, ...flags]
  const made = await commands.godwit([...args, '--base-url', service.url, '--output', 'own.tar.gz'])
  assert.equal(made.code, 0, made.output)
  const recordsIn = async (archive: string) =>
    new Map(
      (await entriesIn(archive)).flatMap(({ path, content }) =>
        /^(issues|pull|releases|milestones|attachments)/.test(path)
          ? [[path, String(content)]]
          : [],
      ),
    )
  const ours = await recordsIn(join(commands.folder, 'own.tar.gz'))
  assert.ok(ours.size >= 8)
  assert.deepEqual(ours, await recordsIn(file))
})

test('a directory that the forge does not know is exported to nobody, and named', async (t) => {
  await host.repository('ann/stray', { files: { a: 'a' } })
  t.after(() => rm(host.path('ann/stray'), { recursive: true }))
  const reason = 'the forge does not know this repository'
  const settings = ['--repositories', host.root, ...flags]
  const made = await commands.godwit([
    'export',
    'ann/stray',
    ...settings,
    '--output',
    'stray.tar.gz',
  ])
  assert.deepEqual([made.code, made.output.trim()], [1, `godwit: ann/stray: ${reason}`])
  const synced = await commands.godwit([
    'sync',
    '--data',
    join(commands.folder, 'data'),
    ...settings,
  ])
  assert.match(synced.output, new RegExp(`^skipped: ann/stray\\.git: ${reason}$`, 'm'))
  const unreachable = [
    '--repositories',
    host.root,
    '--forge',
    'http://127.0.0.1:1',
    ...flags.slice(2),
  ]
  const waited = await commands.godwit([
    'export',
    'ann/site',
    ...unreachable,
    '--output',
    'away.tar.gz',
  ])
  assert.match(waited.output.trim(), /^godwit: nothing responds at [^\n]*$/)
})

test('a damaged attachment is detected by its digest', async () => {
  const { file } = await migrate(['ann/site'])
  const entries = await entriesIn(file)
  const damaged = entries.map((each) =>
    each.path.endsWith('notes.txt') ? { ...each, content: Buffer.from('other notes\n') } : each,
  )
  await writeFile(join(commands.folder, 'damaged.tar.gz'), packEntries(damaged))
  const verified = await commands.godwit(['verify', 'damaged.tar.gz'])
  assert.notEqual(verified.code, 0)
  assert.match(verified.output, /notes\.txt is not the file that was exported/)
})
