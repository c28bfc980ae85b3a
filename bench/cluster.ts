import { writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { startCluster as startPostgres } from '../test/support/postgres.ts'
import { claimLatencies, exportSeconds, readRates } from './cluster-figures.ts'
import { makeCorpus } from './corpus.ts'
import { median } from './measure.ts'
import { machine } from './report.ts'

export interface ClusterBench {
  rounds: number
}

/** What outgrowing one machine brings and costs; the rest of the machine should be at rest. */
export async function benchCluster({ rounds }: ClusterBench): Promise<string> {
  const corpus = await makeCorpus('small')
  const postgres = await startPostgres()
  try {
    const one: number[] = []
    const two: number[] = []
    const onPostgres: number[] = []
    const onSqlite: number[] = []
    const latencies: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      one.push(await exportSeconds({ corpus, postgres, workers: 1 }))
      two.push(await exportSeconds({ corpus, postgres, workers: 2 }))
      latencies.push(...(await claimLatencies({ corpus, postgres })))
      const rates = await readRates({ corpus, postgres })
      onPostgres.push(rates.postgres)
      onSqlite.push(rates.sqlite)
      console.error(`round ${round + 1}`, { one, two, onPostgres, onSqlite })
    }
    return report({ rounds, one, two, onPostgres, onSqlite, latencies })
  } finally {
    await postgres.stop()
  }
}

interface Figures extends ClusterBench {
  one: number[]
  two: number[]
  onPostgres: number[]
  onSqlite: number[]
  latencies: number[]
}

async function report(figures: Figures): Promise<string> {
  const { rounds, latencies } = figures
  const [one, two] = [median(figures.one), median(figures.two)]
  const [onPostgres, onSqlite] = [median(figures.onPostgres), median(figures.onSqlite)]
  const aim = (isMet: boolean, text: string) => `- ${isMet ? 'met' : 'missed'}: ${text}`
  const [ratio, claim, rate] = [two / one, median(latencies), onPostgres / onSqlite]
  return `# More than one process

Written by \`node bench/cluster.ts --rounds ${rounds}\`; not edited by hand. PostgreSQL, the API, the workers and whoever asks share
the machine.

- ${new Date().toISOString().slice(0, 10)}, ${await machine()}
- ${rounds} rounds; medians
- load average of the last 15 minutes: ${loadavg()[2]!.toFixed(1)}, of which the run itself is about 2

|                                                        |      |
| ------------------------------------------------------ | ---: |
| 200 small repositories, one worker, seconds            | ${one.toFixed(2)} |
| the same, two workers, seconds                         | ${two.toFixed(2)} |
| from a start until a worker has begun it, milliseconds | ${claim.toFixed(0)} |
| status reads a second on PostgreSQL                    | ${onPostgres.toFixed(0)} |
| the same on SQLite                                     | ${onSqlite.toFixed(0)} |

## Aims

${aim(ratio <= 0.6, `two workers need ${ratio.toFixed(2)} × the time of one (aim: 0.6, where cores allow)`)}
${aim(claim <= 100, `a start is taken up after ${claim.toFixed(0)} ms (aim: 100)`)}
${aim(rate >= 0.5, `PostgreSQL answers ${rate.toFixed(2)} × as many status reads as SQLite (aim: 0.5)`)}
`
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } })
  const text = await benchCluster({ rounds: Number(values.rounds) })
  await writeFile(new URL('results-cluster.md', import.meta.url), text)
  console.log(text)
}
