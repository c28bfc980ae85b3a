import { list } from '../lib/json-shape.ts'
import { reactions, readTriage, writeParty, writeReactions, writeTriage } from './issue-records.ts'
import type {
  ClosingReference,
  PullRequest,
  PullRequestHead,
  ReviewRequest,
} from './pull-request.ts'
import { issueOrPull, linkOrNull, person, repositoryName, reviewer } from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import {
  anyBoolean,
  anyString,
  type FieldReader,
  ifPresent,
  objectOf,
  orElse,
  textOrNull,
} from './record-shapes.ts'

export function readPullRequest(field: FieldReader): PullRequest {
  return {
    repository: field('repository', repositoryName),
    number: field('url', issueOrPull).number,
    author: field('user', person),
    title: field('title', anyString),
    body: field('body', textOrNull),
    base: field('base', branch),
    head: field('head', head),
    ...readTriage(field),
    reactions: field('reactions', reactions),
    reviewRequests: field('review_requests', orElse(list(reviewRequest), [])),
    closes: field('close_issue_references', orElse(list(closingReference), [])),
    draft: field('work_in_progress', orElse(anyBoolean, false)),
    mergedAt: field('merged_at', textOrNull),
    closedAt: field('closed_at', textOrNull),
    createdAt: field('created_at', anyString),
    mergeCommit: field('merge_commit_sha', ifPresent(textOrNull)),
  }
}

const branch = objectOf((field) => ({ ref: field('ref', anyString), sha: field('sha', anyString) }))

const head = objectOf(
  (field): PullRequestHead => ({
    ref: field('ref', anyString),
    sha: field('sha', anyString),
    owner: field('user', person),
    repository: field('repo', linkOrNull(repositoryName)),
  }),
)

const reviewRequest = objectOf((field): ReviewRequest => {
  const createdAt = field('created_at', anyString)
  return {
    reviewer: field('reviewer', reviewer),
    createdAt,
    updatedAt: field('updated_at', orElse(anyString, createdAt)),
    dismissedAt: field('dismissed_at', textOrNull),
  }
})

const closingReference = objectOf((field): ClosingReference => {
  const { repository, number } = field('issue', issueOrPull)
  return {
    repository,
    issue: number,
    actor: field('actor', person),
    source: field('source', anyString),
    createdAt: field('created_at', anyString),
  }
})

export function writePullRequest(pull: PullRequest, links: Links) {
  const { repository, number, base, head } = pull
  return {
    type: 'pull_request',
    url: links.discussed(repository, { kind: 'pull_request', number }),
    user: links.person(pull.author),
    repository: links.repository(repository),
    title: pull.title,
    body: pull.body,
    base: {
      ref: base.ref,
      sha: base.sha,
      user: links.person(ownerOf(repository)),
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

const ownerOf = (fullName: string): string => fullName.split('/', 1)[0]!

function writeReviewRequest(request: ReviewRequest, links: Links) {
  return {
    reviewer: writeParty(request.reviewer, links),
    reviewer_type: request.reviewer.kind === 'team' ? 'Team' : 'User',
    created_at: request.createdAt,
    updated_at: request.updatedAt,
    dismissed_at: request.dismissedAt,
  }
}

function writeReference(reference: ClosingReference, links: Links) {
  const { repository, issue } = reference
  return {
    issue: links.discussed(repository, { kind: 'issue', number: issue }),
    issue_repository: links.repository(repository),
    actor: links.person(reference.actor),
    source: reference.source,
    created_at: reference.createdAt,
  }
}
