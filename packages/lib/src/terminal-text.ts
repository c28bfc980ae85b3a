/** Control characters, bidirectional controls and line breaks of every kind. */
const UNSAFE = /[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu

/** Escapes untrusted text for one line of a terminal. */
export const escapeForTerminal = (text: string): string =>
  text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)

/** Escapes untrusted text of several lines. */
export const escapeLinesForTerminal = (text: string): string =>
  text.split('\n').map(escapeForTerminal).join('\n')

/** Unsafe characters that JSON does not escape. */
const UNSAFE_IN_JSON = /[\x7f-\x9f\p{Bidi_C}\u2028\u2029]/gu

const asEscape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Matches nearly every line, at a fraction of the cost of searching for unsafe characters. */
const PLAIN = /^[\n -~]*$/

/** Escapes lines of JSON; they still parse to the same values. */
export const escapeJsonLinesForTerminal = (lines: string): string =>
  PLAIN.test(lines) ? lines : lines.replace(UNSAFE_IN_JSON, asEscape)

/** Returns a value as JSON that is safe for a terminal. */
export const escapeJsonForTerminal = (
  value: unknown,
  replacer?: (key: string, value: unknown) => unknown,
) => escapeJsonLinesForTerminal(JSON.stringify(value, replacer, 2))

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
