/** Matches a fence, or backticks that may begin inline code. A fence of backticks has no further backticks on its line. */
const OPENING = /^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,})|`+/gm
const CLOSING_FENCE = /^ {0,3}([`~]{3,})[ \t]*$/gm
const BACKTICKS = /`+/g

/** Yields the ranges of code in a text, in order. It takes linear time for any text, because the text is untrusted. */
export function* findCode(text: string): Generator<{ start: number; end: number }> {
  // The last run of backticks by its length: only a run of the same length ends inline code.
  const lastByLength = new Map<number, number>()
  // `matchAll` begins at `lastIndex`, which an earlier search has set.
  BACKTICKS.lastIndex = 0
  for (const { 0: ticks, index } of text.matchAll(BACKTICKS)) lastByLength.set(ticks.length, index)
  for (let at = 0; ; ) {
    OPENING.lastIndex = at
    const found = OPENING.exec(text)
    if (!found) return
    const { 0: all, 1: fence, index: start } = found
    at = start + all.length
    // No part of the text is searched twice: a search for the end that cannot succeed is skipped, and the next one begins after its result.
    if (fence === undefined && lastByLength.get(all.length)! < at) continue
    at =
      fence === undefined
        ? endOfCode(text, at, BACKTICKS, ([ticks]) => ticks.length === all.length)
        : endOfCode(text, at, CLOSING_FENCE, ([, closing]) => closing!.startsWith(fence))
    yield { start, end: at }
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

/** Returns where code ends. Code that is not closed extends to the end of the text. */
function endOfCode(
  text: string,
  from: number,
  closing: RegExp,
  isEnd: (match: RegExpExecArray) => boolean,
): number {
  closing.lastIndex = from
  for (let found = closing.exec(text); found; found = closing.exec(text))
    if (isEnd(found)) return closing.lastIndex
  return text.length
}
