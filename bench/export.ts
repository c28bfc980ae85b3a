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
  corpus: Corpus,
  { rounds }: { rounds: number },
): Promise<Section> {
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
  return report(corpus, bytes, figures, rounds)
}

function note(figures: Map<string, number[]>, measured: Figures): void {
  for (const [name, value] of Object.entries(measured)) {
    figures.set(name, [...(figures.get(name) ?? []), value])
    console.error(`${name}: ${round(value)}`)
  }
}

function report(
  corpus: Corpus,
  bytes: number,
  figures: Map<string, number[]>,
  rounds: number,
): Section {
  const of = (name: string) => median(figures.get(name)!)
  const timed = Object.values(ROWS).filter((name) => name !== ROWS.memory && figures.has(name))
  return {
    title: 'Exports',
    notes: [
      `${corpus.repositories.length} repositories, ${(bytes / 1e6).toFixed(0)} MB, all in the page cache`,
      `medians of ${rounds} rounds; each tool runs once a round, in alternating order`,
      '`$1` is the corpus, `$2` an empty directory:',
      ...CONTESTANTS.map(({ command, isThere }) =>
        isThere ? `\`${command}\`` : `not installed here: \`${command}\``,
      ),
    ],
    tables: [
      {
        head: ['', 'seconds', 'min – max', 'MB/s', "Godwit's time"],
        rows: timed.map((name) => [
          name,
          of(name).toFixed(2),
          spread(figures.get(name)!, (value) => value.toFixed(2)),
          (bytes / 1e6 / of(name)).toFixed(0),
          `${round(of(name) / of(ROWS.first))} ×`,
        ]),
      },
    ],
    targets: [
      atLeast('faster than a mirror and tar czf', of(ROWS.mirror) / of(ROWS.first), 8),
      atMost('time of cp -r, without verification', of(ROWS.engine) / of(ROWS.copy), 2),
      atLeast('faster when nothing has changed', of(ROWS.first) / of(ROWS.second), 50),
      atMost('most memory of an export', of(ROWS.memory), 200, 'MB'),
    ],
    plots: [
      {
        file: 'exports.svg',
        alt: 'Seconds to export the same repositories: Godwit and its peers',
        svg: barPlot({
          title: `Exporting ${(bytes / 1e6).toFixed(0)} MB in ${corpus.repositories.length} repositories: seconds`,
          unit: 's',
          groups: [
            {
              name: '',
              bars: timed.map((name) => ({
                name,
                value: of(name),
                series: name.startsWith('Godwit') ? 0 : 1,
              })),
            },
          ],
        }),
      },
    ],
  }
}
