/** Controls of the terminal, and of the direction in which it shows letters; line breaks of every kind. */
const UNSAFE = /[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu

/** Text of others on one line of a terminal, with all that it would obey instead of showing spelt out. */
export function escapeForTerminal(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

/** The same for text of several lines. */
export const escapeLinesForTerminal = (text: string): string =>
  text.split('\n').map(escapeForTerminal).join('\n')

/** What JSON itself leaves as it is of these. */
const UNSAFE_IN_JSON = /[\x7f-\x9f\p{Bidi_C}\u2028\u2029]/gu

const asEscape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Nearly every line: to see that costs a fraction of looking for what is unsafe. */
const PLAIN = /^[\n -~]*$/

/** The same for lines of JSON, which stay the values that they are. */
export const escapeJsonLinesForTerminal = (lines: string): string =>
  PLAIN.test(lines) ? lines : lines.replace(UNSAFE_IN_JSON, asEscape)

/** JSON that is the same value to whoever reads it, and harmless to a terminal. */
export function escapeJsonForTerminal(
  value: unknown,
  replacer?: (key: string, value: unknown) => unknown,
) {
  return escapeJsonLinesForTerminal(JSON.stringify(value, replacer, 2))
}
