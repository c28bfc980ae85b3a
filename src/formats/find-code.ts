/** Matches a fence, or backticks that may begin inline code. */
const OPENING = /^ {0,3}(`{3,}|~{3,})|`+/gm
const CLOSING_FENCE = /^ {0,3}([`~]{3,})[ \t]*$/gm
const BACKTICKS = /`+/g

/** Yields the ranges of code in a text, in order. It takes linear time for any text, because the text is untrusted. */
export function* findCode(text: string): Generator<{ start: number; end: number }> {
  // Only backticks of the same number end inline code.
  const lastByLength = new Map<number, number>()
  // `matchAll` begins at the `lastIndex` of the previous search.
  BACKTICKS.lastIndex = 0
  for (const { 0: ticks, index } of text.matchAll(BACKTICKS)) lastByLength.set(ticks.length, index)
  for (let at = 0; ; ) {
    OPENING.lastIndex = at
    const found = OPENING.exec(text)
    if (!found) return
    const { 0: all, 1: fence, index: start } = found
    at = start + all.length
    // The search for the end is skipped if it cannot succeed. Otherwise the next search begins after its result.
    if (fence === undefined && lastByLength.get(all.length)! < at) continue
    at =
      fence === undefined
        ? endOfCode(text, at, BACKTICKS, ([ticks]) => ticks.length === all.length)
        : endOfCode(text, at, CLOSING_FENCE, ([, closing]) => closing!.startsWith(fence))
    yield { start, end: at }
  }
}

/** Code that is not closed extends to the end of the text. */
function endOfCode(
  text: string,
  from: number,
  closing: RegExp,
  isClosed: (match: RegExpExecArray) => boolean,
): number {
  closing.lastIndex = from
  for (let found = closing.exec(text); found; found = closing.exec(text))
    if (isClosed(found)) return closing.lastIndex
  return text.length
}
