import { endOfHunk } from '../../../records/diff-hunk.ts'
import type { DiffPlace, ReviewThread } from '../../../records/pull-request.ts'

export interface ReviewPlace {
  /** In the new file; below zero in the old one. Never 0: then the server would look for it in the hunk. */
  line: number
  /** What servers before 1.16 add to the hunk's first line of the new file to find it. */
  position: number
  /** Never without a head: old servers end where there is none. */
  diffHunk: string
  commit: string
}

const HEAD = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/

type Thread = Pick<ReviewThread, 'line' | 'originalLine' | 'side'>

/** Where a comment is, as the server counts. What became outdated is shown where it was said. */
export function reviewPlace(comment: DiffPlace, thread: Thread | undefined): ReviewPlace {
  const line = lineOf(comment, thread)
  const isOutdated = thread ? thread.line === null : comment.position === null
  const known = HEAD.exec(comment.diffHunk)
  const diffHunk = known ? comment.diffHunk : `@@ -${Math.abs(line)},1 +${Math.abs(line)},1 @@`
  const first = known ? Number(known[1]) : Math.abs(line)
  const { commit, originalCommit } = comment
  return {
    line,
    position: line - first + 1,
    diffHunk,
    commit: (isOutdated ? originalCommit : commit) ?? commit ?? originalCommit ?? '',
  }
}

function lineOf({ diffHunk }: DiffPlace, thread: Thread | undefined): number {
  const said = thread?.line ?? thread?.originalLine
  if (said) return thread?.side === 'left' ? -said : said
  const end = endOfHunk(diffHunk)
  // What is said of a whole file is shown at its beginning.
  return (end?.side === 'left' ? -end.line : end?.line) || 1
}
