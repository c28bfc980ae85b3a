import { endInWords, type RepositoryEnd } from '../exporter/export-archive.ts'
import { inUnits } from '../ground/quantities.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import { progressLine } from './progress-line.ts'

/** Disposing leaves the terminal as it was. */
export interface ExportProgress extends Disposable {
  ended(end: RepositoryEnd): void
  writing(bytes: number): void
  say(text: string): void
}

/** A bar where someone watches; otherwise a line for each repository, for logs. */
export function exportProgress(
  to: NodeJS.WriteStream,
  repositories: readonly RepositoryFacts[],
): ExportProgress {
  const line = progressLine(to)
  // An empty repository is a step too.
  const weight = ({ sizeKib }: RepositoryFacts) => sizeKib + 1
  const total = repositories.reduce((sum, facts) => sum + weight(facts), 0)
  let [done, count] = [0, 0]
  return {
    ended(end) {
      done += weight(end.facts)
      count += 1
      const isTold = 'reason' in end || end.warning !== null
      if (!to.isTTY || isTold) line.say(endInWords(end))
      line.show(done / total, `${count}/${repositories.length} ${fullNameOf(end.facts)}`)
    },
    writing: (bytes) => line.show(undefined, `writing ${inUnits(bytes)}`),
    say: line.say,
    [Symbol.dispose]: line[Symbol.dispose],
  }
}
