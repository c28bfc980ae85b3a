/** Controls of the terminal, and of the direction in which it shows letters; line breaks of every kind. */
const UNSAFE = /[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu

/** Text of others on one line of a terminal, with all that it would obey instead of showing spelt out. */
export function harmless(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

/** The same for text of several lines. */
export const harmlessLines = (text: string): string => text.split('\n').map(harmless).join('\n')

/** JSON that is the same value to whoever reads it, and harmless to a terminal. */
export function harmlessJson(value: unknown, replacer?: (key: string, value: unknown) => unknown) {
  const spelt = (character: string) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, replacer, 2).replace(UNSAFE, spelt)
}
