import {
  anyString,
  booleanOrFalse,
  type FieldReader,
  ifPresent,
  listOrEmpty,
  objectOf,
  stringOrNull,
  withDefault,
} from './field-reader.ts'
import { linkToSubject, readCommonFields, writeReactions, writeTriage } from './issue-records.ts'
import * as url from './parse-urls.ts'
import type {
  ClosingReference,
  PullRequest,
  PullRequestHead,
  ReviewRequest,
} from './pull-request.ts'
import type { Links } from './record-urls.ts'

export function readPullRequest(field: FieldReader): PullRequest {
  return {
    ...readCommonFields(field),
    base: field('base', branch),
    head: field('head', head),
    reviewRequests: field('review_requests', listOrEmpty(reviewRequest)),
    closes: field('close_issue_references', listOrEmpty(closingReference)),
    draft: field('work_in_progress', booleanOrFalse),
    mergedAt: field('merged_at', stringOrNull),
    mergeCommit: field('merge_commit_sha', ifPresent(stringOrNull)),
  }
}

const branch = objectOf((field) => ({ ref: field('ref', anyString), sha: field('sha', anyString) }))

const head = objectOf(
  (field): PullRequestHead => ({
    ref: field('ref', anyString),
    sha: field('sha', anyString),
    owner: field('user', url.loginOrNull),
    repository: field('repo', url.linkOrNull(url.repositoryName)),
  }),
)

const reviewRequest = objectOf((field): ReviewRequest => {
  const createdAt = field('created_at', anyString)
  return {
    reviewer: field('reviewer', url.reviewer),
    createdAt,
    updatedAt: field('updated_at', withDefault(anyString, createdAt)),
    dismissedAt: field('dismissed_at', stringOrNull),
  }
})

const closingReference = objectOf((field): ClosingReference => {
  const { repository, number } = field('issue', url.issueOrPull)
  return {
    repository,
    issue: number,
    actor: field('actor', url.loginOrNull),
    source: field('source', anyString),
    createdAt: field('created_at', anyString),
  }
})

export function writePullRequest(pull: PullRequest, links: Links) {
  const { repository, number, base, head } = pull
  return {
    type: 'pull_request',
    url: links.pull(repository, number),
    user: links.person(pull.author),
    repository: links.repository(repository),
    title: pull.title,
    body: pull.body,
    base: {
      ref: base.ref,
      sha: base.sha,
      user: links.person(repository.split('/', 1)[0]!),
      repo: links.repository(repository),
    },
    head: {
      ref: head.ref,
      sha: head.sha,
      user: links.person(head.owner),
      repo: links.repository(head.repository),
    },
    ...writeTriage(pull, links),
    reactions: writeReactions(pull.reactions, 'Issue', links),
    review_requests: pull.reviewRequests.map((request) => writeReviewRequest(request, links)),
    close_issue_references: pull.closes.map((reference) => writeReference(reference, links)),
    work_in_progress: pull.draft,
    merged_at: pull.mergedAt,
    closed_at: pull.closedAt,
    created_at: pull.createdAt,
    merge_commit_sha: pull.mergeCommit,
  }
}

function writeReviewRequest(request: ReviewRequest, links: Links) {
  return {
    reviewer: linkToSubject(request.reviewer, links),
    reviewer_type: request.reviewer.kind === 'team' ? 'Team' : 'User',
    created_at: request.createdAt,
    updated_at: request.updatedAt,
    dismissed_at: request.dismissedAt,
  }
}

function writeReference(reference: ClosingReference, links: Links) {
  const { repository, issue } = reference
  return {
    issue: links.issueOrPull(repository, { kind: 'issue', number: issue }),
    issue_repository: links.repository(repository),
    actor: links.person(reference.actor),
    source: reference.source,
    created_at: reference.createdAt,
  }
}
