/** A fence, or the backticks that may begin code within a line. */
const OPENING = /^ {0,3}(`{3,}|~{3,})|`+/gm
const CLOSING_FENCE = /^ {0,3}([`~]{3,})[ \t]*$/gm
const BACKTICKS = /`+/g

/**
 * Where the code of a text is, in order. Anybody may have written the text: each part of it is looked at a fixed number of
 * times, whatever it says.
 */
export function* findCode(text: string): Generator<{ start: number; end: number }> {
  const last = lastOfEachLength(text)
  for (let at = 0; ; ) {
    const found = matchFrom(OPENING, text, at)
    if (!found) return
    const { 0: all, 1: fence, index: start } = found
    at = start + all.length
    // A search either succeeds, and goes on behind what it found, or is not begun.
    if (fence === undefined && last.get(all.length)! < at) continue
    at = fence === undefined ? afterBackticks(text, at, all.length) : afterFence(text, at, fence)
    yield { start, end: at }
  }
}

/** Where backticks of a length stand for the last time: behind that, nothing closes what as many of them begin. */
function lastOfEachLength(text: string): Map<number, number> {
  const last = new Map<number, number>()
  for (let at = 0; ; ) {
    const found = matchFrom(BACKTICKS, text, at)
    if (!found) return last
    last.set(found[0].length, found.index)
    at = found.index + found[0].length
  }
}

function afterBackticks(text: string, from: number, length: number): number {
  for (let at = from; ; ) {
    const found = matchFrom(BACKTICKS, text, at)
    if (!found) return text.length
    at = found.index + found[0].length
    if (found[0].length === length) return at
  }
}

/** A fence that nothing closes goes on to the end. */
function afterFence(text: string, from: number, fence: string): number {
  for (let at = from; ; ) {
    const found = matchFrom(CLOSING_FENCE, text, at)
    if (!found) return text.length
    at = found.index + found[0].length
    if (found[1]!.startsWith(fence)) return at
  }
}

function matchFrom(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
