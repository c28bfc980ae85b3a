import type { Side } from './pull-request.ts'

/** Matches the first line of a hunk, and captures where it begins in the old and in the new file. */
export const HUNK_HEADER = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** A line of a diff with its numbers in both files. GitLab needs both even for an added or removed line, which is in one file only. */
export interface DiffLine {
  type: 'new' | 'old' | null
  oldLine: number
  newLine: number
  text: string
}

/** Yields the lines below the hunk headers of a diff. */
export function* diffLines(diff: string): Generator<DiffLine> {
  let [oldLine, newLine] = [0, 0]
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const [, left, right] = HUNK_HEADER.exec(line) ?? []
    if (left !== undefined) [oldLine, newLine] = [Number(left), Number(right)]
    if (left !== undefined || line.startsWith('\\') || newLine + oldLine === 0) continue
    const type = line.startsWith('+') ? 'new' : line.startsWith('-') ? 'old' : null
    yield { type, oldLine, newLine, text: line.slice(1) }
    if (type !== 'new') oldLine++
    if (type !== 'old') newLine++
  }
}

/** Returns the last line of a hunk, which is the line that was commented on. Undefined if the text is not a hunk. */
export function endOfHunk(diffHunk: string): { side: Side; line: number } | undefined {
  const last = HUNK_HEADER.test(diffHunk) ? [...diffLines(diffHunk)].at(-1) : undefined
  if (!last) return undefined
  const { type, oldLine, newLine } = last
  return type === 'old' ? { side: 'left', line: oldLine } : { side: 'right', line: newLine }
}
