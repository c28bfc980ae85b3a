import { formatNumber } from '@godwit/lib/quantities'

/** The first that matches the reason describes it. */
const SUMMARIES: [pattern: RegExp, summary: string][] = [
  [/\blfs\/objects\/|LFS oid/, 'an LFS object is damaged'],
  [/\.pack\b|\.idx\b|packfile|packed object|pack has bad/, 'pack is damaged'],
  [
    /missing (?:blob|tree|commit|tag)|could not read|bad object|broken link/i,
    'objects are missing',
  ],
  [/\bobjects\/[0-9a-f]{2}\/|loose object|hash mismatch/, 'an object is damaged'],
  [/packed-refs|broken ref|HEAD (?:is missing|names)/, 'refs are damaged'],
]

const MAX_LENGTH = 80

/** Shortens the reason why a repository was not exported, such as git's message, to a few words for lists. */
export function shortReason(reason: string): string {
  const known = SUMMARIES.find(([pattern]) => pattern.test(reason))
  if (known) return known[1]
  const [first = ''] = reason.split(/\n|; /, 1)
  if (first.length <= MAX_LENGTH) return first
  return `${first.slice(0, MAX_LENGTH).replace(/\s+\S*$/, '')}…`
}

interface Counts {
  skipped: number
  /** Repositories with missing LFS objects. Servers other than Godwit do not count them. */
  incomplete?: number | null | undefined
}

/** Whether a migration was exported without some of its repositories, or without some of their LFS objects. */
export const isPartial = ({
  state,
  repositories: { skipped, incomplete },
}: {
  state: string
  repositories: Counts
}): boolean => state === 'exported' && skipped + (incomplete ?? 0) > 0

/** Returns `1 skipped, 2 with missing LFS objects`; empty if nothing is missing. */
export const describeMissing = ({ skipped, incomplete }: Counts): string =>
  [
    skipped > 0 && `${formatNumber(skipped)} skipped`,
    incomplete && `${formatNumber(incomplete)} with missing LFS objects`,
  ]
    .filter((text) => typeof text === 'string')
    .join(', ')
