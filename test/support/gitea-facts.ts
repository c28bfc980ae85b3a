import type { Author, Reaction } from '../../src/records/fact.ts'
import type { Facts } from './gitea-archive.ts'
import type { ReadDump } from './gitea-dump-reader.ts'

/** What an archive and its dump must agree in, in words of neither. */

const moment = (time: string | null | undefined) => (time ? Date.parse(time) : null)
const by = (author: Author) => author ?? 'ghost'
const who = (reactions: readonly Reaction[]) =>
  reactions.map(({ author, content }) => `${by(author)} ${content}`).sort()
// biome-ignore lint/suspicious/noExplicitAny: as the reader gives it.
type Value = Record<string, any>
const whoDumped = (reactions: Value[]) =>
  reactions.map(({ user_name, content }) => `${user_name} ${content}`).sort()
const readable = (text: string | null) => (text ?? '').toWellFormed().replaceAll('\u0000', '\ufffd')
const sorted = <T>(values: T[], key: (value: T) => number): T[] =>
  values.sort((a, b) => key(a) - key(b))

const byTag = (a: { tag: string }, b: { tag: string }) => (a.tag < b.tag ? -1 : 1)

export function factsOfDump(dump: ReadDump) {
  const pulls = dump.pulls.map(({ number, merged, merged_time, head, is_draft }) => ({
    ...{ number, merged, mergedAt: moment(merged_time), head: head.sha, isDraft: is_draft },
  }))
  const discussed = [...dump.issues, ...dump.pulls].map((one) => ({
    number: one.number,
    title: one.is_draft ? one.title.replace(/^WIP: /, '') : one.title,
    ...{ body: one.content, author: one.poster_name, state: one.state, isLocked: one.is_locked },
    ...{ milestone: one.milestone, labels: one.labels.map(({ name }: Value) => name) },
    ...{ assignees: one.assignees, reactions: whoDumped(one.reactions) },
    ...{ createdAt: moment(one.created), closedAt: moment(one.closed) },
    comments: (dump.comments.get(one.number) ?? []).map((comment) => ({
      ...{ id: comment.index, author: comment.poster_name, body: comment.content },
      ...{ createdAt: moment(comment.created), reactions: whoDumped(comment.reactions) },
    })),
    updatedAt: 'foreignindex' in one ? null : moment(one.updated),
  }))
  const reviews = [...dump.reviews.values()].flat()
  return {
    discussed: sorted(discussed, ({ number }) => number),
    pulls: sorted(pulls, ({ number }) => number),
    reviews: reviews
      .flatMap(({ id, issue_index, state, reviewer_name, content, created_at }) =>
        // One that only holds what somebody else said in another's review has the number of that comment.
        reviews.some(({ comments }) => comments.some((one: Value) => one.id === id))
          ? []
          : [[id, issue_index, state, reviewer_name, content, moment(created_at)].join(' ')],
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
            moment(one.created_at),
          ].join(' '),
        ),
      )
      .sort(),
    labels: dump.labels.map(({ name }) => name).sort(),
    milestones: dump.milestones.map(({ title, state, deadline, closed }) => ({
      ...{ title, state, dueOn: moment(deadline), closedAt: moment(closed) },
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

/** `isThere` says which commits of pull requests the git data holds. */
export function factsOfArchive(
  all: Facts,
  fullName: string,
  isThere = (sha: string) => !/^c+$/.test(sha),
): ReturnType<typeof factsOfDump> {
  const of = <T extends { repository: string }>(facts: readonly T[] | undefined): T[] =>
    (facts ?? []).filter(({ repository }) => repository === fullName)
  const repository = all.repositories!.find(({ owner, name }) => `${owner}/${name}` === fullName)!
  const titles = new Map(of(all.milestones).map(({ number, title }) => [number, title]))
  const locks = of(all.issue_events).filter(({ event }) => /^(?:un)?locked$/.test(event))
  const discussed = [...of(all.issues), ...of(all.pull_requests)].map((one) => ({
    ...{ number: one.number, body: readable(one.body) },
    // The mark of a draft, which a server of this kind has in the title.
    title:
      'draft' in one && one.draft ? readable(one.title).replace(/^WIP: /, '') : readable(one.title),
    author: by(one.author),
    state: one.closedAt === null ? 'open' : 'closed',
    isLocked: locks.findLast(({ on }) => on.number === one.number)?.event === 'locked',
    milestone: one.milestone === null ? '' : titles.get(one.milestone)!,
    ...{ labels: [...one.labels], assignees: [...one.assignees], reactions: who(one.reactions) },
    ...{ createdAt: moment(one.createdAt), closedAt: moment(one.closedAt) },
    comments: sorted(
      of(all.issue_comments)
        .filter(({ on }) => on.number === one.number)
        .map(({ id, author, body, createdAt, reactions }) => ({
          ...{ id, author: by(author), body: readable(body), createdAt: moment(createdAt) },
          reactions: who(reactions),
        })),
      ({ createdAt }) => createdAt!,
    ),
    // Archives do not say it of pull requests.
    updatedAt: 'updatedAt' in one ? moment(one.updatedAt) : null,
  }))
  return {
    discussed: sorted(discussed, ({ number }) => number),
    pulls: of(all.pull_requests).map(({ number, mergedAt, head, draft }) => ({
      ...{ number, merged: mergedAt !== null, mergedAt: moment(mergedAt), isDraft: draft },
      head: isThere(head.sha) ? head.sha : '',
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
                by(author),
                readable(body),
                moment(submittedAt ?? createdAt),
              ].join(' '),
            ],
      )
      .sort(),
    inline: of(all.pull_request_review_comments)
      .filter(({ state }) => state === 'submitted')
      .map(({ id, inReplyTo, path, author, body, createdAt }) =>
        [id, inReplyTo ?? 0, path, by(author), readable(body), moment(createdAt)].join(' '),
      )
      .sort(),
    labels: [
      ...new Set([
        ...repository.labels.map(({ name }) => name),
        ...discussed.flatMap(({ labels }) => labels),
      ]),
    ].sort(),
    milestones: of(all.milestones).map(({ title, state, dueOn, closedAt }) => ({
      ...{ title, state, dueOn: moment(dueOn), closedAt: moment(closedAt) },
    })),
    releases: of(all.releases)
      .map(({ tag, body, author, assets }) => ({
        ...{ tag, body: readable(body), author: by(author) },
        assets: assets.map(({ name }) => name),
      }))
      .sort(byTag),
    topics: (repository.topics ?? []).map(({ name }) => name),
  }
}
