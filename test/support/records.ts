import { isDeepStrictEqual } from 'node:util'
import { userRecord } from '../../packages/archive/src/records/people.ts'
import { readRecord } from '../../packages/archive/src/records/read-records.ts'
import type { RecordOfRepository } from '../../packages/archive/src/records/record.ts'
import type {
  RecordKind,
  RecordsByKind,
  WrittenKind,
} from '../../packages/archive/src/records/record-kinds.ts'
import {
  createRecordUrls,
  type HostUrls,
  type RecordUrls,
  urlInArchive,
} from '../../packages/archive/src/records/record-urls.ts'
import type { RepositoryFile } from '../../packages/archive/src/records/release.ts'
import { toGitHubRecord } from '../../packages/archive/src/records/write-records.ts'

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
  [K in Exclude<RecordKind, WrittenKind>]: (record: RecordsByKind[K], urls: RecordUrls) => object
} = {
  bots: userRecord.write,
  discussion_categories: repositoryLinkRecord,
  discussions: repositoryLinkRecord,
  repository_files: repositoryFileRecord,
}

export const isWrittenKind = (kind: RecordKind): kind is WrittenKind =>
  !Object.hasOwn(OTHER_BUILDERS, kind)

export function toAnyGitHubRecord(
  kind: RecordKind,
  record: RecordsByKind[RecordKind],
  urls: HostUrls,
): Record<string, unknown> {
  const written = isWrittenKind(kind)
    ? toGitHubRecord(kind, record as never, urls)
    : OTHER_BUILDERS[kind](record as never, createRecordUrls(urls))
  return JSON.parse(JSON.stringify(written))
}

/** Returns the fields of a record that are lost or changed if it is read and written again. */
export function fieldsChangedByRewrite(
  kind: RecordKind,
  githubRecord: Record<string, unknown>,
  urls: HostUrls,
): string[] {
  const written = toAnyGitHubRecord(kind, readRecord(kind, githubRecord), urls)
  return Object.keys({ ...githubRecord, ...written }).filter(
    (key) => !isDeepStrictEqual(githubRecord[key], written[key]),
  )
}

function repositoryLinkRecord({ repository }: RecordOfRepository, urls: RecordUrls) {
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
