import type { SortedRows } from '../../lib/sorted-rows.ts'
import { FACT_KINDS, type FactKind, type FactsByKind } from '../../records/fact-kinds.ts'
import type { AttachedTo, Attachment, RepositoryFile } from '../../records/release.ts'
import type { Repository } from '../../records/repository.ts'
import type { Conversion } from '../format.ts'
import type { Report } from '../report.ts'
import { hashKey } from '../spool-facts.ts'
import { passiveName, safeName, uniqueName } from './html.ts'

/** A file that people uploaded, and its path in the site. */
export interface Upload extends Omit<RepositoryFile, 'id' | 'repository'> {
  path: string
  /** The id of the element on the page that it belongs to, or '' for the page as a whole. */
  anchor: string
}

/** The facts of all repositories, in the order of the pages. */
export interface Spool {
  /** The name of a table is followed by the key of the repository, except for `people` and `uploads`. */
  rows: SortedRows
  /** By `owner/name` in lower case. */
  repositories: Map<string, { fact: Repository; directory: string }>
  /** `owner/name` by the URL on the old host, both in lower case. */
  urls: Map<string, string>
  /** The number of uploaded files. */
  uploads: number
}

/** Reads all facts into `rows`: an input has comments in the order of time, and a page needs those of one issue. */
export async function spoolFacts(
  { content, report }: Pick<Conversion, 'content' | 'report'>,
  rows: SortedRows,
): Promise<Spool> {
  const spool: Spool = { rows, repositories: new Map(), urls: new Map(), uploads: 0 }
  const directories = new Set<string>()
  for await (const fact of content.facts('repositories')) {
    const fullName = `${fact.owner}/${fact.name}`
    const key = fullName.toLowerCase()
    const path = ['repositories', fact.owner, fact.name].map(safeName).join('/')
    const directory = spool.repositories.get(key)?.directory ?? uniqueName(path, directories)
    spool.repositories.set(key, { fact, directory })
    const url = content.urlOf(fullName)
    if (url) spool.urls.set(url.toLowerCase(), key)
  }
  for (const kind of FACT_KINDS)
    if (kind !== 'repositories')
      for await (const fact of content.facts(kind)) addFact(spool, kind, fact, report)
  return spool
}

type AddRows<K extends FactKind> = (fact: FactsByKind[K], add: AddRow, spool: Spool) => void

/** Adds the rows of one fact. Facts of any other kind are reported as lost. */
const ADD: { [K in FactKind]?: AddRows<K> } = {
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
  attachments: addUpload,
  repository_files: addUpload,
}

type AddRow = (table: string, key: number, at: string, value: unknown) => void

const timeOf = (at: string): number => Date.parse(at) || 0

function addFact<K extends FactKind>(spool: Spool, kind: K, fact: FactsByKind[K], report: Report) {
  const addRows = ADD[kind] as AddRows<K> | undefined
  const repository = 'repository' in fact ? fact.repository.toLowerCase() : undefined
  const add: AddRow = (table, key, at, value) =>
    spool.rows.add(repository ? `${table} ${repository}` : table, key, timeOf(at), value)
  if (!addRows) report.lost(kind)
  else if (repository !== undefined && !spool.repositories.has(repository))
    report.lost(kind, 1, repository)
  else addRows(fact, add, spool)
}

function addPerson({ login, name }: { login: string; name: string | null }, add: AddRow): void {
  if (name && name !== login) add('people', hashKey(login.toLowerCase()), '', name)
}

function addItem(table: 'issues' | 'pulls', fact: { number: number }, add: AddRow): void {
  add(table, fact.number, '', fact)
  // The newest comes first.
  add(`${table} by age`, -fact.number, '', null)
}

function addUpload(fact: Attachment | RepositoryFile, add: AddRow, spool: Spool): void {
  const { name, contentType, file, author, createdAt } = fact
  const { directory } = spool.repositories.get(fact.repository.toLowerCase())!
  // The id is a part of the URL on the old host.
  const id = 'uuid' in fact ? fact.uuid : `files/${fact.id}`
  const { key, anchor } = anchorOf('on' in fact ? fact.on : { kind: 'repository' })
  const path = `${directory}/files/${++spool.uploads}-${passiveName(name)}`
  const upload: Upload = { name, contentType, file, author, createdAt, anchor, path }
  add('files', key, createdAt, upload)
  spool.rows.add('uploads', hashKey(id), 0, { id, upload })
}

/**
 * Returns the id of the element that shows the uploads of an object, or '' if that is the page as a whole, and the key of these
 * uploads in the table `files`. All uploads of an issue or a pull request have its number as their key.
 */
export function anchorOf(on: AttachedTo): { key: number; anchor: string } {
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
