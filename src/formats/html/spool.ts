import type { SortedRows } from '../../lib/sorted-rows.ts'
import type { AttachedTo, Attachment, RepositoryFile } from '../../records/release.ts'
import type { Repository } from '../../records/repository.ts'
import type { Conversion } from '../format.ts'
import { hashKey, readRepositoryFacts, spoolFacts } from '../spool-facts.ts'
import { passiveName, safeName, uniqueName } from './html.ts'

/** A file that people uploaded, and its path in the site. */
export interface Upload extends Omit<RepositoryFile, 'id' | 'repository'> {
  path: string
  /** The id of the element on the page that it belongs to, or '' for the page as a whole. */
  anchor: string
}

/** The facts of all repositories. */
export interface Spool {
  /** The facts as `spoolFacts` adds them, and the tables `files OWNER/NAME`, `people` and `uploads`. */
  rows: SortedRows
  /** By `owner/name` in lower case. */
  repositories: Map<string, { fact: Repository; directory: string }>
  /** `owner/name` by the URL on the old host, both in lower case. */
  urls: Map<string, string>
  /** The number of uploaded files. */
  uploads: number
}

/** Reads all facts, and chooses the directory of each repository. */
export async function readSpool(conversion: Conversion, rows: SortedRows): Promise<Spool> {
  const spool: Spool = { rows, repositories: new Map(), urls: new Map(), uploads: 0 }
  const directories = new Set<string>()
  for (const [key, fact] of await readRepositoryFacts(conversion)) {
    const path = ['repositories', fact.owner, fact.name].map(safeName).join('/')
    spool.repositories.set(key, { fact, directory: uniqueName(path, directories) })
    const url = conversion.content.urlOf(`${fact.owner}/${fact.name}`)
    if (url) spool.urls.set(url.toLowerCase(), key)
  }
  await spoolFacts(conversion, rows, (_kind, fact) => {
    // Pages show only the names of people.
    if ('login' in fact && fact.name && fact.name !== fact.login)
      rows.add('people', hashKey(fact.login.toLowerCase()), 0, fact.name)
    if (!('file' in fact)) return undefined
    addUpload(spool, fact)
    return 'not needed'
  })
  return spool
}

function addUpload(spool: Spool, fact: Attachment | RepositoryFile): void {
  const { name, contentType, file, author, createdAt } = fact
  const repository = fact.repository.toLowerCase()
  const { directory } = spool.repositories.get(repository)!
  // The id is a part of the URL on the old host.
  const id = 'uuid' in fact ? fact.uuid : `files/${fact.id}`
  const { key, anchor } = anchorOf('on' in fact ? fact.on : { kind: 'repository' })
  const path = `${directory}/files/${++spool.uploads}-${passiveName(name)}`
  const upload: Upload = { name, contentType, file, author, createdAt, anchor, path }
  spool.rows.add(`files ${repository}`, key, Date.parse(createdAt) || 0, upload)
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
