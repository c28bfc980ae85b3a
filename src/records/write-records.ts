import { writeAttachment } from './attachment-records.ts'
import type { FactsByKind, WrittenKind } from './facts.ts'
import { writeIssue, writeIssueComment, writeIssueEvent } from './issue-records.ts'
import { writeOrganization, writeTeam, writeUser } from './people-records.ts'
import { writeProtectedBranch } from './protected-branch-records.ts'
import { writePullRequest } from './pull-request-records.ts'
import { type Links, linksAt, type RecordAddresses } from './record-addresses.ts'
import { writeRelease } from './release-records.ts'
import { writeMilestone, writeRepository } from './repository-records.ts'
import {
  writeCommitComment,
  writeReview,
  writeReviewComment,
  writeReviewThread,
} from './review-records.ts'

const WRITERS: { [K in WrittenKind]: (fact: FactsByKind[K], links: Links) => object } = {
  users: writeUser,
  organizations: writeOrganization,
  teams: writeTeam,
  repositories: writeRepository,
  milestones: writeMilestone,
  issues: writeIssue,
  issue_comments: writeIssueComment,
  issue_events: writeIssueEvent,
  pull_requests: writePullRequest,
  pull_request_reviews: writeReview,
  pull_request_review_threads: writeReviewThread,
  pull_request_review_comments: writeReviewComment,
  commit_comments: writeCommitComment,
  releases: writeRelease,
  protected_branches: writeProtectedBranch,
  attachments: writeAttachment,
}

/** One record as importers know it, ready to be written as JSON. */
export function writeRecord<K extends WrittenKind>(
  kind: K,
  fact: FactsByKind[K],
  addresses: RecordAddresses,
): Record<string, unknown> {
  const write = WRITERS[kind] as (fact: FactsByKind[K], links: Links) => object
  const written = Object.entries(write(fact, linksAt(addresses)))
  return Object.fromEntries(written.filter(([, value]) => value !== undefined))
}

/**
 * The logins that a record of this fact links to, of people, bots and organizations alike: each of them needs a record too.
 * Told by the writer itself, so that neither can know of a link that the other forgets.
 */
export function loginsIn<K extends WrittenKind>(kind: K, fact: FactsByKind[K]): Set<string> {
  const logins = new Set<string>()
  writeRecord(kind, fact, {
    host: '',
    person(login) {
      logins.add(login)
      return login
    },
    repository: (fullName) => fullName,
  })
  return logins
}
