import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'
import { RECORD_ARBITRARIES } from '../../../../test/support/arbitrary-records.ts'
import {
  fieldsChangedByRewrite,
  hostUrlsAt,
  isWrittenKind,
  toAnyGitHubRecord,
} from '../../../../test/support/records.ts'
import { readRecord, readRecords } from './read-records.ts'
import type { RecordKind, RecordsByKind } from './record-kinds.ts'
import { findLinks } from './record-urls.ts'
import { loginsIn, splitIntoFiles, toGitHubRecord } from './write-records.ts'

const HOSTS = ['https://git.example.com', 'http://localhost:3000/git', 'https://host/a/b']
const KINDS = Object.keys(RECORD_ARBITRARIES) as RecordKind[]
const recordsOf = (kind: RecordKind) =>
  RECORD_ARBITRARIES[kind] as Arbitrary<RecordsByKind[RecordKind]>
const asJson = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('records are unchanged after writing and reading', () => {
  for (const kind of KINDS)
    test(kind, () => {
      fc.assert(
        fc.property(recordsOf(kind), fc.constantFrom(...HOSTS), (record, host) => {
          const urls = hostUrlsAt(host, host === HOSTS[0] ? '.' : host)
          const githubRecord = toAnyGitHubRecord(kind, record, urls)
          assert.deepEqual(asJson(readRecord(kind, githubRecord)), asJson(record))
          assert.deepEqual(fieldsChangedByRewrite(kind, githubRecord, urls), [])
        }),
      )
    })
})

/** How records of other exporters may differ: additional, missing, null and mistyped fields. Fields are chosen by index. */
const indexes = fc.array(fc.nat(30), { maxLength: 2 })
const differences = fc.record({
  added: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.jsonValue({ maxDepth: 1 })),
  removed: indexes,
  nulls: indexes,
  replaced: fc.option(fc.tuple(fc.nat(30), fc.jsonValue({ maxDepth: 1 }))),
})

function alter(
  githubRecord: Record<string, unknown>,
  { added, removed, nulls, replaced }: ReturnType<typeof differences.generate>['value'],
): Record<string, unknown> {
  const keys = Object.keys(githubRecord)
  const changed = new Map(Object.entries({ ...githubRecord, ...added }))
  for (const at of nulls) if (keys[at] !== undefined) changed.set(keys[at], null)
  if (replaced && keys[replaced[0]] !== undefined) changed.set(keys[replaced[0]]!, replaced[1])
  for (const at of removed) if (keys[at] !== undefined) changed.delete(keys[at])
  return Object.fromEntries(changed)
}

describe('unusual records are read, or rejected with the name of a field', () => {
  for (const kind of KINDS)
    test(kind, () => {
      const urls = hostUrlsAt('https://git.example.com')
      let read = 0
      const property = fc.property(recordsOf(kind), differences, (written, difference) => {
        const githubRecord = alter(toAnyGitHubRecord(kind, written, urls), difference)
        let record: RecordsByKind[RecordKind]
        try {
          record = readRecord(kind, githubRecord)
        } catch (error) {
          assert.match((error as Error).message, /^[a-z_[\].0-9]+ is not /)
          return
        }
        read++
        assert.deepEqual(
          fieldsChangedByRewrite(kind, toAnyGitHubRecord(kind, record, urls), urls),
          [],
        )
      })
      fc.assert(property)
      assert.ok(read > 10, `only ${read} of 100 could be read`)
    })
})

describe('loginsIn returns every login that a record links to', () => {
  for (const kind of KINDS.filter(isWrittenKind))
    test(kind, () => {
      const { person, ...others } = hostUrlsAt('https://git.example.com', 'https://people.example')
      fc.assert(
        fc.property(RECORD_ARBITRARIES[kind] as Arbitrary<never>, (record) => {
          const known = new Set([...loginsIn(kind, record)].map(person))
          const githubRecord = asJson(toGitHubRecord(kind, record, { person, ...others }))
          for (const { field, url, to } of findLinks(githubRecord)) {
            if (to === 'person') assert.ok(known.has(url), `${field}: ${url}`)
            else assert.match(url, /^(https:\/\/(git|people)\.example|tarball:\/\/root\/)/, field)
          }
          const named = JSON.stringify(githubRecord).matchAll(/"https:\/\/people\.example\/[^"]*"/g)
          for (const [address] of named) assert.ok(known.has(JSON.parse(address)), address)
        }),
      )
    })
})

test('an invalid record is reported with its index and field, and the others are read', () => {
  const record = asJson(fc.sample(RECORD_ARBITRARIES.milestones, { numRuns: 1, seed: 1 })[0])
  const good = toGitHubRecord('milestones', record, hostUrlsAt('https://git.example.com'))
  const bad = [{ ...good, title: 7 }, { ...good, url: 'https://git.example.com/a/b' }, 'x']
  const warnings: string[] = []
  const { valid, count } = readRecords('milestones', JSON.stringify([good, ...bad, good]), (why) =>
    warnings.push(why),
  )
  assert.deepEqual(
    valid.map(({ index, value }) => [index, value]),
    [
      [0, record],
      [4, record],
    ],
  )
  assert.equal(count, 5)
  assert.deepEqual(warnings, [
    '[1].title is not a string: 7',
    "[2].url is not a URL with a number at its end: 'https://git.example.com/a/b'",
    "[3] is not an object: 'x'",
  ])
  assert.throws(() => readRecords('milestones', '{}', () => {}), /not a JSON array/)
})

test('logins are read from all forms of URLs', () => {
  const user = (address: string | null) =>
    readRecord('issue_comments', {
      url: 'https://h/o/r/-/issues/1#note_7',
      issue: 'https://h/o/r/-/issues/1',
      user: address,
      body: '',
      created_at: '2024-05-01T12:00:00Z',
    }).author
  const known: [string | null, string | null][] = [
    ['https://github.com/alice', 'alice'],
    ['./alice', 'alice'],
    ['https://git.example.com/git/Alice-2/', 'Alice-2'],
    ['https://github.com/renovate[bot]', 'renovate[bot]'],
    ['https://github.com/renovate%5Bbot%5D', 'renovate[bot]'],
    ['https://github.com/apps/renovate', 'renovate[bot]'],
    ['https://github.com/ghost', 'ghost'],
    [null, null],
  ]
  for (const [address, login] of known) assert.equal(user(address), login)
  for (const login of ['eve\nbob,mallory', 'eve;bob', '=1+1', 'bob#x', 'a/b'])
    assert.throws(() => user(`https://h/${encodeURIComponent(login)}`), /not the URL of a person/)
})

test('names that no host could have are refused in every record', () => {
  const eve = encodeURIComponent('eve\nbob,mallory')
  const invalid: [RecordKind, object, RegExp][] = [
    ['users', { login: 'eve\nbob,mallory' }, /: login is not a login/],
    ['users', { login: 'eve', emails: [{ address: 'a@b\nc' }] }, /not an e-mail address/],
    ['organizations', { login: 'eve\r' }, /: login is not a login/],
    ['organizations', { login: 'o', members: [{ user: `./${eve}`, role: 'admin' }] }, /members/],
    ['teams', { url: `https://h/orgs/o/teams/${eve}`, name: '' }, /not the URL of a team/],
    ['milestones', { url: 'https://h/o/r/milestones/1', repository: `https://h/o/${eve}` }, /repo/],
  ]
  for (const [kind, githubRecord, expected] of invalid)
    assert.throws(() => readRecord(kind, githubRecord), expected, kind)
})

test('a transferred issue names its former repository', () => {
  const event = {
    type: 'issue_event',
    url: 'https://h/o/r/issues/1#event-7',
    issue: 'https://h/o/r/issues/1',
    actor: null,
    event: 'transferred',
    subject: 'https://h/o/elsewhere',
    created_at: '2024-05-01T12:00:00Z',
  }
  const { subject } = readRecord('issue_events', event)
  assert.deepEqual(subject, { kind: 'repository', repository: 'o/elsewhere' })
  assert.deepEqual(fieldsChangedByRewrite('issue_events', event, hostUrlsAt('https://h')), [])
})

test('reactions have the names and times of archives', () => {
  const reaction = (content: string) => ({
    author: 'bob',
    content,
    createdAt: '2024-05-02T09:00:00Z',
  })
  const all = ['rocket', 'laugh', 'hooray', 'confused', 'gitea', '-1', '+1'].map(reaction)
  const [record] = fc.sample(RECORD_ARBITRARIES.issues, { numRuns: 1, seed: 1 })
  const githubRecord = toGitHubRecord(
    'issues',
    { ...record!, reactions: all },
    hostUrlsAt('https://h'),
  )
  const written = githubRecord.reactions as {
    content: string
    created_at: string
    subject_type: string
  }[]
  const names = written.map(({ content }) => content)
  assert.deepEqual(names, ['+1', '-1', 'gitea', 'rocket', 'smile', 'tada', 'thinking_face'])
  assert.ok(written.every(({ created_at }) => created_at === '2024-05-02T09:00:00.000+00:00'))
  assert.ok(written.every(({ subject_type }) => subject_type === 'Issue'))
})

describe('files of records', () => {
  const filesOf = (count: number) =>
    Array.fromAsync(
      splitIntoFiles(
        'issues',
        Array.from({ length: count }, (_, index) => ({ number: index, text: 'a\nb\u2028c' })),
      ),
    )

  test('have 100 records each and are numbered from 1', async () => {
    const files = await filesOf(201)
    assert.deepEqual(
      files.map(({ name, text }) => [name, JSON.parse(text).length]),
      [
        ['issues_000001.json', 100],
        ['issues_000002.json', 100],
        ['issues_000003.json', 1],
      ],
    )
    const read = files.flatMap(({ text }) => JSON.parse(text) as { number: number }[])
    assert.deepEqual(
      read.map(({ number }) => number),
      [...Array(201).keys()],
    )
    assert.equal(
      files[2]!.text,
      `${JSON.stringify([{ number: 200, text: 'a\nb\u2028c' }], null, 2)}\n`,
    )
  })

  test('are never empty', async () => {
    assert.deepEqual(await filesOf(0), [])
    assert.equal((await filesOf(100)).length, 1)
  })

  test('are written one at a time', async () => {
    let requested = 0
    const endless = function* () {
      for (;;) yield { number: ++requested }
    }
    const files = splitIntoFiles('issues', endless())
    await files.next()
    await files.next()
    assert.equal(requested, 200)
    await files.return(undefined)
  })
})

test('a record that is nested too deeply has no links', () => {
  const deep = JSON.parse(`{ "a": ${'['.repeat(200_000)}${']'.repeat(200_000)} }`) as unknown
  assert.deepEqual(findLinks(deep), [])
})
