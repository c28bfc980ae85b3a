import fc, { type Arbitrary } from 'fast-check'
import type { RecordKind, RecordsByKind } from '../../packages/archive/src/records/record-kinds.ts'
import { RECORD_ARBITRARIES } from './arbitrary-records.ts'
import { hostUrlsAt, toAnyGitHubRecord } from './records.ts'

type Json = Record<string, unknown>
export type HostileRecords = Partial<Record<RecordKind, Json[]>>

const HOST = 'https://old.example.com'
export const HOSTILE_REPOSITORY = 'alice/site'
const [OWNER, NAME] = HOSTILE_REPOSITORY.split('/')

/** Values that some program on the way may take for something else. */
const HOSTILE_VALUES = [
  ...[
    '',
    ' ',
    '\n',
    'a\r\nb',
    '\0',
    '\u0085',
    '\u2028',
    '\ud800',
    '\u202e',
    '=1+1',
    '@x',
    "'",
    '"',
    ';',
    ',',
  ],
  ...[
    '../../x',
    '%0a',
    '%2e%2e%2f',
    '#',
    '?',
    '<script>',
    'null',
    '__proto__',
    '```',
    '-1',
    '00',
    '9'.repeat(30),
  ],
  ...['@all #1 !1 %1 ~x %"=1+1"', 'x'.repeat(300), '2024-13-45T99:99:99Z', '9999-12-31T23:59:59Z'],
  ...[
    `${HOST}/`,
    `${HOST}/a%2Fb`,
    `${HOST}/alice/site/issues/999`,
    `${HOST}/alice/site/labels/%0A`,
  ],
  ...[`${HOST}/orgs/a/teams/b`, 'https://h/a/b?c#d', 'tarball://root/../x', 'javascript:alert(1)'],
  ...[null, true, -1, 0.5, 1e21, [], {}, ['x'], [null]],
]

/** Returns the path of every value in a record that is not an object or a list. */
function leavesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([key, each]) => leavesOf(each, [...path, key]))
}

function replaceLeaf(record: Json, choice: number, value: unknown): void {
  const leaves = leavesOf(record)
  const path = leaves[choice % leaves.length] ?? []
  const parent = path.slice(0, -1).reduce((at, key) => at[key] as Json, record)
  if (path.length > 0) parent[path.at(-1)!] = value
}

/** Numbers are small, so that most records refer to others that exist, and some occur twice. */
const SMALL = new Set([
  'number',
  'id',
  'pull',
  'issue',
  'milestone',
  'review',
  'thread',
  'inReplyTo',
])

/** Moves a record to the one repository of the archive. */
function inRepository(value: unknown, key = ''): unknown {
  if (typeof value === 'number' && SMALL.has(key)) return (value % 12) + 1
  if (key === 'repository' && typeof value === 'string') return HOSTILE_REPOSITORY
  if (Array.isArray(value)) return value.map((each) => inRepository(each, key))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, inRepository(each, name)]),
  )
}

const ARCHIVED = {
  owner: OWNER,
  name: NAME,
  git: `repositories/${HOSTILE_REPOSITORY}.git`,
  wiki: null,
}

function recordOf(kind: RecordKind) {
  const records = RECORD_ARBITRARIES[kind] as Arbitrary<RecordsByKind[RecordKind]>
  const replaced = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...HOSTILE_VALUES)), {
    maxLength: 2,
  })
  return fc.tuple(records, replaced).map(([record, replacements]) => {
    const own = kind === 'repositories' ? { ...record, ...ARCHIVED } : inRepository(record)
    const githubRecord = toAnyGitHubRecord(kind, own as RecordsByKind[RecordKind], hostUrlsAt(HOST))
    for (const [choice, value] of replacements)
      replaceLeaf(githubRecord, choice, structuredClone(value))
    return githubRecord
  })
}

const COUNTS: Partial<Record<RecordKind, number>> = {
  repositories: 1,
  issues: 20,
  pull_requests: 20,
}

/** Generates records of every kind, of which many have values that they should not have. */
export const hostileRecords: Arbitrary<HostileRecords> = fc.record(
  Object.fromEntries(
    (Object.keys(RECORD_ARBITRARIES) as RecordKind[]).map((kind) => {
      const length = COUNTS[kind] ?? 12
      return [kind, fc.array(recordOf(kind), { minLength: length, maxLength: length })]
    }),
  ),
)

/** Returns the files of an unpacked archive with these records and with the files that they name. */
export function filesOf(records: HostileRecords): Record<string, string> {
  const files = Object.entries(records).map(([kind, each]) => [
    `${kind}_000001.json`,
    JSON.stringify(each),
  ])
  const named = JSON.stringify(records).matchAll(
    /tarball:\/\/root\/((?:attachments|release_assets|repository_files)\/[\w-]+\/[\w.-]+)"/g,
  )
  const uploads = Array.from(named, ([, path]) => [path, `content of ${path}`])
  return Object.fromEntries([...files, ...uploads])
}
