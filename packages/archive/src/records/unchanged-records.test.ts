import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { REAL_ARCHIVE } from '../../../../test/support/real-archive.ts'
import {
  EXAMPLE_RECORDS,
  exampleRecords,
  type GitHubRecordsByKind,
  realRecords,
} from '../../../../test/support/real-records.ts'
import { fieldsChangedByRewrite, hostUrlsAt } from '../../../../test/support/records.ts'
import { isRecordKind, readRecord } from './read-records.ts'
import type { RecordKind } from './record-kinds.ts'
import type { HostUrls } from './record-urls.ts'

/** Only the repository of these records is read. */
const ONLY_COUNTED: RecordKind[] = ['discussions', 'discussion_categories']

/** Reads and writes all records. Returns the fields that have changed, by kind. */
function changedFields(all: GitHubRecordsByKind, urls: HostUrls): Record<string, string[]> {
  const changed = new Map<string, Set<string>>()
  for (const [kind, githubRecords] of all) {
    if (!isRecordKind(kind) || ONLY_COUNTED.includes(kind)) continue
    for (const githubRecord of githubRecords) {
      const fields = fieldsChangedByRewrite(kind, githubRecord, urls)
      if (fields.length > 0) changed.set(kind, new Set([...(changed.get(kind) ?? []), ...fields]))
    }
  }
  return Object.fromEntries([...changed].map(([kind, fields]) => [kind, [...fields].sort()]))
}

describe('records are unchanged after reading and writing, except for these fields', () => {
  test('in an archive of github.com', REAL_ARCHIVE.needed, async () => {
    const records = await realRecords()
    assert.equal(records.size, 14, [...records.keys()].join())
    assert.equal([...records.values()].flat().length, 89)
    // The archive is older than this field.
    assert.deepEqual(changedFields(records, hostUrlsAt('https://github.com')), {
      users: ['social_accounts'],
    })
  })

  test('of each known kind', EXAMPLE_RECORDS.needed, async () => {
    const records = await exampleRecords()
    assert.deepEqual(
      [...records.keys()].filter((kind) => !isRecordKind(kind)),
      [],
    )
    assert.deepEqual(changedFields(records, hostUrlsAt('https://git.example.test')), {
      users: ['billing_plan'],
      organizations: ['member_privileges', 'repository_defaults'],
      pull_request_review_threads: ['blob_position', 'start_position_offset'],
      repositories: [
        'actions_general_settings',
        'autolinks',
        'general_settings',
        'public_keys',
        'security_and_analysis',
        'webhooks',
      ],
    })
  })

  test('are read with URLs that Godwit would not write', EXAMPLE_RECORDS.needed, async () => {
    const text = JSON.stringify([...(await exampleRecords())])
    const elsewhere = text.replaceAll('https://git.example.test/alice', './alice')
    const records: GitHubRecordsByKind = new Map(JSON.parse(elsewhere))
    const changed = changedFields(records, hostUrlsAt('https://other.example/git'))
    assert.ok(changed.issues?.includes('url') && changed.issues.includes('assignees'))
    const [issue] = records.get('issues')!
    const { repository, author, assignees, labels } = readRecord('issues', issue)
    assert.deepEqual(
      { repository, author, assignees, labels },
      {
        repository: 'octo-org/widgets',
        author: 'bob',
        assignees: ['alice'],
        labels: ['bug', 'good first issue'],
      },
    )
  })

  test(
    'records of github.com are in the order in which Godwit writes them',
    REAL_ARCHIVE.needed,
    async () => {
      for (const [kind, githubRecords] of await realRecords()) {
        if (!isRecordKind(kind)) continue
        const records = githubRecords.map((githubRecord) => readRecord(kind, githubRecord))
        assert.deepEqual(
          records.toSorted((a, b) => orderOf(a) - orderOf(b)),
          records,
          kind,
        )
      }
    },
  )
})

/** The number or the id. Releases and people have neither and keep the order of the host. */
function orderOf(record: object): number {
  const { number, id } = record as { number?: number; id?: number }
  return number ?? id ?? 0
}
