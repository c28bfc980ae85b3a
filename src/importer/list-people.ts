import { textOf } from '../archive/read-entries.ts'
import type { Folder } from '../archive/read-folder.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { NOT_UNPACKED, safeEntries } from '../formats/safe-entries.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import type { Author, Reaction } from '../records/fact.ts'
import type { FactKind } from '../records/fact-kinds.ts'
import { isFactKind, readFacts } from '../records/read-records.ts'
import { kindOfFile } from '../records/record-file.ts'

const COLUMNS = [
  'issues',
  'pull_requests',
  'comments',
  'reviews',
  'commit_comments',
  'releases',
  'reactions',
] as const

type Column = (typeof COLUMNS)[number]

/** The column in which a record of each kind counts for its author. Other kinds are not counted. */
const COLUMN_OF_KIND: Partial<Record<FactKind, Column>> = {
  issues: 'issues',
  pull_requests: 'pull_requests',
  issue_comments: 'comments',
  pull_request_reviews: 'reviews',
  pull_request_review_comments: 'comments',
  commit_comments: 'commit_comments',
  releases: 'releases',
}

/**
 * Lists the accounts that wrote or reacted to something in the archive, or own one of its repositories, the most active first. `titles`
 * are the kinds of contributions that are counted, and `wrote` has one count for each. The warnings are about records that could not
 * be read. Reads one file of records into memory at a time.
 */
export async function listPeople(archive: Bytes | Folder, signal: AbortSignal) {
  const people = new Map<string, { login: string; wrote: number[] }>()
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  const countsFor = (author: Author) => {
    const login = author ?? 'ghost'
    const known = people.get(login.toLowerCase())
    if (known) return known.wrote
    const wrote = COLUMNS.map(() => 0)
    people.set(login.toLowerCase(), { login, wrote })
    return wrote
  }
  const count = (author: Author, column: Column) => countsFor(author)[COLUMNS.indexOf(column)]!++
  for await (const entry of safeEntries(archive, NOT_UNPACKED, signal)) {
    const kind = kindOfFile(entry.path)
    if (kind === undefined || !isFactKind(kind)) continue
    const warn = (why: string) => limited.add(kind, `${entry.path}: ${why}`)
    const column = COLUMN_OF_KIND[kind]
    for (const { value } of readFacts(kind, await textOf(entry), warn).records) {
      if (kind === 'repositories' && 'owner' in value) countsFor(value.owner)
      if (!column) continue
      if ('author' in value) count(value.author, column)
      const reactions = 'reactions' in value ? value.reactions : undefined
      for (const { author } of (reactions ?? []) as readonly Reaction[]) count(author, 'reactions')
    }
  }
  limited.end()
  const total = ({ wrote }: { wrote: number[] }) => wrote.reduce((a, b) => a + b, 0)
  const sorted = [...people.values()].sort(
    (a, b) => total(b) - total(a) || (a.login < b.login ? -1 : 1),
  )
  return { titles: COLUMNS, people: sorted, warnings }
}
