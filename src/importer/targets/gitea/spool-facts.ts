import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SortedRows } from '../../../lib/sorted-rows.ts'
import type { FactKind, FactsByKind } from '../../../records/fact-kinds.ts'
import { isFactKind, type OnInvalid, readFacts } from '../../../records/read-records.ts'
import { kindOfFile, readRecordFile } from '../../../records/record-file.ts'
import type { RepositoryRecord } from '../../../records/record-shapes.ts'
import type { Repository } from '../../../records/repository.ts'
import type { Destinations } from './choose-repositories.ts'
import type { DumpReport } from './dump-report.ts'

interface SpoolOptions {
  /** The unpacked archive. */
  root: string
  rows: SortedRows
  destinations: Destinations
  /** Whether the user named the repositories to restore. Then facts of other repositories are not reported as skipped. */
  isSelection: boolean
  report: DumpReport
}

/** The facts of the selected repositories. The key of a repository is the path of its git data, in lower case. */
export interface Spool extends SpoolOptions {
  repositories: Map<string, { fact: Repository; url: string }>
  /** Names of labels that issues use. */
  labels: Map<string, Set<string>>
  /** Keys by the full name in the record, in lower case. */
  keys: Map<string, string>
}

/** Each table is sorted by key and then by time. */
type Table =
  | ('milestones' | 'issues' | 'comments' | 'locks' | 'merges' | 'pulls' | 'reviews' | 'threads')
  | ('review_comments' | 'releases' | 'attachments')

/** The facts of one repository. */
export interface RepositoryRows {
  all<T>(table: Table): Iterable<[key: number, value: T]>
  of<T>(table: Table, key: number): T[]
  has(table: Table, key: number): boolean
  count(table: Table): number
  /** Returns the time of the newest row of a key. */
  newest(table: Table, key: number): number | undefined
}

export function rowsOf(rows: SortedRows, repository: string): RepositoryRows {
  return {
    all: (table) => rows.all(`${table} ${repository}`),
    of: (table, key) => rows.of(`${table} ${repository}`, key),
    has: (table, key) => rows.has(`${table} ${repository}`, key),
    count: (table) => rows.count(`${table} ${repository}`),
    newest: (table, key) => rows.newest(`${table} ${repository}`, key),
  }
}

/**
 * Reads the facts of the selected repositories into `rows`, where they can be read in the order of a dump. Archives sort comments by
 * their time, dumps need them by issue.
 */
export async function spoolFacts(options: SpoolOptions, signal: AbortSignal): Promise<Spool> {
  const { root } = options
  const spool: Spool = {
    ...options,
    repositories: new Map(),
    labels: new Map(),
    keys: new Map(),
  }
  const files = (await readdir(root)).sort().flatMap((file) => {
    const kind = kindOfFile(file)
    return kind === undefined ? [] : [{ file, kind }]
  })
  const read = (file: string) => readFile(join(root, file), 'utf8')
  for (const { file, kind } of files)
    if (kind === 'repositories') spoolRepositories(spool, file, await read(file))
  for (const { file, kind } of files) {
    signal.throwIfAborted()
    if (kind !== 'repositories') spoolFile(spool, { file, kind }, await read(file))
  }
  return spool
}

function spoolRepositories(spool: Spool, file: string, text: string): void {
  const { destinations, report } = spool
  const onInvalid: OnInvalid = (why) => report.skipRecord('repositories', `${file}: ${why}`)
  const readAll = () => readFacts('repositories', text, onInvalid)
  const readRaw = () => readRecordFile('repositories', text, () => {})
  const { records } = emptyIfInvalid(report, file, readAll)
  const raw = emptyIfInvalid(report, file, readRaw).records
  const urls = new Map(raw.map(({ index, value }) => [index, (value as RepositoryRecord).url]))
  for (const { index, value: fact } of records) {
    const key = fact.git
      .replace(/^repositories\//, '')
      .replace(/\.git$/, '')
      .toLowerCase()
    const fullName = `${fact.owner}/${fact.name}`
    if (destinations.has(key)) {
      spool.repositories.set(key, { fact, url: urls.get(index) ?? '' })
      spool.keys.set(fullName.toLowerCase(), key)
    } else if (isWanted(spool, fullName))
      report.skipRecord(
        'repositories',
        `${file}: [${index}]: ${fact.git} of ${fullName} is not in the archive`,
      )
  }
}

function isWanted({ isSelection, destinations }: Spool, fullName: string): boolean {
  return !isSelection || destinations.has(fullName.toLowerCase())
}

function spoolFile(
  spool: Spool,
  { file, kind }: { file: string; kind: string },
  text: string,
): void {
  const { report } = spool
  if (!isFactKind(kind)) {
    const read = () => readRecordFile(kind, text, () => {})
    report.skip(kind, emptyIfInvalid(report, file, read).count)
    return
  }
  const onInvalid: OnInvalid = (why) => report.skipRecord(kind, `${file}: ${why}`)
  const { records } = emptyIfInvalid(report, file, () => readFacts(kind, text, onInvalid))
  for (const { index, value } of records) {
    const why = invalidTime(value)
    if (why) report.skipRecord(kind, `${file}: [${index}].${why}`)
    else spoolFact(spool, kind, value)
  }
}

const EMPTY = { records: [], count: 0 }

function emptyIfInvalid<T>(report: DumpReport, file: string, read: () => T): T | typeof EMPTY {
  try {
    return read()
  } catch (error) {
    report.warn('files', `${file}: ${(error as Error).message}; nothing of it is restored`)
    return EMPTY
  }
}

function invalidTime(fact: object): string | undefined {
  for (const [key, value] of Object.entries(fact))
    if (/(?:At|On)$/.test(key) && typeof value === 'string' && Number.isNaN(Date.parse(value)))
      return `${key} is not a valid time: ${JSON.stringify(value)}`
  return undefined
}

/** These are not reported as skipped: content contains the names of its authors, and accounts are created on the server. */
const NOT_COUNTED: readonly FactKind[] = ['users', 'bots', 'organizations']

function spoolFact<K extends FactKind>(spool: Spool, kind: K, fact: FactsByKind[K]): void {
  const { rows, labels, keys, report } = spool
  const repository = 'repository' in fact ? keys.get(fact.repository.toLowerCase()) : undefined
  if ('repository' in fact && repository === undefined) {
    if (isWanted(spool, fact.repository)) report.skip(kind)
    return
  }
  const row = (ROWS[kind] as ((fact: FactsByKind[K]) => Row | undefined) | undefined)?.(fact)
  if ((!row || row.isPartial) && !NOT_COUNTED.includes(kind)) report.skip(kind)
  if (!row) return
  rows.add(`${row.table} ${repository}`, row.key, Date.parse(row.at), row.value ?? fact)
  const used = 'labels' in fact ? fact.labels : []
  if (used.length === 0) return
  const known = labels.get(repository!) ?? new Set<string>()
  for (const label of used) known.add(String(label))
  labels.set(repository!, known)
}

interface Row {
  table: Table
  key: number
  /** Sorts the rows of a key. */
  at: string
  /** The value to store, if it is not the whole fact. */
  value?: unknown
  /** Whether the fact counts as skipped although a part of it is restored. */
  isPartial?: boolean
}

/** A fact of any other kind, or for which the function returns undefined, cannot be part of a dump. */
const ROWS: { [K in FactKind]?: (fact: FactsByKind[K]) => Row | undefined } = {
  milestones: ({ number, createdAt: at }) => ({ table: 'milestones', key: number, at }),
  issues: ({ number, createdAt: at }) => ({ table: 'issues', key: number, at }),
  issue_comments: ({ on, createdAt: at }) => ({ table: 'comments', key: on.number, at }),
  issue_events: ({ on: { number: key }, event, commit, createdAt: at }) => {
    if (event === 'locked' || event === 'unlocked')
      return { table: 'locks', key, at, value: event, isPartial: true }
    if (event === 'merged') return { table: 'merges', key, at, value: commit, isPartial: true }
    return undefined
  },
  pull_requests: ({ number, createdAt: at }) => ({ table: 'pulls', key: number, at }),
  pull_request_reviews: ({ pull, createdAt, submittedAt }) => ({
    table: 'reviews',
    key: pull,
    at: submittedAt ?? createdAt,
  }),
  pull_request_review_threads: ({ id, pull, line, originalLine, side, createdAt: at }) => ({
    table: 'threads',
    key: pull,
    at,
    value: { id, line, originalLine, side },
  }),
  pull_request_review_comments: ({ pull, createdAt: at }) => ({
    table: 'review_comments',
    key: pull,
    at,
  }),
  releases: ({ createdAt: at }) => ({ table: 'releases', key: 0, at }),
  attachments: ({ createdAt: at }) => ({ table: 'attachments', key: 0, at }),
  repository_files: ({ createdAt: at }) => ({ table: 'attachments', key: 0, at }),
}
