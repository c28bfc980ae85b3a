import { textOf } from '../archive/read-entries.ts'
import type { Folder } from '../archive/read-folder.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import type { Author, Reaction } from '../records/fact.ts'
import type { FactKind } from '../records/facts.ts'
import { isFactKind, readFacts } from '../records/read-records.ts'
import { kindOfFile } from '../records/record-file.ts'
import { NOT_UNPACKED, safeEntries } from './safe-entries.ts'

const WROTE = [
  'issues',
  'pull_requests',
  'comments',
  'reviews',
  'commit_comments',
  'releases',
  'reactions',
] as const

type Wrote = (typeof WROTE)[number]

/** Kinds of records, and what their author is said to have written by them. */
const COUNTED: Partial<Record<FactKind, Wrote>> = {
  issues: 'issues',
  pull_requests: 'pull_requests',
  issue_comments: 'comments',
  pull_request_reviews: 'reviews',
  pull_request_review_comments: 'comments',
  commit_comments: 'commit_comments',
  releases: 'releases',
}

export interface PeopleList {
  titles: readonly string[]
  /** Who wrote most comes first. */
  people: { login: string; wrote: readonly number[] }[]
  /** Of records that could not be read. */
  warnings: string[]
}

/** Everyone who wrote something in the archive, or owns a repository of it. One file of records is in memory at a time. */
export async function listPeople(
  archive: Bytes | Folder,
  signal: AbortSignal,
): Promise<PeopleList> {
  const counts = new Map<string, { login: string; wrote: number[] }>()
  const warnings: string[] = []
  const limited = new LimitedLines(({ text }) => warnings.push(text))
  const of = (author: Author) => {
    const login = author ?? 'ghost'
    const known = counts.get(login.toLowerCase())
    if (known) return known.wrote
    const wrote = WROTE.map(() => 0)
    counts.set(login.toLowerCase(), { login, wrote })
    return wrote
  }
  const add = (author: Author, what: Wrote) => of(author)[WROTE.indexOf(what)]!++
  for await (const entry of safeEntries(archive, NOT_UNPACKED, signal)) {
    const kind = kindOfFile(entry.path)
    if (kind === undefined || !isFactKind(kind)) continue
    const warn = (why: string) => limited.add(kind, `${entry.path}: ${why}`)
    const read = readFacts(kind, await textOf(entry), warn)
    const counted = COUNTED[kind]
    for (const { value } of read.records) {
      if (kind === 'repositories' && 'owner' in value) of(value.owner)
      if (!counted) continue
      if ('author' in value) add(value.author, counted)
      const reactions = 'reactions' in value ? value.reactions : undefined
      for (const { author } of (reactions ?? []) as readonly Reaction[]) add(author, 'reactions')
    }
  }
  limited.end()
  return { titles: WROTE, people: mostFirst([...counts.values()]), warnings }
}

function mostFirst(people: PeopleList['people']): PeopleList['people'] {
  const total = ({ wrote }: PeopleList['people'][number]) => wrote.reduce((a, b) => a + b, 0)
  return people.sort((a, b) => total(b) - total(a) || (a.login < b.login ? -1 : 1))
}
