import { formatNumber } from './quantities.ts'

const MAX_PER_KIND = 100

export interface LimitedLine {
  text: string
  /** How many findings the line represents: more than one if it counts the omitted ones. */
  count: number
}

/** Emits the first 100 lines of each kind and counts the others, so that 200,000 invalid records give a readable report. */
export class LimitedLines {
  readonly #counts = new Map<string, number>()
  readonly #emit: (line: LimitedLine) => void

  constructor(emit: (line: LimitedLine) => void) {
    this.#emit = emit
  }

  add(kind: string, text: string): void {
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    if (count <= MAX_PER_KIND) this.#emit({ text, count: 1 })
  }

  /** Emits one more line for each kind with omitted lines. */
  end(): void {
    for (const [kind, all] of this.#counts) {
      const count = all - MAX_PER_KIND
      if (count > 0)
        this.#emit({ text: `${kind}: and ${formatNumber(count)} more of this kind`, count })
    }
    this.#counts.clear()
  }
}

/** Limits the lines of one kind. */
export async function limitLines(kind: string, lines: Iterable<string> | AsyncIterable<string>) {
  const emitted: LimitedLine[] = []
  const limited = new LimitedLines((line) => emitted.push(line))
  for await (const line of lines) limited.add(kind, line)
  limited.end()
  return emitted
}
