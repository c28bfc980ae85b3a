import type { Side } from './pull-request.ts'

export interface HunkEnd {
  /** `left` if the last line was removed. */
  side: Side
  line: number
  /** The number of lines below `@@`. */
  position: number
}

const HEAD = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** Returns the last line of a hunk, which is the line that was commented on. Undefined if the text is not a hunk. */
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
