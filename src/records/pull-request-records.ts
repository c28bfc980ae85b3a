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
import { reactionRecords, readCommonFields, subjectUrl, triageFields } from './issue-records.ts'
import * as url from './parse-urls.ts'
import type {
  ClosingReference,
  PullRequest,
  PullRequestHead,
  ReviewRequest,
} from './pull-request.ts'
import type { RecordUrls } from './record-urls.ts'

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
    repository: field('repo', url.orNull(url.repositoryName)),
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

export function pullRequestRecord(pull: PullRequest, urls: RecordUrls) {
  const { repository, number, base, head } = pull
  return {
    type: 'pull_request',
    url: urls.pull(repository, number),
    user: urls.person(pull.author),
    repository: urls.repository(repository),
    title: pull.title,
    body: pull.body,
    base: {
      ref: base.ref,
      sha: base.sha,
      user: urls.person(repository.split('/', 1)[0]!),
      repo: urls.repository(repository),
    },
    head: {
      ref: head.ref,
      sha: head.sha,
      user: urls.person(head.owner),
      repo: urls.repository(head.repository),
    },
    ...triageFields(pull, urls),
    reactions: reactionRecords(pull.reactions, 'Issue', urls),
    review_requests: pull.reviewRequests.map((request) => reviewRequestRecord(request, urls)),
    close_issue_references: pull.closes.map((reference) => closingReferenceRecord(reference, urls)),
    work_in_progress: pull.draft,
    merged_at: pull.mergedAt,
    closed_at: pull.closedAt,
    created_at: pull.createdAt,
    merge_commit_sha: pull.mergeCommit,
  }
}

function reviewRequestRecord(request: ReviewRequest, urls: RecordUrls) {
  return {
    reviewer: subjectUrl(request.reviewer, urls),
    reviewer_type: request.reviewer.kind === 'team' ? 'Team' : 'User',
    created_at: request.createdAt,
    updated_at: request.updatedAt,
    dismissed_at: request.dismissedAt,
  }
}

function closingReferenceRecord(reference: ClosingReference, urls: RecordUrls) {
  const { repository, issue } = reference
  return {
    issue: urls.issueOrPull(repository, { kind: 'issue', number: issue }),
    issue_repository: urls.repository(repository),
    actor: urls.person(reference.actor),
    source: reference.source,
    created_at: reference.createdAt,
  }
}
