import { LimitedLines } from '../lib/limited-lines.ts'

/** Objects of one kind that the target cannot represent. */
interface Loss {
  kind: string
  count: number
  /** The first few of them. */
  examples: string[]
}

const MAX_EXAMPLES = 5

/** Collects what a conversion loses, by kind, and warnings about single objects. */
export class Report {
  readonly #warnings: LimitedLines
  readonly #losses = new Map<string, Loss>()
  /** Lines for the user that are not about a loss, such as what to do next. */
  readonly notes: string[] = []

  /** Warnings of one kind are passed to `onWarning` only up to a limit; further ones are counted. */
  constructor(onWarning: (text: string) => void) {
    this.#warnings = new LimitedLines(({ text }) => onWarning(text))
  }

  warn(kind: string, text: string): void {
    this.#warnings.add(kind, text)
  }

  /** Counts objects of a kind, such as `reactions`, that the target cannot represent. */
  lost(kind: string, count = 1, example?: string): void {
    if (count <= 0) return
    const loss = this.#losses.get(kind) ?? { kind, count: 0, examples: [] }
    this.#losses.set(kind, loss)
    loss.count += count
    if (example !== undefined && loss.examples.length < MAX_EXAMPLES) loss.examples.push(example)
  }

  /** Counts a record that cannot be used as lost, and warns about it. */
  lostRecord(kind: string, why: string): void {
    this.warn(kind, `${why}; the record is skipped`)
    this.lost(kind, 1, why)
  }

  note(text: string): void {
    this.notes.push(text)
  }

  /** Ends the warnings with how many were left out, and returns the losses sorted by kind. */
  end(): Loss[] {
    this.#warnings.end()
    return [...this.#losses.values()].sort((a, b) => (a.kind < b.kind ? -1 : 1))
  }
}
