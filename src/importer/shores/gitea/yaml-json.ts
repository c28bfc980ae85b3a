/** Line ends and controls that YAML has and JSON does not; a byte order mark is no text there. */
const OTHERWISE_IN_YAML = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
const NO_TEXT = /\\u(?:d[89ab][0-9a-f]{2}|0000)/i

/**
 * JSON that every reader of YAML takes for the same value. Halves of a character are no text to it, and a zero byte is none
 * to PostgreSQL: both become the sign for what could not be read.
 */
export function yamlJson(value: unknown): string {
  const json = JSON.stringify(value)
  const text = NO_TEXT.test(json) ? JSON.stringify(value, readable) : json
  return text.replace(
    OTHERWISE_IN_YAML,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function readable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\u0000', '\ufffd') : value
}

/** RFC 3339 in UTC, as Go reads it. */
export function yamlTime(text: string): string {
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new Error(`it has the time ${JSON.stringify(text)}, which is none`)
  return new Date(at).toISOString().replace('.000Z', 'Z')
}
