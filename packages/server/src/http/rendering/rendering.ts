import type { Addresses } from '../../repositories/addresses.ts'

/** The settings that renderers of JSON need in addition to the data. */
export interface Rendering {
  addresses: Addresses
  migrationTime: (at: number) => string
  /** Changes whenever the same data would be rendered differently. Part of every ETag. */
  renderingVersion: string
}

/** Returns GitHub's global identifier in its old form, base64 of `010:Repository1296269`. */
export function nodeId(type: string, id: number | string): string {
  const text = `0${type.length}:${type}${id}`
  // `btoa` is faster, but fails for the characters that a licence's key may have.
  return typeof id === 'number' ? btoa(text) : Buffer.from(text).toString('base64')
}

/** Formats a time of a repository: UTC in whole seconds, `2026-11-14T08:30:00Z`. */
export const utcTimestamp = (at: number): string => `${formatToSecond(at)}Z`

export const utcTimestampOrNull = (at: number | null): string | null =>
  at === null ? null : utcTimestamp(at)

const formatToSecond = (at: number): string => new Date(at).toISOString().slice(0, -'.000Z'.length)

/** Returns a function that formats times of migrations: whole seconds with the offset of the zone, `2026-11-14T09:30:00+01:00`. */
export const offsetTimestamps = (timeZone: string): ((at: number) => string) =>
  timeZone === 'UTC'
    ? // UTC needs no `Temporal`, which takes 3 MB from its first use on.
      (at) => `${formatToSecond(at)}+00:00`
    : (at) =>
        Temporal.Instant.fromEpochMilliseconds(at).toString({ timeZone, smallestUnit: 'second' })
