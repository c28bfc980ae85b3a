import type { Side } from './pull-request.ts'

export interface HunkEnd {
  /** `left` where the last line was removed. */
  side: Side
  /** Number of the last line in the file on that side. */
  line: number
  /** How many lines the hunk has below its `@@`. */
  position: number
}

const HEAD = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** The line that a comment stands below: hunks of comments end there. Undefined where it is no hunk. */
export function endOfHunk(diffHunk: string): HunkEnd | undefined {
  const [head, ...lines] = diffHunk.replace(/\n$/, '').split('\n')
  const [, left, right] = HEAD.exec(head!) ?? []
  if (left === undefined || lines.length === 0) return undefined
  const next = { left: Number(left), right: Number(right) }
  let end: HunkEnd | undefined
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('\\')) continue
    const side: Side = line.startsWith('-') ? 'left' : 'right'
    end = { side, line: next[side], position: index + 1 }
    if (!line.startsWith('+')) next.left++
    if (!line.startsWith('-')) next.right++
  }
  return end
}
