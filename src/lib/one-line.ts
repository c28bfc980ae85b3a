const LONGEST = 4096

/** Text of people on one line: line ends and other control characters become single spaces. */
export function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  // Not in the middle of a character of two code units.
  return line.length <= LONGEST
    ? line
    : line
        .slice(0, LONGEST)
        .replace(/[\ud800-\udbff]$/, '')
        .trim()
}
