import { parseJson, type Shape } from '../lib/json-shape.ts'
import type { RepositoryFact } from './fact.ts'
import type { FactKind, FactsByKind } from './fact-kinds.ts'
import { type FieldReader, fieldReader } from './field-reader.ts'
import { readIssue, readIssueComment, readIssueEvent } from './issue-records.ts'
import { repositoryName } from './parse-urls.ts'
import { readOrganization, readTeam, readUser } from './people-records.ts'
import { readPullRequest } from './pull-request-records.ts'
import { readAttachment, readRelease, readRepositoryFile } from './release-records.ts'
import { readMilestone, readProtectedBranch, readRepository } from './repository-records.ts'
import {
  readCommitComment,
  readReview,
  readReviewComment,
  readReviewThread,
} from './review-records.ts'

const READERS: { [K in FactKind]: (field: FieldReader) => FactsByKind[K] } = {
  users: readUser,
  bots: readUser,
  organizations: readOrganization,
  teams: readTeam,
  repositories: readRepository,
  milestones: readMilestone,
  issues: readIssue,
  issue_comments: readIssueComment,
  issue_events: readIssueEvent,
  pull_requests: readPullRequest,
  pull_request_reviews: readReview,
  pull_request_review_threads: readReviewThread,
  pull_request_review_comments: readReviewComment,
  commit_comments: readCommitComment,
  discussion_categories: readRepositoryOf,
  discussions: readRepositoryOf,
  releases: readRelease,
  protected_branches: readProtectedBranch,
  attachments: readAttachment,
  repository_files: readRepositoryFile,
}

function readRepositoryOf(field: FieldReader): RepositoryFact {
  return { repository: field('repository', repositoryName) }
}

/** Returns whether facts can be read from records of this kind. */
export function isFactKind(kind: string): kind is FactKind {
  return Object.hasOwn(READERS, kind)
}

/**
 * Reads the fact of one record, from any exporter and any host. Throws an error that names the invalid field. `at` is the
 * position of the record, such as `[3]`.
 */
export function readFact<K extends FactKind>(kind: K, record: unknown, at = ''): FactsByKind[K] {
  const read = READERS[kind] as (field: FieldReader) => FactsByKind[K]
  return withoutUndefined(read(fieldReader(record, at)))
}

export interface RecordFileContent<T> {
  /** The valid records, each with its index in the file. */
  records: { index: number; value: T }[]
  /** The number of records in the file, valid or not. */
  count: number
}

/** Called for each invalid record, which is left out. The message contains its index, the field and the reason. */
export type OnInvalid = (message: string) => void

/** Reads the facts of one file. Throws if the file is not a JSON array, and calls `onInvalid` for each invalid record. */
export function readFacts<K extends FactKind>(
  kind: K,
  json: string,
  onInvalid: OnInvalid,
): RecordFileContent<FactsByKind[K]> {
  return readList(json, (record, at) => readFact(kind, record, at), onInvalid)
}

/** Applies `shape` to each element of a JSON array. Throws if the text is not a JSON array. */
export function readList<T>(
  json: string,
  shape: Shape<T>,
  onInvalid: OnInvalid,
): RecordFileContent<T> {
  const items: unknown = parseJson(json)
  if (!Array.isArray(items)) throw new Error('not a JSON array')
  const records: RecordFileContent<T>['records'] = []
  for (const [index, value] of items.entries()) {
    try {
      records.push({ index, value: shape(value, `[${index}]`) })
    } catch (error) {
      onInvalid((error as Error).message)
    }
  }
  return { records, count: items.length }
}

function withoutUndefined<T extends object>(fact: T): T {
  return Object.fromEntries(Object.entries(fact).filter(([, value]) => value !== undefined)) as T
}
