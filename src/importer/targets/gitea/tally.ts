import { LimitedLines } from '../../../lib/limited-lines.ts'

/** What a dump cannot take, by kind; and what is to be told of single things. */
export interface DumpTally {
  skip(kind: string, count?: number): void
  /** Of each kind only the first are passed on. */
  warn(kind: string, text: string): void
  /** A record that could not be read. */
  lose(kind: string, why: string): void
  /** Warns of what was left out of the warnings so far. */
  endWarnings(): void
  /** In the order of their names. */
  skipped(): [kind: string, count: number][]
}

export function createTally(warn: (text: string) => void): DumpTally {
  const warnings = new LimitedLines(({ text }) => warn(text))
  const counts = new Map<string, number>()
  const skip = (kind: string, count = 1) => {
    if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count)
  }
  return {
    skip,
    warn: (kind, text) => warnings.add(kind, text),
    lose(kind, why) {
      warnings.add(kind, `${why}; the record is skipped`)
      skip(kind)
    },
    endWarnings: () => warnings.end(),
    skipped: () => [...counts].sort(([a], [b]) => (a < b ? -1 : 1)),
  }
}
