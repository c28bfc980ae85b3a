/** What a dump cannot take, by kind; and what is to be told of single things. */
export interface DumpTally {
  skip(kind: string, count?: number): void
  warn(text: string): void
  /** A record that could not be read. */
  lose(kind: string, why: string): void
  /** In the order of their names. */
  skipped(): [kind: string, count: number][]
}

export function createTally(warn: (text: string) => void): DumpTally {
  const counts = new Map<string, number>()
  const skip = (kind: string, count = 1) => {
    if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count)
  }
  return {
    skip,
    warn,
    lose(kind, why) {
      warn(`${why}; the record is skipped`)
      skip(kind)
    },
    skipped: () => [...counts].sort(([a], [b]) => (a < b ? -1 : 1)),
  }
}
