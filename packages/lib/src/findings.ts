import { formatNumber } from './quantities.ts'

/** Objects of one kind that could not be read, or that a format cannot represent. */
export interface Loss {
  /**
   * A kind of records, such as `pull_request_reviews`, or a more specific noun, such as `organization_labels`. The examples of
   * `not_read` are sentences about what a host does not provide.
   */
  kind: string
  count: number
  /** Describes the first few of them. */
  examples: string[]
}

/** Counts losses by kind, with a few examples of each. */
export class Losses {
  readonly #byKind = new Map<string, Loss>()
  readonly #maxExamples: number

  constructor(maxExamples = 5) {
    this.#maxExamples = maxExamples
  }

  add(kind: string, count = 1, ...examples: string[]): void {
    if (count <= 0) return
    const loss = this.#byKind.getOrInsertComputed(kind, () => ({ kind, count: 0, examples: [] }))
    loss.count += count
    loss.examples.push(...examples.slice(0, this.#maxExamples - loss.examples.length))
  }

  /** Returns the losses sorted by kind. */
  all(): Loss[] {
    return [...this.#byKind.values()].sort((a, b) => (a.kind < b.kind ? -1 : 1))
  }
}

/** Adds up the losses of several repositories by kind. Examples begin with the name of their repository. */
export function sumLosses(losses: readonly (Loss & { full_name: string | null })[]): Loss[] {
  const sum = new Losses()
  for (const { full_name, kind, count, examples } of losses)
    sum.add(kind, count, ...examples.map((each) => (full_name ? `${full_name}: ${each}` : each)))
  return sum.all()
}

/** Formats a number of records, such as `1 pull request` or `2 pull requests` for the kind `pull_requests`. */
export function formatRecordCount(kind: string, count: number): string {
  const plural = kind.replaceAll('_', ' ')
  if (count !== 1) return `${count} ${plural}`
  return `1 ${plural
    .replace(/branches$/, 'branch')
    .replace(/ies$/, 'y')
    .replace(/s$/, '')}`
}

/** Returns a line for each example, and one for each kind that has more. */
export const describeLosses = (losses: readonly Loss[]): string[] =>
  losses.flatMap(({ kind, count, examples }) => {
    const more = count - examples.length
    return more > 0 ? [...examples, `and ${formatRecordCount(kind, more)} more`] : examples
  })

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
