import type { Reaction } from '../../packages/archive/src/records/issue.ts'
import type { Author } from '../../packages/archive/src/records/record.ts'
import type { RecordLists } from './gitea-archive.ts'
import type { ReadDump } from './gitea-dump-reader.ts'

/** Records that an archive and its dump must have in common, in a form for comparison. */

const timeOf = (time: string | null | undefined) => (time ? Date.parse(time) : null)
const authorOf = (author: Author) => author ?? 'ghost'
const reactionsOf = (reactions: readonly Reaction[]) =>
  reactions.map(({ author, content }) => `${authorOf(author)} ${content}`).sort()
// biome-ignore lint/suspicious/noExplicitAny: the values of `readDump`.
type Value = Record<string, any>
const dumpedReactions = (reactions: Value[]) =>
  reactions.map(({ user_name, content }) => `${user_name} ${content}`).sort()
const cleanText = (text: string | null) =>
  (text ?? '').toWellFormed().replaceAll('\u0000', '\ufffd')
const sorted = <T>(values: T[], key: (value: T) => number): T[] =>
  values.sort((a, b) => key(a) - key(b))

const byTag = (a: { tag: string }, b: { tag: string }) => (a.tag < b.tag ? -1 : 1)

export function recordsOfDump(dump: ReadDump) {
  const pulls = dump.pulls.map(({ number, merged, merged_time, head, is_draft }) => ({
    ...{ number, merged, mergedAt: timeOf(merged_time), head: head.sha, isDraft: is_draft },
  }))
  const discussed = [...dump.issues, ...dump.pulls].map((one) => ({
    number: one.number,
    title: one.is_draft ? one.title.replace(/^WIP: /, '') : one.title,
    ...{ body: one.content, author: one.poster_name, state: one.state, isLocked: one.is_locked },
    ...{ milestone: one.milestone, labels: one.labels.map(({ name }: Value) => name) },
    ...{ assignees: one.assignees, reactions: dumpedReactions(one.reactions) },
    ...{ createdAt: timeOf(one.created), closedAt: timeOf(one.closed) },
    comments: (dump.comments.get(one.number) ?? []).map((comment) => ({
      ...{ id: comment.index, author: comment.poster_name, body: comment.content },
      ...{ createdAt: timeOf(comment.created), reactions: dumpedReactions(comment.reactions) },
    })),
    updatedAt: 'foreignindex' in one ? null : timeOf(one.updated),
  }))
  const reviews = [...dump.reviews.values()].flat()
  return {
    discussed: sorted(discussed, ({ number }) => number),
    pulls: sorted(pulls, ({ number }) => number),
    reviews: reviews
      .flatMap(({ id, issue_index, state, reviewer_name, content, created_at }) =>
        // A comment by another person in a review becomes a review of its own, with the id of the comment.
        reviews.some(({ comments }) => comments.some((one: Value) => one.id === id))
          ? []
          : [[id, issue_index, state, reviewer_name, content, timeOf(created_at)].join(' ')],
      )
      .sort(),
    inline: reviews
      .flatMap(({ comments, reviewer_name }) =>
        comments.map((one: Value) =>
          [
            one.id,
            one.in_reply_to,
            one.tree_path,
            reviewer_name,
            one.content,
            timeOf(one.created_at),
          ].join(' '),
        ),
      )
      .sort(),
    labels: dump.labels.map(({ name }) => name).sort(),
    milestones: dump.milestones.map(({ title, state, deadline, closed }) => ({
      ...{ title, state, dueOn: timeOf(deadline), closedAt: timeOf(closed) },
    })),
    releases: dump.releases
      .map(({ tag_name, body, publisher_name, assets }) => ({
        ...{ tag: tag_name as string, body, author: publisher_name },
        assets: assets.map(({ name }: Value) => name),
      }))
      .sort(byTag),
    topics: dump.topics,
  }
}

const STATES = {
  approved: 'APPROVED',
  changes_requested: 'CHANGES_REQUESTED',
  commented: 'COMMENTED',
  dismissed: 'COMMENTED',
}

/** Returns the records of a repository. `hasCommit` returns whether the git data has the commit of a pull request. */
export function recordsOfArchive(
  all: RecordLists,
  fullName: string,
  hasCommit = (sha: string) => !/^c+$/.test(sha),
): ReturnType<typeof recordsOfDump> {
  const of = <T extends { repository: string }>(records: readonly T[] | undefined): T[] =>
    (records ?? []).filter(({ repository }) => repository === fullName)
  const repository = all.repositories!.find(({ owner, name }) => `${owner}/${name}` === fullName)!
  const titles = new Map(of(all.milestones).map(({ number, title }) => [number, title]))
  const locks = of(all.issue_events).filter(({ event }) => /^(?:un)?locked$/.test(event))
  const discussed = [...of(all.issues), ...of(all.pull_requests)].map((one) => ({
    ...{ number: one.number, body: cleanText(one.body) },
    // Gitea marks a draft by its title.
    title:
      'draft' in one && one.draft
        ? cleanText(one.title).replace(/^WIP: /, '')
        : cleanText(one.title),
    author: authorOf(one.author),
    state: one.closedAt === null ? 'open' : 'closed',
    isLocked: locks.findLast(({ on }) => on.number === one.number)?.event === 'locked',
    milestone: one.milestone === null ? '' : titles.get(one.milestone)!,
    ...{
      labels: [...one.labels],
      assignees: [...one.assignees],
      reactions: reactionsOf(one.reactions),
    },
    ...{ createdAt: timeOf(one.createdAt), closedAt: timeOf(one.closedAt) },
    comments: sorted(
      of(all.issue_comments)
        .filter(({ on }) => on.number === one.number)
        .map(({ id, author, body, createdAt, reactions }) => ({
          ...{ id, author: authorOf(author), body: cleanText(body), createdAt: timeOf(createdAt) },
          reactions: reactionsOf(reactions),
        })),
      ({ createdAt }) => createdAt!,
    ),
    // Pull requests in archives have no such time.
    updatedAt: 'updatedAt' in one ? timeOf(one.updatedAt) : null,
  }))
  return {
    discussed: sorted(discussed, ({ number }) => number),
    pulls: of(all.pull_requests).map(({ number, mergedAt, head, draft }) => ({
      ...{ number, merged: mergedAt !== null, mergedAt: timeOf(mergedAt), isDraft: draft },
      head: hasCommit(head.sha) ? head.sha : '',
    })),
    reviews: of(all.pull_request_reviews)
      .flatMap(({ id, pull, state, author, body, createdAt, submittedAt }) =>
        state === 'pending'
          ? []
          : [
              [
                id,
                pull,
                STATES[state],
                authorOf(author),
                cleanText(body),
                timeOf(submittedAt ?? createdAt),
              ].join(' '),
            ],
      )
      .sort(),
    inline: of(all.pull_request_review_comments)
      .filter(({ state }) => state === 'submitted')
      .map(({ id, inReplyTo, path, author, body, createdAt }) =>
        [id, inReplyTo ?? 0, path, authorOf(author), cleanText(body), timeOf(createdAt)].join(' '),
      )
      .sort(),
    labels: [
      ...new Set([
        ...repository.labels.map(({ name }) => name),
        ...discussed.flatMap(({ labels }) => labels),
      ]),
    ].sort(),
    milestones: of(all.milestones).map(({ title, state, dueOn, closedAt }) => ({
      ...{ title, state, dueOn: timeOf(dueOn), closedAt: timeOf(closedAt) },
    })),
    releases: of(all.releases)
      .map(({ tag, body, author, assets }) => ({
        ...{ tag, body: cleanText(body), author: authorOf(author) },
        assets: assets.map(({ name }) => name),
      }))
      .sort(byTag),
    topics: (repository.topics ?? []).map(({ name }) => name),
  }
}
