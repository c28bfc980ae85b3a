/** Quotes and items of lists can contain a fence. A fence of backticks has no further backticks on its line. */
const FENCE = /^([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}(?=[^`]*$)|~{3,})/
const CLOSING_FENCE = /^([ \t>]*)([`~]{3,})\s*$/
const PREFORMATTED = /^ {0,3}<pre[\s>]/i
const INDENTED = /^(?: {4}| {0,3}\t)/
const LIST_ITEM = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+/
const BACKTICKS = /`+/g

interface Range {
  start: number
  end: number
}

/** A fence with its code, or an element `pre`. */
interface Block {
  start: number
  isFence: boolean
  /** Whether the line is no longer part of the quote or list that contains the block. */
  endsBefore(line: string): boolean
  endsWith(line: string): boolean
}

/** Yields the ranges of code in a text, in order. It takes linear time for any text, because the text is untrusted. */
export function* findCode(text: string): Generator<Range> {
  let open: Block | undefined
  let paragraph = 0
  let isInParagraph = false
  /** Where the text of the last item of a list begins in its line; 0 outside of lists. */
  let itemColumn = 0
  let start = 0
  for (const line of text.split('\n')) {
    const end = start + line.length
    if (open?.endsBefore(line)) {
      yield { start: open.start, end: start - 1 }
      open = undefined
      paragraph = start
    }
    // The lines of a paragraph can be indented, and the paragraphs of a list are.
    const isIndentedCode = !open && !isInParagraph && itemColumn === 0 && INDENTED.test(line)
    if (!isIndentedCode) open ??= openBlock(line, start, itemColumn)
    if (open || isIndentedCode || line.trim() === '') {
      if (paragraph < start) yield* findInlineCode(text, { start: paragraph, end: start })
      paragraph = end
      isInParagraph = false
      if (isIndentedCode) yield { start, end }
      // The line of a fence looks like its end.
      if (open?.endsWith(line) && !(open.isFence && open.start === start)) {
        yield { start: open.start, end }
        open = undefined
      }
    } else {
      const [item] = LIST_ITEM.exec(line) ?? []
      if (item !== undefined) itemColumn = item.length
      else if (!isInParagraph && !/^[ \t]/.test(line)) itemColumn = 0
      isInParagraph = true
    }
    start = end + 1
  }
  // Code that is not closed extends to the end of the text.
  if (open) yield { start: open.start, end: text.length }
  else yield* findInlineCode(text, { start: paragraph, end: text.length })
}

function openBlock(line: string, start: number, itemColumn: number): Block | undefined {
  const [, before, fence] = FENCE.exec(line) ?? []
  if (before === undefined || fence === undefined) {
    if (!PREFORMATTED.test(line)) return undefined
    const endsWith = (next: string) => /<\/pre>/i.test(next)
    return { start, isFence: false, endsBefore: () => false, endsWith }
  }
  const isQuoted = before.includes('>')
  // Lines of an item are indented at least this far.
  const column = LIST_ITEM.test(before) ? before.length : Math.min(before.length, itemColumn)
  return {
    start,
    isFence: true,
    endsBefore: (next) =>
      isQuoted ? !/^ {0,3}>/.test(next) : next.trim() !== '' && next.search(/[^ \t]/) < column,
    endsWith(next) {
      const [, closingBefore = '', closing = ''] = CLOSING_FENCE.exec(next) ?? []
      const isInSameQuote = closingBefore.includes('>') === isQuoted
      return closing.startsWith(fence) && isInSameQuote && closingBefore.length <= before.length + 3
    },
  }
}

/** Finds the inline code of a paragraph, which is between two runs of as many backticks. */
function* findInlineCode(text: string, { start, end }: Range): Generator<Range> {
  const runs = [...text.slice(start, end).matchAll(BACKTICKS)]
  // Each run is visited once: a search for the end that cannot succeed is skipped, and the next one begins after its result.
  const last = new Map(runs.map(({ 0: ticks }, index) => [ticks.length, index]))
  for (let index = 0; index < runs.length; index++) {
    const { 0: ticks, index: at } = runs[index]!
    if (last.get(ticks.length) === index) continue
    do index++
    while (runs[index]![0].length !== ticks.length)
    yield { start: start + at, end: start + runs[index]!.index + ticks.length }
  }
}

/** Returns the text with everything outside code replaced by the result of `rewrite`. */
export function rewriteOutsideCode(text: string, rewrite: (prose: string) => string): string {
  let [rewritten, at] = ['', 0]
  for (const { start, end } of findCode(text)) {
    rewritten += rewrite(text.slice(at, start)) + text.slice(start, end)
    at = end
  }
  return rewritten + rewrite(text.slice(at))
}
