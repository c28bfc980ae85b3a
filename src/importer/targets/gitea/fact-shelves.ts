import type { FactKind, FactsByKind } from '../../../records/facts.ts'

/** Where a fact is put until it is wanted. */
export interface Shelf {
  on: ShelfName
  key: number
  /** What orders the rows of a key. */
  at: string
  /** What is kept, where it is not the whole fact. */
  value?: unknown
  /** Something of it arrives, but it does not itself. */
  isPartial?: boolean
}

export type ShelfName =
  | ('milestones' | 'issues' | 'comments' | 'locks' | 'merges' | 'pulls' | 'reviews' | 'threads')
  | ('review_comments' | 'releases' | 'attachments')

type Shelving = { [K in FactKind]?: (fact: FactsByKind[K]) => Shelf | undefined }

const SHELVES: Shelving = {
  milestones: ({ number, createdAt }) => ({ on: 'milestones', key: number, at: createdAt }),
  issues: ({ number, createdAt }) => ({ on: 'issues', key: number, at: createdAt }),
  issue_comments: ({ on, createdAt }) => ({ on: 'comments', key: on.number, at: createdAt }),
  issue_events: ({ on: { number: key }, event, commit, createdAt: at }) => {
    if (event === 'locked' || event === 'unlocked')
      return { on: 'locks', key, at, value: event, isPartial: true }
    if (event === 'merged') return { on: 'merges', key, at, value: commit, isPartial: true }
    return undefined
  },
  pull_requests: ({ number, createdAt }) => ({ on: 'pulls', key: number, at: createdAt }),
  pull_request_reviews: ({ pull, createdAt, submittedAt }) => ({
    on: 'reviews',
    key: pull,
    at: submittedAt ?? createdAt,
  }),
  pull_request_review_threads: ({ id, pull, line, originalLine, side, createdAt }) => ({
    on: 'threads',
    key: pull,
    at: createdAt,
    value: { id, line, originalLine, side },
  }),
  pull_request_review_comments: ({ pull, createdAt }) => ({
    on: 'review_comments',
    key: pull,
    at: createdAt,
  }),
  releases: ({ createdAt }) => ({ on: 'releases', key: 0, at: createdAt }),
  attachments: ({ createdAt }) => ({ on: 'attachments', key: 0, at: createdAt }),
  repository_files: ({ createdAt }) => ({ on: 'attachments', key: 0, at: createdAt }),
}

/** Undefined where a dump has no place for it. */
export function shelfOf<K extends FactKind>(kind: K, fact: FactsByKind[K]): Shelf | undefined {
  return (SHELVES[kind] as ((fact: FactsByKind[K]) => Shelf | undefined) | undefined)?.(fact)
}
