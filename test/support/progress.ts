import { globSync, readFileSync } from 'node:fs'
import { formatSeconds, recordSeconds, usualSeconds } from './file-seconds.ts'

/** The fields of an event of the test runner that are used here. */
interface TestEvent {
  type: string
  data: { name?: string; nesting?: number; details?: { duration_ms?: number; type?: string } }
}

/** Seconds between two lines. */
const INTERVAL_S = 20

/** Follows a whole run by the files that have ended. */
export class Progress {
  readonly #start = performance.now()
  /** How long each file of the run usually takes. */
  readonly #usual: Map<string, number>
  readonly #total: number
  readonly #taken: Record<string, number> = {}
  #done = 0
  #hasFailed = false
  #lastLine = 0

  constructor() {
    const secondsOf = usualSeconds()
    this.#usual = new Map(filesOfGroups().map((file) => [file, secondsOf(file)]))
    this.#total = this.#usual.values().reduce((sum, each) => sum + each, 0)
  }

  /** Returns a line of progress, if it is time for one. */
  add({ type, data: { name = '', nesting, details } }: TestEvent): string | undefined {
    if (type === 'test:fail') this.#hasFailed = true
    const usual = this.#usual.get(name)
    if (nesting !== 0 || usual === undefined || !/^test:(pass|fail)$/.test(type)) return undefined
    this.#taken[name] = Math.round((details?.duration_ms ?? 0) / 10) / 100
    this.#done += usual
    const elapsed = this.#elapsed()
    if (elapsed - this.#lastLine < INTERVAL_S) return undefined
    this.#lastLine = elapsed
    const ended = `${Object.keys(this.#taken).length} of ${this.#usual.size} files`
    const left = (elapsed * (this.#total - this.#done)) / this.#done
    return `${ended} after ${formatSeconds(elapsed)}, about ${formatSeconds(left)} left`
  }

  /** Returns the line for the end. Keeps the times of a whole run that passed, for the next one. */
  async end(): Promise<string | undefined> {
    const isWhole = Object.keys(this.#taken).length === this.#usual.size
    if (!isWhole || this.#usual.size === 0) return undefined
    const elapsed = this.#elapsed()
    if (!this.#hasFailed) await recordSeconds(this.#taken)
    return `npm test took ${formatSeconds(elapsed)}`
  }

  #elapsed(): number {
    return (performance.now() - this.#start) / 1000
  }
}

/** Returns the files of the groups that this run was given (scripts/test-groups.ts). */
function filesOfGroups(): string[] {
  const groups = process.argv.filter((each) => each.startsWith('var/test-groups/'))
  return globSync(groups).flatMap((group) =>
    [...readFileSync(group, 'utf8').matchAll(/'\.\.\/\.\.\/([^']+\.test\.ts)'/g)].map(
      ([, file]) => file!,
    ),
  )
}
