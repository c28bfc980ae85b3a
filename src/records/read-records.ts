import { list } from '../lib/json-shape.ts'
import type { FactKind, FactsByKind } from './facts.ts'
import type { Discussion, DiscussionCategory } from './issue.ts'
import { reactions, readIssue, readIssueComment, readIssueEvent } from './issue-records.ts'
import { readOrganization, readTeam, readUser } from './people-records.ts'
import { readPullRequest } from './pull-request-records.ts'
import {
  categoryName,
  id,
  labelName,
  linkOrNull,
  person,
  repositoryName,
} from './read-addresses.ts'
import { type OnInvalid, type RecordFileContent, readList } from './record-file.ts'
import { anyString, type FieldReader, fieldReader, orElse, textOrNull } from './record-shapes.ts'
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
  discussion_categories: readDiscussionCategory,
  discussions: readDiscussion,
  releases: readRelease,
  protected_branches: readProtectedBranch,
  attachments: readAttachment,
  repository_files: readRepositoryFile,
}

/** Whether facts can be read from records of this kind. */
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

/** Reads the facts of one file. Throws if the file is not a JSON list, and calls `onInvalid` for each invalid record. */
export function readFacts<K extends FactKind>(
  kind: K,
  json: string,
  onInvalid: OnInvalid,
): RecordFileContent<FactsByKind[K]> {
  return readList(json, (record, at) => readFact(kind, record, at), onInvalid)
}

function withoutUndefined<T extends object>(fact: T): T {
  return Object.fromEntries(Object.entries(fact).filter(([, value]) => value !== undefined)) as T
}

function readDiscussion(field: FieldReader): Discussion {
  const createdAt = field('created_at', anyString)
  return {
    repository: field('repository', repositoryName),
    number: field('url', id),
    author: field('user', person),
    title: field('title', anyString),
    body: field('body', textOrNull),
    labels: field('labels', orElse(list(labelName), [])),
    reactions: field('reactions', reactions),
    category: field('discussion_category', linkOrNull(categoryName)),
    createdAt,
    updatedAt: field('updated_at', orElse(anyString, createdAt)),
  }
}

function readDiscussionCategory(field: FieldReader): DiscussionCategory {
  return {
    repository: field('repository', repositoryName),
    name: field('name', anyString),
    emoji: field('emoji', textOrNull),
    description: field('description', textOrNull),
  }
}
