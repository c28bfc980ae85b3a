import { isDeepStrictEqual } from 'node:util'
import type { RepositoryFact } from '../../src/records/fact.ts'
import type { FactKind, FactsByKind, WrittenKind } from '../../src/records/fact-kinds.ts'
import { writeUser } from '../../src/records/people-records.ts'
import { readFact } from '../../src/records/read-records.ts'
import {
  createLinks,
  type Links,
  type RecordUrls,
  urlInArchive,
} from '../../src/records/record-urls.ts'
import type { RepositoryFile } from '../../src/records/release.ts'
import { writeRecord } from '../../src/records/write-records.ts'

/** Addresses as GitHub and most hosts have them. */
export function addressesAt(host: string, people = host): RecordUrls {
  return {
    host,
    person: (login) => `${people}/${login}`,
    repository: (fullName) => `${host}/${fullName}`,
  }
}

/** Writers of the records that Godwit only reads. */
const OTHER_WRITERS: {
  [K in Exclude<FactKind, WrittenKind>]: (fact: FactsByKind[K], links: Links) => object
} = {
  bots: writeUser,
  discussion_categories: writeRepositoryOf,
  discussions: writeRepositoryOf,
  repository_files: writeRepositoryFile,
}

export const isWrittenKind = (kind: FactKind): kind is WrittenKind =>
  !Object.hasOwn(OTHER_WRITERS, kind)

export function writeAnyRecord(
  kind: FactKind,
  fact: FactsByKind[FactKind],
  addresses: RecordUrls,
): Record<string, unknown> {
  const written = isWrittenKind(kind)
    ? writeRecord(kind, fact as never, addresses)
    : OTHER_WRITERS[kind](fact as never, createLinks(addresses))
  return JSON.parse(JSON.stringify(written))
}

/** Returns the fields of a record that are lost or changed if it is read and written again. */
export function fieldsChangedByRewrite(
  kind: FactKind,
  record: Record<string, unknown>,
  addresses: RecordUrls,
): string[] {
  const written = writeAnyRecord(kind, readFact(kind, record), addresses)
  return Object.keys({ ...record, ...written }).filter(
    (key) => !isDeepStrictEqual(record[key], written[key]),
  )
}

function writeRepositoryOf({ repository }: RepositoryFact, links: Links) {
  return { repository: links.repository(repository) }
}

function writeRepositoryFile(stored: RepositoryFile, links: Links) {
  return {
    type: 'repository_file',
    url: `${links.repository(stored.repository)}/files/${stored.id}/${encodeURIComponent(stored.name)}`,
    repository: links.repository(stored.repository),
    user: links.person(stored.author),
    file_name: stored.name,
    file_content_type: stored.contentType,
    file_url: urlInArchive(stored.file),
    created_at: stored.createdAt,
  }
}
