const SURROGATE_OR_ZERO = /\\u(?:d[89a-f][0-9a-f]{2}|0000)/i

/** Returns JSON with U+FFFD for zero bytes, which PostgreSQL cannot store, and for lone surrogates, which YAML does not allow either. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!SURROGATE_OR_ZERO.test(json)) return json
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'string' ? each.toWellFormed().replaceAll('\u0000', '\ufffd') : each,
  )
}
