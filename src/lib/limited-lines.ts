import { number } from './quantities.ts'

const MOST_OF_A_KIND = 100

export interface LimitedLine {
  text: string
  /** How many findings the line stands for: more than one where it says how many were left out. */
  count: number
}

/**
 * Passes on the first 100 lines of each kind, and counts the others: whoever sends 200,000 invalid records gets a report that can
 * be read, and takes no memory for the rest.
 */
export class LimitedLines {
  readonly #counts = new Map<string, number>()
  readonly #pass: (line: LimitedLine) => void

  constructor(pass: (line: LimitedLine) => void) {
    this.#pass = pass
  }

  add(kind: string, text: string): void {
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    if (count <= MOST_OF_A_KIND) this.#pass({ text, count: 1 })
  }

  /** Passes on one more line for each kind of which some were left out. */
  end(): void {
    for (const [kind, all] of this.#counts) {
      const count = all - MOST_OF_A_KIND
      if (count > 0) this.#pass({ text: `${kind}: and ${number(count)} more of this kind`, count })
    }
    this.#counts.clear()
  }
}

/** The same for lines that are there already, or come one after another. */
export async function limitLines(
  kind: string,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<LimitedLine[]> {
  const passed: LimitedLine[] = []
  const limited = new LimitedLines((line) => passed.push(line))
  for await (const line of lines) limited.add(kind, line)
  limited.end()
  return passed
}
