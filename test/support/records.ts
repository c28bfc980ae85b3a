import { isDeepStrictEqual } from 'node:util'
import type { FactKind, FactsByKind, WrittenKind } from '../../src/records/facts.ts'
import type { Discussion, DiscussionCategory } from '../../src/records/issue.ts'
import { writeReactions } from '../../src/records/issue-records.ts'
import { writeUser } from '../../src/records/people-records.ts'
import { readFact } from '../../src/records/read-records.ts'
import {
  addressInArchive,
  type Links,
  linksAt,
  type RecordAddresses,
} from '../../src/records/record-addresses.ts'
import type { RepositoryFile } from '../../src/records/release.ts'
import { writeRecord } from '../../src/records/write-records.ts'

/** Addresses as GitHub and most hosts have them. */
export function addressesAt(host: string, people = host): RecordAddresses {
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
  discussion_categories: writeDiscussionCategory,
  discussions: writeDiscussion,
  repository_files: writeRepositoryFile,
}

export const isWrittenKind = (kind: FactKind): kind is WrittenKind =>
  !Object.hasOwn(OTHER_WRITERS, kind)

export function writeAnyRecord(
  kind: FactKind,
  fact: FactsByKind[FactKind],
  addresses: RecordAddresses,
): Record<string, unknown> {
  const written = isWrittenKind(kind)
    ? writeRecord(kind, fact as never, addresses)
    : OTHER_WRITERS[kind](fact as never, linksAt(addresses))
  return JSON.parse(JSON.stringify(written))
}

/** Returns the fields of a record that are lost or changed if it is read and written again. */
export function unlikeWritten(
  kind: FactKind,
  record: Record<string, unknown>,
  addresses: RecordAddresses,
): string[] {
  const written = writeAnyRecord(kind, readFact(kind, record), addresses)
  return Object.keys({ ...record, ...written }).filter(
    (key) => !isDeepStrictEqual(record[key], written[key]),
  )
}

const categoryAddress = (repository: string, name: string | null, links: Links) =>
  name === null
    ? null
    : `${links.repository(repository)}/discussion_categories/${encodeURIComponent(name)}`

function writeDiscussion(discussion: Discussion, links: Links) {
  const { repository } = discussion
  return {
    type: 'discussion',
    url: `${links.repository(repository)}/discussions/${discussion.number}`,
    repository: links.repository(repository),
    user: links.person(discussion.author),
    title: discussion.title,
    body: discussion.body,
    labels: discussion.labels.map((name) => links.label(repository, name)),
    reactions: writeReactions(discussion.reactions, 'Discussion', links),
    created_at: discussion.createdAt,
    updated_at: discussion.updatedAt,
    discussion_category: categoryAddress(repository, discussion.category, links),
  }
}

function writeDiscussionCategory(category: DiscussionCategory, links: Links) {
  return {
    type: 'discussion_category',
    url: categoryAddress(category.repository, category.name, links),
    repository: links.repository(category.repository),
    name: category.name,
    emoji: category.emoji,
    description: category.description,
  }
}

function writeRepositoryFile(stored: RepositoryFile, links: Links) {
  return {
    type: 'repository_file',
    url: `${links.repository(stored.repository)}/files/${stored.id}/${encodeURIComponent(stored.name)}`,
    repository: links.repository(stored.repository),
    user: links.person(stored.author),
    file_name: stored.name,
    file_content_type: stored.contentType,
    file_url: addressInArchive(stored.file),
    created_at: stored.createdAt,
  }
}
