/** Quotes and items of lists can contain a fence. A fence of backticks has no further backticks on its line. */
const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})/
const CLOSING_FENCE = /^[ \t>]*([`~]{3,})\s*$/
const PREFORMATTED = /^ {0,3}<pre[\s>]/i
const INDENTED = /^(?: {4}| {0,3}\t)/
const LIST_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/
const BACKTICKS = /`+/g

interface Range {
  start: number
  end: number
}

/** Yields the ranges of code in a text, in order. It takes linear time for any text, because the text is untrusted. */
export function* findCode(text: string): Generator<Range> {
  /** The fence or element that is open. */
  let open: { start: number; isClosedBy: (line: string) => boolean } | undefined
  let paragraph = 0
  let isInParagraph = false
  let isInList = false
  let start = 0
  for (const line of text.split('\n')) {
    const end = start + line.length
    const isBlank = line.trim() === ''
    const fence = FENCE.exec(line)?.[1]
    // The lines of a paragraph can be indented, and the paragraphs of a list are.
    const isIndentedCode = !isInParagraph && !isInList && INDENTED.test(line)
    if (open === undefined && !isIndentedCode)
      if (fence !== undefined)
        open = {
          start,
          isClosedBy: (next) => (CLOSING_FENCE.exec(next)?.[1] ?? '').startsWith(fence),
        }
      else if (PREFORMATTED.test(line))
        open = { start, isClosedBy: (next) => /<\/pre>/i.test(next) }
    if (open !== undefined || isBlank || isIndentedCode) {
      if (paragraph < start) yield* findInlineCode(text, { start: paragraph, end: start })
      paragraph = end
      isInParagraph = false
      if (isIndentedCode && open === undefined) yield { start, end }
      const isOpening = open?.start === start && fence !== undefined
      if (open !== undefined && !isOpening && open.isClosedBy(line)) {
        yield { start: open.start, end }
        open = undefined
      }
    } else {
      if (!isInParagraph && !INDENTED.test(line)) isInList = false
      isInList ||= LIST_ITEM.test(line)
      isInParagraph = true
    }
    start = end + 1
  }
  // Code that is not closed extends to the end of the text.
  if (open) yield { start: open.start, end: text.length }
  else yield* findInlineCode(text, { start: paragraph, end: text.length })
}

/** Finds the inline code of a paragraph, which is between two runs of as many backticks. */
function* findInlineCode(text: string, { start, end }: Range): Generator<Range> {
  const runs = [...text.slice(start, end).matchAll(BACKTICKS)]
  // No run is looked at twice: a search for the end that cannot succeed is skipped, and the next one begins after its result.
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
