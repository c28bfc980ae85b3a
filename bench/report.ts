import { cpus, loadavg, release, totalmem } from 'node:os'
import { CONTESTANTS, type Corpus, type Figures, ROWS } from './contestants.ts'
import { median, run, shell } from './measure.ts'

interface Row {
  name: string
  middle: number
  least: number
  most: number
}

/** The whole of a results file: where, when, how, what, and which aims were met. */
export async function report(
  corpus: Corpus,
  figures: readonly Figures[],
  { rounds, args }: { rounds: number; args: readonly string[] },
): Promise<string> {
  const bytes = Number(await shell('du -sb "$1" | cut -f1', corpus.root))
  const rows = Object.values(ROWS).map((name) => rowOf(name, figures))
  return `# Exports side by side

Written by \`node bench/export.ts${args.map((arg) => ` ${arg}`).join('')}\`; not edited by hand.

- ${new Date().toISOString().slice(0, 10)}, ${await machine()}
- ${corpus.repositories.length} repositories, ${(bytes / 1e6).toFixed(0)} MB, all in the page cache
- ${rounds} rounds, everyone once a round, the order reversed every other round; medians
- load average of the last 15 minutes: ${loadavg()[2]!.toFixed(1)}, of which the run itself is about 1 to 2

${table(rows, bytes)}

## Aims

${aims(rows)}

## Commands

\`$1\` is the corpus, \`$2\` an empty directory.

${CONTESTANTS.map(({ command }) => `    ${command}`).join('\n')}
`
}

function rowOf(name: string, figures: readonly Figures[]): Row {
  const values = figures.map((each) => each[name]!)
  return { name, middle: median(values), least: Math.min(...values), most: Math.max(...values) }
}

export async function machine(): Promise<string> {
  const [first, ...others] = cpus()
  const memory = `${(totalmem() / 1e9).toFixed(0)} GB of memory`
  const versions = `Linux ${release()}, Node ${process.version}, ${await run('git', ['--version'])}`
  return `${others.length + 1} × ${first?.model.trim()}, ${memory}, ${versions}`
}

function table(rows: readonly Row[], bytes: number): string {
  const verified = rows.find(({ name }) => name === ROWS.first)!.middle
  const cells = rows
    .filter(({ name }) => name !== ROWS.memory)
    .map(({ name, middle, least, most }) => [
      name,
      middle.toFixed(2),
      `${least.toFixed(2)} – ${most.toFixed(2)}`,
      (bytes / 1e6 / middle).toFixed(0),
      `${(middle / verified).toFixed(2)} ×`,
    ])
  const head = ['', 'seconds', 'least – most', 'MB/s', "Godwit's time"]
  const widths = head.map((_, at) => Math.max(3, ...[head, ...cells].map((row) => row[at]!.length)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | ')} |`
  const rule = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [line(head), line(rule), ...cells.map(line)].join('\n')
}

function aims(rows: readonly Row[]): string {
  const of = (name: string) => rows.find((row) => row.name === name)!.middle
  const aim = (isMet: boolean, text: string) => `- ${isMet ? 'met' : 'missed'}: ${text}`
  const faster = of(ROWS.mirror) / of(ROWS.first)
  const slower = of(ROWS.engine) / of(ROWS.copy)
  const again = of(ROWS.first) / of(ROWS.second)
  const memory = of(ROWS.memory)
  return [
    aim(faster >= 8, `${faster.toFixed(1)} × faster than a mirror and tar czf (aim: 8)`),
    aim(slower <= 2, `${slower.toFixed(1)} × the time of cp -r without verification (aim: 2)`),
    aim(again >= 50, `${again.toFixed(1)} × faster when nothing has changed (aim: 50)`),
    aim(memory < 200, `${memory.toFixed(0)} MB resident at most (aim: 200)`),
  ].join('\n')
}
