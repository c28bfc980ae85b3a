import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { REAL_ARCHIVE } from '../../test/support/real-archive.ts'
import {
  RECORDED_GITHUB,
  type RecordsByKind,
  realRecords,
  recordedAnswer,
} from '../../test/support/real-records.ts'
import { endOfHunk } from './diff-hunk.ts'
import type { FactKind, FactsByKind } from './facts.ts'
import {
  issueCommentFromRest,
  issueFromRest,
  labelFromRest,
  milestoneFromRest,
  pullRequestFromRest,
  releaseFromRest,
  reviewFromRest,
} from './from-rest.ts'
import { readFact } from './read-records.ts'
import { addressesAt } from './record-addresses.ts'
import type {
  RestComment,
  RestDiscussed,
  RestLabel,
  RestMilestone,
  RestPullRequest,
  RestReaction,
  RestRelease,
  RestReview,
  RestReviewComment,
} from './rest-shapes.ts'
import { reviewCommentFromRest, threadOf } from './review-comment-from-rest.ts'
import { writeRecord } from './write-records.ts'

/**
 * What cannot be had by REST, or is not in an archive of 2022: every field that differs in any record, and no other. All else
 * is the same, value for value.
 */
const DIFFERENT: Partial<Record<FactKind, Record<string, string>>> = {
  repositories: { labels: 'REST does not say when a label was made' },
  pull_requests: { merge_commit_sha: 'in archives since 2024' },
  pull_request_reviews: {
    body: 'REST has an empty text where the archive has null',
    created_at: 'REST says only when a review was submitted, not when it was begun',
  },
  pull_request_review_threads: { url: 'REST knows no threads, so a thread has the id of its root' },
  pull_request_review_comments: { pull_request_review_thread: 'the same' },
}

const REPOSITORY = 'go-gitea/test_repo'
const GITHUB = addressesAt('https://github.com')

/** Until an empty page, or one that was not recorded. */
function reactionsTo(what: string, perPage: number): RestReaction[] {
  const found: RestReaction[] = []
  for (let page = 1; ; page++) {
    const more = recordedAnswer<RestReaction[]>(
      `/${what}/reactions?page=${page}&per_page=${perPage}`,
    )
    found.push(...more)
    if (more.length === 0 || (perPage === 100 && what.startsWith('pulls'))) return found
  }
}

interface RestOfPull {
  pull: RestPullRequest
  reviews: { review: RestReview; comments: (RestReviewComment & Positions)[] }[]
}

interface Positions {
  position: number | null
  original_position: number | null
}

function restOfPulls(): RestOfPull[] {
  const pulls = recordedAnswer<RestPullRequest[]>(
    '/pulls?direction=asc&page=1&per_page=2&sort=created&state=all',
  )
  return pulls.map((pull) => {
    const at = `/pulls/${pull.number}/reviews`
    const reviews = recordedAnswer<RestReview[]>(`${at}?per_page=100`)
    return {
      pull,
      reviews: reviews.map((review) => ({
        review,
        comments: recordedAnswer(`${at}/${review.id}/comments?per_page=100`),
      })),
    }
  })
}

type Facts = { [K in FactKind]?: FactsByKind[K][] }

function discussionFacts(): Facts {
  const issues = recordedAnswer<RestDiscussed[]>(
    '/issues?direction=asc&page=1&per_page=2&sort=created&state=all',
  )
  const comments = recordedAnswer<RestComment[]>(
    '/issues/2/comments?direction=asc&per_page=100&sort=created',
  )
  return {
    milestones: recordedAnswer<RestMilestone[]>('/milestones?page=1&per_page=100&state=all').map(
      (milestone) => milestoneFromRest(REPOSITORY, milestone),
    ),
    issues: issues.map((issue) =>
      issueFromRest(REPOSITORY, issue, reactionsTo(`issues/${issue.number}`, 2)),
    ),
    issue_comments: comments.map((comment) =>
      issueCommentFromRest(
        REPOSITORY,
        { kind: 'issue', number: 2 },
        comment,
        reactionsTo(`issues/comments/${comment.id}`, 100),
      ),
    ),
    releases: recordedAnswer<RestRelease[]>('/releases?page=1&per_page=100').map((release) =>
      releaseFromRest(REPOSITORY, release, []),
    ),
  }
}

function pullFacts(): Facts {
  const rest = restOfPulls()
  const said = rest.flatMap(({ pull, reviews }) =>
    reviews.flatMap(({ comments }) =>
      comments.map((comment) => {
        const { position, original_position: originalPosition } = comment
        const reactions = reactionsTo(`pulls/comments/${comment.id}`, 100)
        const place = { position, originalPosition }
        return reviewCommentFromRest(REPOSITORY, pull.number, comment, place, reactions)
      }),
    ),
  )
  return {
    pull_requests: rest.map(({ pull }) =>
      pullRequestFromRest(REPOSITORY, pull, reactionsTo(`issues/${pull.number}`, 2)),
    ),
    pull_request_reviews: rest.flatMap(({ pull, reviews }) =>
      reviews.flatMap(({ review }) => reviewFromRest(REPOSITORY, pull, review) ?? []),
    ),
    pull_request_review_comments: said,
    pull_request_review_threads: said.map((root) => {
      const { line, side } = endOfHunk(root.diffHunk)!
      return threadOf(root, { side, line, originalLine: line }, null)
    }),
  }
}

/** The labels are REST's; what else a repository has is told by the catalogue. */
function repositoryFacts(archive: RecordsByKind): Facts {
  const repository = readFact('repositories', archive.get('repositories')![0])
  const labels = recordedAnswer<RestLabel[]>('/labels?page=1&per_page=100')
  const made = labels.map((label) => labelFromRest(label, repository.createdAt))
  return { repositories: [{ ...repository, labels: made }] }
}

/** A reaction's time has the zone of whoever asked for the archive: the moment counts. */
function withMoments(record: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(record.reactions)) return record
  const moment = (at: string) => new Date(at).toISOString()
  const reactions = record.reactions.map((each) => ({
    ...each,
    created_at: moment(each.created_at),
  }))
  return { ...record, reactions }
}

describe('what REST of GitHub says is what its archive of the same repository says', () => {
  const needed = { skip: REAL_ARCHIVE.needed.skip || RECORDED_GITHUB.needed.skip }
  let archive: RecordsByKind
  before(async () => {
    if (!needed.skip) archive = await realRecords()
  })

  test('but for the fields that are listed', needed, () => {
    const facts: Facts = { ...repositoryFacts(archive), ...discussionFacts(), ...pullFacts() }
    const different = Object.entries(facts).flatMap(([kind, made]) => {
      const theirs = archive.get(kind)!.map(withMoments)
      const ours = made.map((fact) =>
        withMoments(JSON.parse(JSON.stringify(writeRecord(kind as FactKind, fact, GITHUB)))),
      )
      assert.equal(ours.length, theirs.length, `as many ${kind}`)
      const keys = new Set([...ours, ...theirs].flatMap((record) => Object.keys(record)))
      const fields = [...keys].filter((key) =>
        theirs.some((record, index) => !isDeepStrictEqual(record[key], ours[index]![key])),
      )
      return fields.map((field) => `${kind}.${field}`)
    })
    const listed = Object.entries(DIFFERENT).flatMap(([kind, fields]) =>
      Object.keys(fields).map((field) => `${kind}.${field}`),
    )
    assert.deepEqual(different.sort(), listed.sort())
  })

  test('and of labels only the time differs', needed, () => {
    const [theirs] = archive.get('repositories')! as { labels: object[] }[]
    const [repository] = repositoryFacts(archive).repositories!
    const ours = writeRecord('repositories', repository!, GITHUB) as { labels: object[] }
    const timeless = (label: object) => ({ ...label, created_at: undefined })
    assert.deepEqual(ours.labels.map(timeless), theirs!.labels.map(timeless))
  })

  test('and what was not recorded is only what only archives have', needed, () => {
    const facts: Facts = { ...repositoryFacts(archive), ...discussionFacts(), ...pullFacts() }
    const without = [...archive.keys()].filter((kind) => !Object.hasOwn(facts, kind))
    // No answers of these were recorded.
    assert.deepEqual(without.sort(), [
      'issue_events',
      'organizations',
      'protected_branches',
      'teams',
      'users',
    ])
  })
})
