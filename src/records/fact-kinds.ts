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

/** Importers only count GitHub Discussions and their categories, so these facts have no other fields. */
const repositoryFactRecord = field.record({ repository: field.repository })

/**
 * The record of each kind of fact. The keys are the names of the files in an archive: `issues` are in `issues_000001.json`. The kinds
 * are in the order in which they are written: a record comes after the records that it links to.
 */
export const RECORDS = {
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
  discussion_categories: repositoryFactRecord,
  discussions: repositoryFactRecord,
  releases: releaseRecord,
  protected_branches: protectedBranchRecord,
  attachments: attachmentRecord,
  repository_files: repositoryFileRecord,
}

export type FactsByKind = { [K in FactKind]: ReturnType<(typeof RECORDS)[K]> }
export type FactKind = keyof typeof RECORDS

/** All kinds, in the order in which they are written. */
export const FACT_KINDS = Object.keys(RECORDS) as FactKind[]

/** The kinds that are written. Forges do not have the excluded kinds, so these are only read from archives of other exporters. */
export type WrittenKind = Exclude<
  FactKind,
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
] as const satisfies FactKind[]
