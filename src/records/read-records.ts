import { readAttachment } from './attachment-records.ts'
import { readDiscussion, readDiscussionCategory } from './discussion-records.ts'
import type { FactKind, FactsByKind } from './facts.ts'
import { type FieldsOf, fieldsOf } from './field-shapes.ts'
import { readIssue, readIssueComment, readIssueEvent } from './issue-records.ts'
import { readOrganization, readTeam, readUser } from './people-records.ts'
import { readProtectedBranch } from './protected-branch-records.ts'
import { readPullRequest } from './pull-request-records.ts'
import { type OnInvalid, type RecordsRead, readList } from './record-file.ts'
import { readRelease, readRepositoryFile } from './release-records.ts'
import { readMilestone, readRepository } from './repository-records.ts'
import {
  readCommitComment,
  readReview,
  readReviewComment,
  readReviewThread,
} from './review-records.ts'

const READERS: { [K in FactKind]: (field: FieldsOf) => FactsByKind[K] } = {
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
  discussion_categories: readDiscussionCategory,
  discussions: readDiscussion,
  releases: readRelease,
  protected_branches: readProtectedBranch,
  attachments: readAttachment,
  repository_files: readRepositoryFile,
}

/** Whether records of this kind are read; those of others can only be kept as they are. */
export function isFactKind(kind: string): kind is FactKind {
  return Object.hasOwn(READERS, kind)
}

/**
 * What one record of an archive says, whoever made it and wherever its host is. Throws an error that names the field where it
 * cannot be understood; `at` is where the record is, such as `[3]`.
 */
export function readFact<K extends FactKind>(kind: K, record: unknown, at = ''): FactsByKind[K] {
  const read = READERS[kind] as (field: FieldsOf) => FactsByKind[K]
  return withoutUndefined(read(fieldsOf(record, at)))
}

/** The facts of one file. Throws where it is no list of JSON; of a record that cannot be read `onInvalid` is told. */
export function readFacts<K extends FactKind>(
  kind: K,
  json: string,
  onInvalid: OnInvalid,
): RecordsRead<FactsByKind[K]> {
  return readList(json, (record, at) => readFact(kind, record, at), onInvalid)
}

function withoutUndefined<T extends object>(fact: T): T {
  return Object.fromEntries(Object.entries(fact).filter(([, value]) => value !== undefined)) as T
}
