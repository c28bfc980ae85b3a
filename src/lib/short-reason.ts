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
