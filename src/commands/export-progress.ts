import type { WriteStream } from 'node:tty'
import { endInWords, type RepositoryEnd } from '../exporter/export-archive.ts'
import { inUnits } from '../migrations/report.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'

/** Disposing leaves the terminal as it was. */
export interface Progress extends Disposable {
  ended(end: RepositoryEnd): void
  writing(bytes: number): void
  say(text: string): void
}

/** A bar where someone watches; otherwise a line for each repository, for logs. */
export function exportProgress(
  to: Pick<WriteStream, 'isTTY' | 'columns' | 'write'>,
  repositories: readonly RepositoryFacts[],
): Progress {
  const line = (text: string) => to.write(`${text}\n`)
  if (!to.isTTY) {
    const ended = (end: RepositoryEnd) => line(endInWords(end))
    return { ended, writing() {}, say: line, [Symbol.dispose]() {} }
  }

  // An empty repository is a step too.
  const weight = ({ sizeKib }: RepositoryFacts) => sizeKib + 1
  const total = repositories.reduce((sum, facts) => sum + weight(facts), 0)
  let [done, count] = [0, 0]
  const clear = () => to.write('\r\x1b[K')
  return {
    ended(end) {
      done += weight(end.facts)
      count += 1
      clear()
      if (end.outcome === 'omitted') line(endInWords(end))
      const text = `${bar(done / total)} ${count}/${repositories.length} ${fullNameOf(end.facts)}`
      to.write(text.slice(0, to.columns - 1))
    },
    writing(bytes) {
      clear()
      to.write(`writing ${inUnits(bytes)}`)
    },
    say(text) {
      clear()
      line(text)
    },
    [Symbol.dispose]: clear,
  }
}

const WIDTH = 30

function bar(part: number): string {
  const filled = Math.round(part * WIDTH)
  return `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}]`
}
