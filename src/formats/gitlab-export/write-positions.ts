import { createHash } from 'node:crypto'
import type { Side } from '../../records/pull-request.ts'
import { HUNK_HEADER } from './constants.ts'

export const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')

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

/** Finds a line by its number in the old or the new file. */
export function findLine(
  lines: readonly DiffLine[],
  side: Side,
  line: number | null | undefined,
): DiffLine | undefined {
  const [other, counter] =
    side === 'left' ? (['new', 'oldLine'] as const) : (['old', 'newLine'] as const)
  return lines.find((each) => each.type !== other && each[counter] === line)
}

export interface DiffRefs {
  base_sha: string
  start_sha: string
  head_sha: string
}

interface FilePaths {
  old_path: string
  new_path: string
}

export const lineCode = ({ new_path, old_path }: FilePaths, line: DiffLine): string =>
  `${sha1(new_path || old_path)}_${line.oldLine}_${line.newLine}`

const lineNumbers = ({ type, oldLine, newLine }: DiffLine) => ({
  old_line: type === 'new' ? null : oldLine,
  new_line: type === 'old' ? null : newLine,
})

/** Returns the position of a note on `end`, or on the lines from `start` to `end`. */
export function textPosition(refs: DiffRefs, paths: FilePaths, end: DiffLine, start?: DiffLine) {
  const endpoint = (line: DiffLine) => ({
    line_code: lineCode(paths, line),
    type: line.type,
    ...lineNumbers(line),
  })
  const range = start && { line_range: { start: endpoint(start), end: endpoint(end) } }
  const { old_path, new_path } = paths
  return { ...refs, old_path, new_path, position_type: 'text', ...lineNumbers(end), ...range }
}

/** Matches a fenced block whose language is `suggestion`, and captures its fence and its content. */
const SUGGESTION =
  /^( {0,3}(`{3,}|~{3,}))suggestion[ \t]*\r?\n((?:(?! {0,3}\2)[^\n]*\n)*) {0,3}\2/gm

interface SuggestionTarget {
  /** The lines of the new file that a suggestion replaces. */
  lines: readonly DiffLine[]
  isOutdated: boolean
}

/** Returns a text with its suggestions in GitLab's form, whose fence says how many lines they replace, and their records. */
export function rewriteSuggestions(text: string, target: SuggestionTarget | undefined) {
  const suggestions: object[] = []
  if (!target || target.lines.length === 0) return { text, suggestions }
  const above = target.lines.length - 1
  const rewritten = text.replace(SUGGESTION, (block: string, fence: string, _, content: string) => {
    suggestions.push({
      relative_order: suggestions.length,
      applied: false,
      from_content: target.lines.map((line) => `${line.text}\n`).join(''),
      to_content: content.replaceAll('\r\n', '\n'),
      lines_above: above,
      lines_below: 0,
      outdated: target.isOutdated,
    })
    return block.replace(`${fence}suggestion`, `${fence}suggestion:-${above}+0`)
  })
  return { text: rewritten, suggestions }
}
