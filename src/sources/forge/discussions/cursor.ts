import { CURSOR_FORMAT, type Reading, readingOf } from '../../discussions.ts'

/** What a reading of this forge remembers, beyond what it tells others. */
export interface ForgeCursor extends Reading {
  format: typeof CURSOR_FORMAT
  /** The forge's own number of the repository: a new one of the same name is another. */
  repositoryId: number
  /** What was kept is at least as new as this: `asOf`, or when the first of several interrupted readings began. */
  since: number
  /** All that is kept was read anew at this time or later, also what the forge does not tell of. Older cursors do not say. */
  wholeSince?: number
  /** How many are kept. */
  issues: number
  comments: number
}

export const cursorText = (cursor: Omit<ForgeCursor, 'format'>): string =>
  JSON.stringify({ format: CURSOR_FORMAT, ...cursor })

export const cursorOf = (text: string | null): ForgeCursor | undefined =>
  readingOf(text) as ForgeCursor | undefined
