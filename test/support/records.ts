import { isDeepStrictEqual } from 'node:util'
import type { RepositoryFact } from '../../src/records/fact.ts'
import type { FactKind, FactsByKind, WrittenKind } from '../../src/records/fact-kinds.ts'
import { userRecord } from '../../src/records/people.ts'
import { readFact } from '../../src/records/read-records.ts'
import {
  createRecordUrls,
  type HostUrls,
  type RecordUrls,
  urlInArchive,
} from '../../src/records/record-urls.ts'
import type { RepositoryFile } from '../../src/records/release.ts'
import { toRecord } from '../../src/records/write-records.ts'

/** URLs as GitHub and most hosts have them. */
export function hostUrlsAt(host: string, people = host): HostUrls {
  return {
    host,
    person: (login) => `${people}/${login}`,
    repository: (fullName) => `${host}/${fullName}`,
  }
}

/** Builders of the records that Godwit only reads. */
const OTHER_BUILDERS: {
  [K in Exclude<FactKind, WrittenKind>]: (fact: FactsByKind[K], urls: RecordUrls) => object
} = {
  bots: userRecord.write,
  discussion_categories: repositoryLinkRecord,
  discussions: repositoryLinkRecord,
  repository_files: repositoryFileRecord,
}

export const isWrittenKind = (kind: FactKind): kind is WrittenKind =>
  !Object.hasOwn(OTHER_BUILDERS, kind)

export function toAnyRecord(
  kind: FactKind,
  fact: FactsByKind[FactKind],
  urls: HostUrls,
): Record<string, unknown> {
  const written = isWrittenKind(kind)
    ? toRecord(kind, fact as never, urls)
    : OTHER_BUILDERS[kind](fact as never, createRecordUrls(urls))
  return JSON.parse(JSON.stringify(written))
}

/** Returns the fields of a record that are lost or changed if it is read and written again. */
export function fieldsChangedByRewrite(
  kind: FactKind,
  record: Record<string, unknown>,
  urls: HostUrls,
): string[] {
  const written = toAnyRecord(kind, readFact(kind, record), urls)
  return Object.keys({ ...record, ...written }).filter(
    (key) => !isDeepStrictEqual(record[key], written[key]),
  )
}

function repositoryLinkRecord({ repository }: RepositoryFact, urls: RecordUrls) {
  return { repository: urls.repository(repository) }
}

function repositoryFileRecord(stored: RepositoryFile, urls: RecordUrls) {
  return {
    type: 'repository_file',
    url: `${urls.repository(stored.repository)}/files/${stored.id}/${encodeURIComponent(stored.name)}`,
    repository: urls.repository(stored.repository),
    user: urls.person(stored.author),
    file_name: stored.name,
    file_content_type: stored.contentType,
    file_url: urlInArchive(stored.file),
    created_at: stored.createdAt,
  }
}
