import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SortedRows } from '../../../lib/sorted-rows.ts'
import type { FactKind, FactsByKind } from '../../../records/facts.ts'
import { isFactKind, readFacts } from '../../../records/read-records.ts'
import { kindOfFile, type OnInvalid, readRecordFile } from '../../../records/record-file.ts'
import type { RepositoryRecord } from '../../../records/record-shapes.ts'
import type { Repository } from '../../../records/repository.ts'
import type { Destinations } from './choose-repositories.ts'
import type { DumpTally } from './tally.ts'

/** Whatever names a repository here is in lower case, and as the folder of its git data. */
export interface Spool {
  rows: SortedRows
  repositories: Map<string, { fact: Repository; address: string }>
  /** Names of labels that issues have. */
  labels: Map<string, Set<string>>
}

export interface SpoolParts {
  /** The unpacked archive. */
  root: string
  rows: SortedRows
  destinations: Destinations
  /** Whether only some were asked for: then what is said of the others is no loss. */
  isSelection: boolean
  tally: DumpTally
}

/**
 * Puts what the archive says of the wanted repositories where it can be had in order. The files of an archive are in no order
 * that a dump needs: comments are sorted by their age, not by what they are said of.
 */
export async function spoolFacts(parts: SpoolParts, signal: AbortSignal): Promise<Spool> {
  const { root, rows } = parts
  const spool: Spool = { rows, repositories: new Map(), labels: new Map() }
  const folders = new Map<string, string>()
  const files = (await readdir(root)).sort().flatMap((file) => {
    const kind = kindOfFile(file)
    return kind === undefined ? [] : [{ file, kind }]
  })
  const text = (file: string) => readFile(join(root, file), 'utf8')
  for (const { file, kind } of files)
    if (kind === 'repositories') spoolRepositories(parts, spool, folders, file, await text(file))
  for (const { file, kind } of files) {
    signal.throwIfAborted()
    if (kind !== 'repositories') spoolFile(parts, spool, folders, { file, kind }, await text(file))
  }
  return spool
}

function spoolRepositories(
  parts: SpoolParts,
  { repositories }: Spool,
  folders: Map<string, string>,
  file: string,
  text: string,
): void {
  const { destinations, tally } = parts
  const lose: OnInvalid = (why) => tally.lose('repositories', `${file}: ${why}`)
  const { records } = listOrNothing(tally, file, () => readFacts('repositories', text, lose))
  const readRaw = () => readRecordFile('repositories', text, () => {})
  const raw = listOrNothing(tally, file, readRaw).records
  const addresses = new Map(raw.map(({ index, value }) => [index, (value as RepositoryRecord).url]))
  for (const { index, value: fact } of records) {
    const folder = fact.git
      .replace(/^repositories\//, '')
      .replace(/\.git$/, '')
      .toLowerCase()
    const fullName = `${fact.owner}/${fact.name}`
    if (destinations.has(folder)) {
      repositories.set(folder, { fact, address: addresses.get(index) ?? '' })
      folders.set(fullName.toLowerCase(), folder)
    } else if (isWanted(parts, fullName))
      tally.lose(
        'repositories',
        `${file}: [${index}]: ${fact.git} of ${fullName} is not in the archive`,
      )
  }
}

function isWanted({ isSelection, destinations }: SpoolParts, fullName: string): boolean {
  return !isSelection || destinations.has(fullName.toLowerCase())
}

function spoolFile(
  parts: SpoolParts,
  spool: Spool,
  folders: ReadonlyMap<string, string>,
  { file, kind }: { file: string; kind: string },
  text: string,
): void {
  const { tally } = parts
  if (!isFactKind(kind)) {
    // Who made these knows what they are.
    tally.skip(kind, listOrNothing(tally, file, () => readRecordFile(kind, text, () => {})).count)
    return
  }
  const lose: OnInvalid = (why) => tally.lose(kind, `${file}: ${why}`)
  const { records } = listOrNothing(tally, file, () => readFacts(kind, text, lose))
  for (const { index, value } of records) {
    const why = wrongTime(value)
    if (why) tally.lose(kind, `${file}: [${index}].${why}`)
    else spoolFact(parts, spool, folders, kind, value)
  }
}

const NOTHING = { records: [], count: 0 }

function listOrNothing<T>(tally: DumpTally, file: string, read: () => T): T | typeof NOTHING {
  try {
    return read()
  } catch (error) {
    tally.warn('files', `${file}: ${(error as Error).message}; nothing of it is restored`)
    return NOTHING
  }
}

function wrongTime(fact: object): string | undefined {
  for (const [key, value] of Object.entries(fact))
    if (/(?:At|On)$/.test(key) && typeof value === 'string' && Number.isNaN(Date.parse(value)))
      return `${key} is ${JSON.stringify(value)}, which is no time`
  return undefined
}

/** Whoever wrote something is named where they wrote it; accounts are the server's to make. */
const NOT_COUNTED: readonly FactKind[] = ['users', 'bots', 'organizations']

function spoolFact<K extends FactKind>(
  parts: SpoolParts,
  { rows, labels }: Spool,
  folders: ReadonlyMap<string, string>,
  kind: K,
  fact: FactsByKind[K],
): void {
  const { tally } = parts
  const folder = 'repository' in fact ? folders.get(fact.repository.toLowerCase()) : undefined
  if ('repository' in fact && folder === undefined) {
    if (isWanted(parts, fact.repository)) tally.skip(kind)
    return
  }
  const shelf = shelfOf(kind, fact)
  if (!shelf || shelf.isPartial) {
    if (!NOT_COUNTED.includes(kind)) tally.skip(kind)
    if (!shelf) return
  }
  rows.add(`${shelf.on} ${folder}`, shelf.key, Date.parse(shelf.at), shelf.value ?? fact)
  const used = 'labels' in fact ? fact.labels : []
  if (used.length === 0) return
  const known = labels.get(folder!) ?? new Set<string>()
  for (const label of used) known.add(String(label))
  labels.set(folder!, known)
}

/** Where a fact is put until it is wanted. */
export interface Shelf {
  on: ShelfName
  key: number
  /** What orders the rows of a key. */
  at: string
  /** What is kept, where it is not the whole fact. */
  value?: unknown
  /** Something of it arrives, but it does not itself. */
  isPartial?: boolean
}

export type ShelfName =
  | ('milestones' | 'issues' | 'comments' | 'locks' | 'merges' | 'pulls' | 'reviews' | 'threads')
  | ('review_comments' | 'releases' | 'attachments')

type Shelving = { [K in FactKind]?: (fact: FactsByKind[K]) => Shelf | undefined }

const SHELVES: Shelving = {
  milestones: ({ number, createdAt }) => ({ on: 'milestones', key: number, at: createdAt }),
  issues: ({ number, createdAt }) => ({ on: 'issues', key: number, at: createdAt }),
  issue_comments: ({ on, createdAt }) => ({ on: 'comments', key: on.number, at: createdAt }),
  issue_events: ({ on: { number: key }, event, commit, createdAt: at }) => {
    if (event === 'locked' || event === 'unlocked')
      return { on: 'locks', key, at, value: event, isPartial: true }
    if (event === 'merged') return { on: 'merges', key, at, value: commit, isPartial: true }
    return undefined
  },
  pull_requests: ({ number, createdAt }) => ({ on: 'pulls', key: number, at: createdAt }),
  pull_request_reviews: ({ pull, createdAt, submittedAt }) => ({
    on: 'reviews',
    key: pull,
    at: submittedAt ?? createdAt,
  }),
  pull_request_review_threads: ({ id, pull, line, originalLine, side, createdAt }) => ({
    on: 'threads',
    key: pull,
    at: createdAt,
    value: { id, line, originalLine, side },
  }),
  pull_request_review_comments: ({ pull, createdAt }) => ({
    on: 'review_comments',
    key: pull,
    at: createdAt,
  }),
  releases: ({ createdAt }) => ({ on: 'releases', key: 0, at: createdAt }),
  attachments: ({ createdAt }) => ({ on: 'attachments', key: 0, at: createdAt }),
  repository_files: ({ createdAt }) => ({ on: 'attachments', key: 0, at: createdAt }),
}

/** Undefined where a dump has no place for it. */
export function shelfOf<K extends FactKind>(kind: K, fact: FactsByKind[K]): Shelf | undefined {
  return (SHELVES[kind] as ((fact: FactsByKind[K]) => Shelf | undefined) | undefined)?.(fact)
}
