import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CONTESTANTS, type Corpus, type Figures, ROWS } from './contestants.ts'
import { inTurns, median, shell, spread } from './measure.ts'
import { barPlot } from './plot.ts'
import { atLeast, atMost, round, type Section } from './section.ts'

/**
 * Compares exports by different tools: each runs once a round, in alternating order, with the corpus in the page
 * cache.
 */
export async function benchExports(
  corpora: readonly Corpus[],
  { rounds }: { rounds: number },
): Promise<Section> {
  const measured: Measured[] = []
  for (const corpus of corpora) measured.push(await measure(corpus, rounds))
  return {
    title: 'Exports',
    notes: [
      ...measured.map(({ title }) => `${title}, all in the page cache`),
      `medians of ${rounds} rounds; each tool runs once a round, in alternating order`,
      '`$1` is the corpus, `$2` an empty directory:',
      ...CONTESTANTS.map(({ command, isThere }) =>
        isThere ? `\`${command}\`` : `not installed here: \`${command}\``,
      ),
    ],
    tables: measured.map(tableOf),
    targets: measured.flatMap(targetsOf),
    plots: measured.map(plotOf),
  }
}

interface Measured {
  name: string
  title: string
  bytes: number
  figures: Map<string, number[]>
}

async function measure(corpus: Corpus, rounds: number): Promise<Measured> {
  const bytes = Number(await shell('du -sb "$1" | cut -f1', corpus.root))
  await shell('find "$1" -type f -exec cat {} + >/dev/null', corpus.root)
  const figures = new Map<string, number[]>()
  const contestants = CONTESTANTS.filter(({ isThere }) => isThere)
  await inTurns(rounds, contestants, async ({ run }) => {
    const out = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
    try {
      await shell('sync')
      note(figures, await run(corpus, out))
    } finally {
      await rm(out, { recursive: true, force: true })
    }
  })
  const { name, repositories } = corpus
  const title = `${name}: ${repositories.length} repositories, ${(bytes / 1e6).toFixed(0)} MB`
  return { name, title, bytes, figures }
}

function note(figures: Map<string, number[]>, measured: Figures): void {
  for (const [name, value] of Object.entries(measured)) {
    figures.set(name, [...(figures.get(name) ?? []), value])
    console.error(`${name}: ${round(value)}`)
  }
}

const timedRows = ({ figures }: Measured) =>
  Object.values(ROWS).filter((row) => row !== ROWS.memory && figures.has(row))

const medianOf = ({ figures }: Measured, row: string) => median(figures.get(row)!)

function tableOf(measured: Measured) {
  const { bytes, figures, name } = measured
  const of = (row: string) => medianOf(measured, row)
  return {
    head: [name, 'seconds', 'min – max', 'MB/s', "Godwit's time"],
    rows: timedRows(measured).map((row) => [
      row,
      of(row).toFixed(2),
      spread(figures.get(row)!, (value) => value.toFixed(2)),
      (bytes / 1e6 / of(row)).toFixed(0),
      `${round(of(row) / of(ROWS.first))} ×`,
    ]),
  }
}

function targetsOf(measured: Measured) {
  const of = (row: string) => medianOf(measured, row)
  const { name } = measured
  return [
    atMost(`${name}: time of the limit`, of(ROWS.first) / of(ROWS.limit), 1.5),
    atMost(`${name}: time of bundles on all cores`, of(ROWS.first) / of(ROWS.bundles), 1),
    atLeast(`${name}: faster than a mirror and tar czf`, of(ROWS.mirror) / of(ROWS.first), 8),
    atMost(`${name}: time of cp -r, without verification`, of(ROWS.engine) / of(ROWS.copy), 2),
    atLeast(`${name}: faster when nothing has changed`, of(ROWS.first) / of(ROWS.second), 50),
    atMost(`${name}: most memory of an export`, of(ROWS.memory), 200, 'MB'),
  ]
}

function plotOf(measured: Measured, index: number) {
  const { name, title } = measured
  return {
    file: index === 0 ? 'exports.svg' : `exports-${name}.svg`,
    alt: `Seconds to export the same repositories (${name}): Godwit and its peers`,
    svg: barPlot({
      title: `Exporting ${title}: seconds`,
      unit: 's',
      groups: [
        {
          name: '',
          bars: timedRows(measured).map((row) => ({
            name: row,
            value: medianOf(measured, row),
            series: row.startsWith('Godwit') ? 0 : 1,
          })),
        },
      ],
    }),
  }
}
