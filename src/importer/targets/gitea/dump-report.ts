import { LimitedLines } from '../../../lib/limited-lines.ts'

/** Collects what a dump cannot contain: warnings about single objects, and counts by kind. */
export class DumpReport {
  readonly #warnings: LimitedLines
  readonly #counts = new Map<string, number>()

  /** Warnings of one kind are passed to `onWarning` only up to a limit; further ones are counted. */
  constructor(onWarning: (text: string) => void) {
    this.#warnings = new LimitedLines(({ text }) => onWarning(text))
  }

  warn(kind: string, text: string): void {
    this.#warnings.add(kind, text)
  }

  skip(kind: string, count = 1): void {
    if (count > 0) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + count)
  }

  /** Reports a record that cannot be used. */
  skipRecord(kind: string, why: string): void {
    this.warn(kind, `${why}; the record is skipped`)
    this.skip(kind)
  }

  /** Ends the warnings with how many were left out, and returns the skipped objects sorted by kind. */
  end(): [kind: string, count: number][] {
    this.#warnings.end()
    return [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))
  }
}
