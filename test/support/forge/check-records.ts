import assert from 'node:assert/strict'
import type { PlainEntry } from '../without-server.ts'

type Record_ = Record<string, unknown>

/** What a record of each kind has in GitHub's own archives; written down from those, not from our code. */
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

const TO_PEOPLE =
  /^(user|owner|actor|assignee|assignees|creator|creator_url|resolver|subject_user)$/
const TO_RECORDS =
  /^(repository|repository_url|issue|pull_request|milestone|issue_comment|pull_request_review|pull_request_review_thread|pull_request_review_comment|in_reply_to|organization|release|authorized_team_urls)$/

export interface CheckedRecords {
  of(kind: string): Record_[]
}

/**
 * Files are numbered without a gap and hold at most 100 records each, addresses are unique, every record has its kind's fields,
 * every link leads to a record or to an entry of the archive. It shares nothing with the code that writes them.
 */
export function checkRecords(entries: readonly PlainEntry[]): CheckedRecords {
  const files = new Map<string, number[]>()
  const records = new Map<string, Record_[]>()
  for (const { path, content } of entries) {
    const [, kind, number] = /^([a-z_]+)_(\d{6})\.json$/.exec(path) ?? []
    if (!kind) continue
    const found = JSON.parse(String(content)) as Record_[]
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
    assert.ok(!urls.has(record.url), `${record.url} twice`)
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
    else if (TO_PEOPLE.test(name)) assert.ok(known.people.has(value), `${at}: nobody is ${value}`)
    else if (TO_RECORDS.test(name)) assert.ok(known.urls.has(value), `${at}: nothing is ${value}`)
  }
}

/** What importers choke on. */
function checkPulls(records: ReadonlyMap<string, Record_[]>): void {
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
