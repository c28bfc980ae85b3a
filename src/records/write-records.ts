import type { FactsByKind, WrittenKind } from './fact-kinds.ts'
import { writeIssue, writeIssueComment, writeIssueEvent } from './issue-records.ts'
import { writeOrganization, writeTeam, writeUser } from './people-records.ts'
import { writePullRequest } from './pull-request-records.ts'
import { createLinks, type Links, type RecordUrls } from './record-urls.ts'
import { writeAttachment, writeRelease } from './release-records.ts'
import { writeMilestone, writeProtectedBranch, writeRepository } from './repository-records.ts'
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

/** Returns the record of a fact in GitHub's format, ready for JSON.stringify. */
export function writeRecord<K extends WrittenKind>(
  kind: K,
  fact: FactsByKind[K],
  addresses: RecordUrls,
): Record<string, unknown> {
  const write = WRITERS[kind] as (fact: FactsByKind[K], links: Links) => object
  const written = Object.entries(write(fact, createLinks(addresses)))
  return Object.fromEntries(written.filter(([, value]) => value !== undefined))
}

/**
 * Returns the logins of people, bots and organizations that the record of this fact links to. Each of them needs a record too.
 * The logins are collected while the record is written, so that no link is missed.
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

const MAX_RECORDS_PER_FILE = 100

/**
 * Writes the records of one kind as the files of an archive, in the given order: numbered from 1 without gaps, at most 100
 * records in each, and no file without records. Only one file is in memory at a time.
 */
export async function* splitIntoFiles(
  kind: string,
  records: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncGenerator<{ name: string; text: string; count: number }> {
  let written: string[] = []
  let number = 0
  const file = () => ({
    name: `${kind}_${String(++number).padStart(6, '0')}.json`,
    text: `[\n${written.join(',\n')}\n]\n`,
    count: written.length,
  })
  for await (const record of records) {
    written.push(indented(record))
    if (written.length < MAX_RECORDS_PER_FILE) continue
    yield file()
    written = []
  }
  if (written.length > 0) yield file()
}

function indented(record: unknown): string {
  // A regular expression with ^ would also match after a U+2028 within a string.
  return `  ${JSON.stringify(record, null, 2).replaceAll('\n', '\n  ')}`
}
