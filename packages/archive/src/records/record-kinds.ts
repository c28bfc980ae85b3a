import { issueCommentRecord, issueEventRecord, issueRecord } from './issue.ts'
import { organizationRecord, teamRecord, userRecord } from './people.ts'
import {
  commitCommentRecord,
  pullRequestRecord,
  reviewCommentRecord,
  reviewRecord,
  reviewThreadRecord,
} from './pull-request.ts'
import * as field from './record-fields.ts'
import { attachmentRecord, releaseRecord, repositoryFileRecord } from './release.ts'
import { milestoneRecord, protectedBranchRecord, repositoryRecord } from './repository.ts'

/** Importers only count GitHub Discussions and their categories, so these records have no other fields. */
const countedFormat = field.recordFormat({ repository: field.repository })

/**
 * The format of each kind of record. The keys are the names of the files in an archive: `issues` are in `issues_000001.json`. The kinds
 * are in the order in which they are written: a record comes after those that it links to.
 */
export const RECORD_FORMATS = {
  users: userRecord,
  bots: userRecord,
  organizations: organizationRecord,
  teams: teamRecord,
  repositories: repositoryRecord,
  milestones: milestoneRecord,
  issues: issueRecord,
  issue_comments: issueCommentRecord,
  issue_events: issueEventRecord,
  pull_requests: pullRequestRecord,
  pull_request_reviews: reviewRecord,
  pull_request_review_threads: reviewThreadRecord,
  pull_request_review_comments: reviewCommentRecord,
  commit_comments: commitCommentRecord,
  discussion_categories: countedFormat,
  discussions: countedFormat,
  releases: releaseRecord,
  protected_branches: protectedBranchRecord,
  attachments: attachmentRecord,
  repository_files: repositoryFileRecord,
}

export type RecordsByKind = { [K in RecordKind]: ReturnType<(typeof RECORD_FORMATS)[K]> }
export type RecordKind = keyof typeof RECORD_FORMATS

/** All kinds, in the order in which they are written. */
export const RECORD_KINDS = Object.keys(RECORD_FORMATS) as RecordKind[]

/** The kinds that are written. Forges do not have the excluded kinds, so these are only read from archives of other exporters. */
export type WrittenKind = Exclude<
  RecordKind,
  'bots' | 'discussion_categories' | 'discussions' | 'repository_files'
>

/** Issues, pull requests and releases with everything that belongs to them, in the order in which they are written. */
export const ISSUE_TRACKER_KINDS = [
  'milestones',
  'issues',
  'issue_comments',
  'issue_events',
  'pull_requests',
  'pull_request_reviews',
  'pull_request_review_threads',
  'pull_request_review_comments',
  'commit_comments',
  'releases',
] as const satisfies RecordKind[]
