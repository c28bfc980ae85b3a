import { createHash } from 'node:crypto'
import type { SortedRows } from '../../lib/sorted-rows.ts'
import type { FactKind, FactsByKind } from '../../records/fact-kinds.ts'
import type { AttachedTo, UploadedFile } from '../../records/release.ts'
import type { Repository } from '../../records/repository.ts'
import type { FormatReader } from '../format.ts'
import type { Report } from '../report.ts'
import { passiveName, safeName } from './html.ts'

/** A file that people uploaded, and its path in the site. */
export interface Upload extends UploadedFile {
  path: string
  author: string | null
  createdAt: string
  /** The id of the element on the page that it belongs to, or '' for the page as a whole. */
  anchor: string
}

/** The facts of all repositories, in the order of the pages. */
export interface Spool {
  rows: SortedRows
  /** By `owner/name` in lower case. */
  repositories: Map<string, { fact: Repository; directory: string }>
  /** `owner/name` by the URL on the old host, both in lower case. */
  urls: Map<string, string>
  /** The number of uploaded files. */
  uploads: number
}

/** A number for `SortedRows` that stands for a text. */
export const hashKey = (text: string): number =>
  createHash('sha1').update(text).digest().readUIntBE(0, 6)

/** Reads all facts into `rows`: an input has comments in the order of time, and a page needs those of one issue. */
export async function spoolFacts(
  content: FormatReader,
  rows: SortedRows,
  report: Report,
  signal: AbortSignal,
): Promise<Spool> {
  const spool: Spool = { rows, repositories: new Map(), urls: new Map(), uploads: 0 }
  for await (const fact of content.facts('repositories', signal)) {
    const fullName = `${fact.owner}/${fact.name}`
    const key = fullName.toLowerCase()
    const directory = ['repositories', fact.owner, fact.name].map(safeName).join('/')
    spool.repositories.set(key, { fact, directory })
    const url = content.urlOf(fullName)
    if (url) spool.urls.set(url.toLowerCase(), key)
  }
  for (const kind of SHOWN_KINDS)
    for await (const fact of content.facts(kind, signal)) {
      const key = 'repository' in fact ? fact.repository.toLowerCase() : ''
      if (key && !spool.repositories.has(key)) report.lost(kind, 1, key)
      else addFact(spool, kind, fact, key)
    }
  for (const kind of LOST_KINDS)
    for await (const _ of content.facts(kind, signal)) report.lost(kind)
  return spool
}

const LOST_KINDS = ['teams', 'discussion_categories', 'discussions'] as const satisfies FactKind[]

const SHOWN_KINDS = [
  ...(['users', 'bots', 'organizations', 'milestones', 'issues', 'issue_comments'] as const),
  ...(['issue_events', 'pull_requests', 'pull_request_reviews'] as const),
  ...(['pull_request_review_threads', 'pull_request_review_comments'] as const),
  ...(['commit_comments', 'releases', 'protected_branches', 'attachments'] as const),
  'repository_files',
] as const satisfies FactKind[]

type ShownKind = (typeof SHOWN_KINDS)[number]

/** Adds the rows of one fact. Tables of a repository have its key in their name. */
const ADD: {
  [K in ShownKind]: (fact: FactsByKind[K], add: AddRow, spool: Spool, directory: string) => void
} = {
  users: addPerson,
  bots: addPerson,
  organizations: addPerson,
  milestones: (fact, add) => add('milestones', fact.number, fact.createdAt, fact),
  issues: (fact, add) => addItem('issues', fact, add),
  pull_requests: (fact, add) => addItem('pulls', fact, add),
  issue_comments: (fact, add) =>
    add('timeline', fact.on.number, fact.createdAt, { kind: 'comment', fact }),
  issue_events: (fact, add) =>
    add('timeline', fact.on.number, fact.createdAt, { kind: 'event', fact }),
  pull_request_reviews: (fact, add) =>
    add('timeline', fact.pull, fact.submittedAt ?? fact.createdAt, { kind: 'review', fact }),
  pull_request_review_threads: (fact, add) => add('threads', fact.pull, fact.createdAt, fact),
  pull_request_review_comments: (fact, add) =>
    add('review comments', fact.pull, fact.createdAt, fact),
  commit_comments: (fact, add) => add('commit comments', 0, fact.createdAt, fact),
  // The newest comes first.
  releases: (fact, add) => add('releases', -timeOf(fact.publishedAt ?? fact.createdAt), '', fact),
  protected_branches: (fact, add) => add('protected branches', 0, '', fact),
  attachments: (fact, add, spool, directory) =>
    addUpload(fact, { id: fact.uuid, on: fact.on }, add, spool, directory),
  repository_files: (fact, add, spool, directory) =>
    addUpload(fact, { id: `files/${fact.id}`, on: { kind: 'repository' } }, add, spool, directory),
}

type AddRow = (table: string, key: number, at: string, value: unknown) => void

const timeOf = (at: string): number => Date.parse(at) || 0

function addFact<K extends ShownKind>(spool: Spool, kind: K, fact: FactsByKind[K], key: string) {
  const add: AddRow = (table, rowKey, at, value) =>
    spool.rows.add(`${table} ${key}`, rowKey, timeOf(at), value)
  ADD[kind](fact, add, spool, spool.repositories.get(key)?.directory ?? '')
}

function addPerson({ login, name }: { login: string; name: string | null }, add: AddRow): void {
  if (name && name !== login) add('people', hashKey(login.toLowerCase()), '', { login, name })
}

function addItem(table: 'issues' | 'pulls', fact: { number: number }, add: AddRow): void {
  add(table, fact.number, '', fact)
  add(`${table} by age`, -fact.number, '', null)
}

function addUpload(
  fact: Pick<Upload, 'name' | 'contentType' | 'file' | 'author' | 'createdAt'>,
  { id, on }: { id: string; on: AttachedTo },
  add: AddRow,
  spool: Spool,
  directory: string,
): void {
  const { name, contentType, file, author, createdAt } = fact
  const { key, anchor } = placeOf(on)
  const path = `${directory}/files/${++spool.uploads}-${passiveName(name)}`
  const upload: Upload = { name, contentType, file, author, createdAt, anchor, path }
  add('files', key, createdAt, upload)
  spool.rows.add('uploads', hashKey(id), 0, { id, upload })
}

/** Returns the key of the page that shows an upload, and the id of the element on it. */
function placeOf(on: AttachedTo): { key: number; anchor: string } {
  switch (on.kind) {
    case 'issue':
    case 'pull_request':
      return { key: on.number, anchor: '' }
    case 'issue_comment':
      return { key: on.on.number, anchor: `issuecomment-${on.id}` }
    case 'pull_request_review':
      return { key: on.pull, anchor: `pullrequestreview-${on.id}` }
    case 'pull_request_review_comment':
      return { key: on.pull, anchor: `discussion_r${on.id}` }
    case 'commit_comment':
      return { key: hashKey(`comment ${on.id}`), anchor: `commitcomment-${on.id}` }
    case 'release':
      return { key: hashKey(`release ${on.tag}`), anchor: '' }
    case 'repository':
      return { key: 0, anchor: '' }
  }
}
