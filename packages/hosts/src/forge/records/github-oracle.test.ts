import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { REAL_ARCHIVE } from '../../../../../test/support/real-archive.ts'
import {
  type GitHubRecordsByKind,
  RECORDED_GITHUB,
  realRecords,
  recordedResponse,
} from '../../../../../test/support/real-records.ts'
import { hostUrlsAt, toAnyGitHubRecord } from '../../../../../test/support/records.ts'
import { endOfHunk } from '../../../../archive/src/records/diff-hunk.ts'
import type { Reaction } from '../../../../archive/src/records/issue.ts'
import type { RecordKind, RecordsByKind } from '../../../../archive/src/records/record-kinds.ts'
import { toGitHubRecord } from '../../../../archive/src/records/write-records.ts'
import type { Json } from '../../http/json-fields.ts'
import { releaseRecord } from './file-records.ts'
import { commentRecord, issueRecord, reactionRecords } from './issue-records.ts'
import { pullRecord, reviewComments, reviewRecord, reviewState } from './pull-records.ts'
import { milestoneRecord, repositoryRecord } from './repository-records.ts'

/**
 * A forge's responses have the format of GitHub's. For one repository there are both GitHub's responses and GitHub's own archive, so
 * the records made of the responses are compared with those of the archive. Only these fields differ in some record, because REST or an
 * archive of 2022 lacks them.
 */
const DIFFERENT = {
  labels: { created_at: 'REST does not return when a label was created' },
  milestones: { user: 'a forge does not return who created a milestone' },
  pull_requests: { merge_commit_sha: 'in archives since 2024' },
  pull_request_reviews: {
    body: 'null in the archive, an empty string in REST',
    created_at: 'REST returns when a review was submitted, not when it was started',
  },
  pull_request_review_threads: {
    url: 'REST has no threads: a thread gets the id of its first comment',
    subject_type: 'in archives since 2023',
  },
  pull_request_review_comments: {
    pull_request_review_thread: 'REST has no threads',
    subject_type: 'in archives since 2023',
  },
  releases: { reactions: 'in archives since 2022' },
}

const [OWNER, NAME] = ['go-gitea', 'test_repo']
const REPOSITORY = `${OWNER}/${NAME}`

/** The fields in which responses of a forge differ from GitHub's. */
const asForge = {
  milestone: (milestone: Json): Json => ({ ...milestone, id: milestone.number }),
  issueOrPull: (issue: Json): Json => ({
    ...issue,
    milestone: issue.milestone && asForge.milestone(issue.milestone as Json),
    merged: typeof issue.merged_at === 'string',
  }),
  review: (review: Json): Json => ({
    ...review,
    state:
      { COMMENTED: 'COMMENT', CHANGES_REQUESTED: 'REQUEST_CHANGES' }[review.state as string] ??
      review.state,
  }),
  /** A line of the file, not of the change. */
  reviewComment(comment: Json): Json {
    const { side, line } = endOfHunk(comment.diff_hunk as string)!
    return { ...comment, [side === 'right' ? 'position' : 'original_position']: line }
  },
}

function reactionsTo(what: string, perPage: number): Reaction[] {
  const all: Json[] = []
  for (let page = 1; ; page++) {
    const query = `page=${page}&per_page=${perPage}`
    const more = recordedResponse<Json[]>(`/${what}/reactions?${query}`)
    all.push(...more)
    if (more.length === 0) return reactionRecords(all)
  }
}

type RecordsOfKinds = { [K in RecordKind]?: RecordsByKind[K][] }

function issueRecords(): RecordsOfKinds {
  const issues = '/issues?direction=asc&page=1&per_page=2&sort=created&state=all'
  const milestones = '/milestones?page=1&per_page=100&state=all'
  const comments = '/issues/2/comments?direction=asc&per_page=100&sort=created'
  const releases = '/releases?page=1&per_page=100'
  return {
    milestones: recordedResponse<Json[]>(milestones).map((milestone) =>
      milestoneRecord(REPOSITORY, asForge.milestone(milestone)),
    ),
    issues: recordedResponse<Json[]>(issues).map((issue) =>
      issueRecord(REPOSITORY, asForge.issueOrPull(issue), reactionsTo(`issues/${issue.number}`, 2)),
    ),
    issue_comments: recordedResponse<Json[]>(comments).map((comment) => {
      const reactions = reactionsTo(`issues/comments/${comment.id}`, 100)
      return commentRecord(REPOSITORY, { kind: 'issue', number: 2 }, comment, reactions)
    }),
    releases: recordedResponse<Json[]>(releases).map(
      (release) =>
        releaseRecord(REPOSITORY, release, () => assert.fail('no external assets')).record,
    ),
  }
}

function pullRecords(): RecordsOfKinds {
  const made = {
    pull_requests: [] as RecordsByKind['pull_requests'][],
    pull_request_reviews: [] as RecordsByKind['pull_request_reviews'][],
    pull_request_review_threads: [] as RecordsByKind['pull_request_review_threads'][],
    pull_request_review_comments: [] as RecordsByKind['pull_request_review_comments'][],
  }
  const listed = '/pulls?direction=asc&page=1&per_page=2&sort=created&state=all'
  for (const pull of recordedResponse<Json[]>(listed).map(asForge.issueOrPull)) {
    const at = `/pulls/${pull.number}/reviews`
    const reviews = recordedResponse<Json[]>(`${at}?per_page=100`).map(asForge.review)
    const responses = { repository: REPOSITORY, issue: pull, pull, reviews }
    made.pull_requests.push(pullRecord(responses, reactionsTo(`issues/${pull.number}`, 2)))
    for (const review of reviews) {
      made.pull_request_reviews.push(reviewRecord(responses, review, reviewState(review)!))
      const recorded = recordedResponse<Json[]>(`${at}/${review.id}/comments?per_page=100`)
      const comments = recorded.map(asForge.reviewComment)
      const read = reviewComments(responses, review, comments, (id) =>
        reactionsTo(`pulls/comments/${id}`, 100),
      )
      made.pull_request_review_threads.push(...read.threads)
      made.pull_request_review_comments.push(...read.comments)
    }
  }
  return made
}

/** Converts times to UTC, because those of reactions are in the time zone of the user who requested the archive. */
function comparable(githubRecord: object): Json {
  const json = JSON.parse(JSON.stringify(githubRecord)) as Json
  for (const reaction of (json.reactions ?? []) as { created_at: string }[])
    reaction.created_at = new Date(reaction.created_at).toISOString()
  return json
}

const GITHUB = hostUrlsAt('https://github.com')

/** Labels are part of the record of their repository. */
function recordsFromResponses(): Record<string, Json[]> {
  const made = Object.entries({ ...issueRecords(), ...pullRecords() }).map(
    ([kind, records]): [string, Json[]] => [
      kind,
      records.map((record) => comparable(toAnyGitHubRecord(kind as RecordKind, record, GITHUB))),
    ],
  )
  const repository = repositoryRecord(
    recordedResponse<Json>(''),
    recordedResponse<Json[]>('/labels?page=1&per_page=100'),
    { owner: OWNER, name: NAME, collaborators: [] },
  )
  const { labels } = toGitHubRecord('repositories', repository, GITHUB)
  return { labels: labels as Json[], ...Object.fromEntries(made) }
}

function recordsFromArchive(archive: GitHubRecordsByKind, kind: string): Json[] {
  const records =
    kind === 'labels'
      ? (archive.get('repositories')![0]!.labels as Json[])
      : (archive.get(kind) ?? [])
  return records.map(comparable)
}

const needed = { skip: REAL_ARCHIVE.needed.skip || RECORDED_GITHUB.needed.skip }

describe("records from REST responses equal those of GitHub's archive of the same repository", () => {
  let archive: GitHubRecordsByKind
  before(async () => {
    if (!needed.skip) archive = await realRecords()
  })

  test('except for the listed fields, which differ', needed, () => {
    const differing = Object.entries(recordsFromResponses()).flatMap(([kind, made]) => {
      const expected = recordsFromArchive(archive, kind)
      assert.equal(made.length, expected.length, `as many ${kind}`)
      const fields = new Set(
        [...made, ...expected].flatMap((githubRecord) => Object.keys(githubRecord)),
      )
      return [...fields]
        .filter((field) =>
          expected.some(
            (githubRecord, n) => !isDeepStrictEqual(githubRecord[field], made[n]![field]),
          ),
        )
        .map((field) => `${kind}.${field}`)
    })
    const listed = Object.entries(DIFFERENT).flatMap(([kind, fields]) =>
      Object.keys(fields).map((field) => `${kind}.${field}`),
    )
    assert.deepEqual(differing.sort(), listed.sort())
  })

  test('for every recorded kind', needed, () => {
    const made = recordsFromResponses()
    const without = [...archive.keys()].filter((kind) => !Object.hasOwn(made, kind))
    assert.deepEqual(without.sort(), [
      'issue_events',
      'organizations',
      'protected_branches',
      'repositories',
      'teams',
      'users',
    ])
  })
})
