import type { SortedRows } from '../../lib/sorted-rows.ts'
import { UNKNOWN_TIME } from '../../records/fact.ts'
import { FACT_KINDS, type FactKind, type FactsByKind } from '../../records/fact-kinds.ts'
import type { Team } from '../../records/people.ts'
import type { Repository } from '../../records/repository.ts'
import type { FormatReader } from '../format.ts'
import type { Report } from '../report.ts'
import type { Destinations } from './choose-destinations.ts'

interface SpoolOptions {
  content: FormatReader
  rows: SortedRows
  destinations: Destinations
  report: Report
}

/** The facts of all repositories. The key of a repository is its full name in lower case. */
export interface Spool extends SpoolOptions {
  repositories: Map<string, Repository>
  /** Names of the labels of issues and pull requests, by the key of their repository. */
  labels: Map<string, Set<string>>
}

/**
 * Each table is sorted by key and then by time. The key is the number of a milestone, or of the issue or pull request that a row is
 * or belongs to. Tables without such a number have only the key 0.
 */
type Table =
  | ('milestones' | 'issues' | 'comments' | 'locks' | 'merges' | 'pulls' | 'reviews' | 'threads')
  | ('review_comments' | 'releases' | 'attachments' | 'protections' | 'teams')

/** A team with its access to one repository. */
export type DumpedTeam = Pick<Team, 'name' | 'description' | 'members'> & { access: string }

/** Returns the facts of one repository. */
export function rowsOf(rows: SortedRows, repository: string) {
  const tableOf = (table: Table) => `${table} ${repository}`
  return {
    all: <T>(table: Table) => rows.all<T>(tableOf(table)),
    of: <T>(table: Table, key: number) => rows.of<T>(tableOf(table), key),
    has: (table: Table, key: number) => rows.has(tableOf(table), key),
    count: (table: Table) => rows.count(tableOf(table)),
    /** Returns the time of the newest row of a key. */
    newest: (table: Table, key: number) => rows.newest(tableOf(table), key),
  }
}

export type RepositoryRows = ReturnType<typeof rowsOf>

/**
 * Reads all facts into `rows`, where they can be read in the order of a dump. Archives sort comments by their time, dumps need them by
 * issue.
 */
export async function spoolFacts(options: SpoolOptions, signal: AbortSignal): Promise<Spool> {
  const { content } = options
  const spool: Spool = { ...options, repositories: new Map(), labels: new Map() }
  for await (const fact of content.facts('repositories', signal))
    spool.repositories.set(`${fact.owner}/${fact.name}`.toLowerCase(), fact)
  for await (const { permissions, name, description, members } of content.facts('teams', signal))
    for (const { repository, access } of permissions) {
      const team: DumpedTeam = { name, description, members, access }
      spool.rows.add(`teams ${repository.toLowerCase()}`, 0, 0, team)
    }
  for (const kind of FACT_KINDS)
    if (!NOT_SPOOLED.includes(kind))
      for await (const fact of content.facts(kind, signal)) spoolFact(spool, kind, fact)
  return spool
}

/**
 * Repositories and teams are read first. Accounts are not reported as lost, because content contains the names of its authors, and because
 * accounts are created on the server.
 */
const NOT_SPOOLED: readonly FactKind[] = [
  ...(['users', 'bots', 'organizations', 'teams', 'repositories'] as const),
]

function spoolFact<K extends FactKind>(spool: Spool, kind: K, fact: FactsByKind[K]): void {
  const { rows, labels, report } = spool
  const repository = 'repository' in fact ? fact.repository.toLowerCase() : ''
  const row = (ROWS[kind] as ((fact: FactsByKind[K]) => Row | undefined) | undefined)?.(fact)
  if (!row || row.isPartial) report.lost(kind)
  if (!row) return
  rows.add(`${row.table} ${repository}`, row.key, Date.parse(row.at), row.value ?? fact)
  const used = 'labels' in fact ? fact.labels : []
  if (used.length === 0) return
  const known = labels.get(repository) ?? new Set<string>()
  for (const label of used) known.add(String(label))
  labels.set(repository, known)
}

interface Row {
  table: Table
  key: number
  /** Sorts the rows of a key. */
  at: string
  /** The value to store, if it is not the whole fact. */
  value?: unknown
  /** Whether the fact is reported as lost, although a part of it is restored. */
  isPartial?: boolean
}

/** Facts of any other kind, and those for which the function returns undefined, cannot be part of a dump and are reported as lost. */
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
  protected_branches: () => ({ table: 'protections', key: 0, at: UNKNOWN_TIME }),
  attachments: ({ createdAt: at }) => ({ table: 'attachments', key: 0, at }),
  repository_files: ({ createdAt: at }) => ({ table: 'attachments', key: 0, at }),
}
