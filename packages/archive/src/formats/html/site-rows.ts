import type { SortedRows } from '@godwit/lib/sorted-rows'
import type { AttachedTo, Attachment, RepositoryFile } from '../../records/release.ts'
import type { Repository } from '../../records/repository.ts'
import type { Conversion } from '../format.ts'
import { hashKey, readRepositories, sortRecords } from '../sort-records.ts'
import { passiveName, safeName, uniqueName } from './html.ts'

/** A file that people uploaded, and its path in the site. */
export interface Upload extends Omit<RepositoryFile, 'id' | 'repository'> {
  path: string
  /** The id of the element on the page that it belongs to, or '' for the page as a whole. */
  anchor: string
}

/** The records of all repositories. */
export interface SiteRows {
  /** The records as `sortRecords` adds them, and the tables `files OWNER/NAME`, `people` and `uploads`. */
  rows: SortedRows
  /** By `owner/name` in lower case. */
  repositories: Map<string, { record: Repository; directory: string }>
  /** `owner/name` by the URL on the old host, both in lower case. */
  urls: Map<string, string>
  /** The number of uploaded files. */
  uploads: number
}

/** Reads all records, and chooses the directory of each repository. */
export async function readSiteRows(conversion: Conversion, rows: SortedRows): Promise<SiteRows> {
  const siteRows: SiteRows = { rows, repositories: new Map(), urls: new Map(), uploads: 0 }
  const directories = new Set<string>()
  for (const [key, record] of await readRepositories(conversion)) {
    const path = ['repositories', record.owner, record.name].map(safeName).join('/')
    siteRows.repositories.set(key, { record, directory: uniqueName(path, directories) })
    const url = conversion.content.urlOf(`${record.owner}/${record.name}`)
    if (url) siteRows.urls.set(url.toLowerCase(), key)
  }
  await sortRecords(conversion, rows, (_kind, record) => {
    // Pages show only the names of people.
    if ('login' in record && record.name && record.name !== record.login)
      rows.add('people', hashKey(record.login.toLowerCase()), 0, record.name)
    if (!('file' in record)) return undefined
    addUpload(siteRows, record)
    return 'not needed'
  })
  return siteRows
}

function addUpload(siteRows: SiteRows, record: Attachment | RepositoryFile): void {
  const { name, contentType, file, author, createdAt } = record
  const repository = record.repository.toLowerCase()
  const { directory } = siteRows.repositories.get(repository)!
  // The id is a part of the URL on the old host.
  const id = 'uuid' in record ? record.uuid : `files/${record.id}`
  const { key, anchor } = anchorOf('on' in record ? record.on : { kind: 'repository' })
  const path = `${directory}/files/${++siteRows.uploads}-${passiveName(name)}`
  const upload: Upload = { name, contentType, file, author, createdAt, anchor, path }
  siteRows.rows.add(`files ${repository}`, key, Date.parse(createdAt) || 0, upload)
  siteRows.rows.add('uploads', hashKey(id), 0, { id, upload })
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
