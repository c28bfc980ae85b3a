const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/

/**
 * Parses a date, or a date and time with a time zone, of a query. A date is its midnight in UTC: the result does not depend on the
 * machine. Returns undefined for any other text. A day that the month does not have is one of the next month, unless `isStrict`.
 */
export function parseTime(text: string, { isStrict = false } = {}): number | undefined {
  // An unescaped plus sign arrives as a space.
  const escaped = text.replace(' ', '+')
  const time = TIME.test(escaped) ? Date.parse(escaped) : Number.NaN
  const day = text.slice(0, 10)
  const isInvalid = Number.isNaN(time) || (isStrict && !new Date(day).toISOString().startsWith(day))
  return isInvalid ? undefined : time
}

const ISO_TIME = /^(?!0000)\d{4}-\d\d-\d\dT[0-2]\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/
const WITHOUT_ZONE = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/
const YEAR_9999 = Date.UTC(9999, 0)

/**
 * Returns a time of ISO 8601 unchanged, and a time in another notation, such as `2016-06-14 15:02:08 UTC` of old versions of GitLab, in
 * UTC, which is also the time zone of a time without one. Returns undefined for anything else, and for years that other programs cannot
 * store.
 */
export function toIsoTime(text: string): string | undefined {
  const time = Date.parse(WITHOUT_ZONE.test(text) ? `${text}Z` : text)
  if (!(time < YEAR_9999)) return undefined
  if (ISO_TIME.test(text)) return text
  // Other texts would be parsed as a time too, such as `1` or `foo 1234`.
  const iso = /^\d{4}-|^[a-z]{3,9},? .*\d{4}/i.test(text) ? new Date(time).toISOString() : ''
  return ISO_TIME.test(iso) ? iso : undefined
}
