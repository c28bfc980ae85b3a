const MAX_LENGTH = 4096

/** Puts a text on one line: line breaks and other control characters become single spaces. */
export function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  // A surrogate pair is not split.
  return line.length <= MAX_LENGTH
    ? line
    : line
        .slice(0, MAX_LENGTH)
        .replace(/[\ud800-\udbff]$/, '')
        .trim()
}
