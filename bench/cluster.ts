import { startPostgres } from '../test/support/postgres.ts'
import { claimLatencies, exportSeconds } from './cluster-figures.ts'
import { makeCorpus } from './corpus.ts'
import { median, spread } from './measure.ts'
import { atMost, round as figure, type Section } from './section.ts'

/** Measures the benefit and the cost of running more than one process. */
export async function benchCluster({ rounds }: { rounds: number }): Promise<Section> {
  const corpus = await makeCorpus('small')
  const postgres = await startPostgres()
  const one: number[] = []
  const two: number[] = []
  const begun: number[] = []
  try {
    for (let round = 1; round <= rounds; round += 1) {
      one.push(await exportSeconds({ corpus, postgres, workers: 1 }))
      two.push(await exportSeconds({ corpus, postgres, workers: 2 }))
      begun.push(...(await claimLatencies({ corpus, postgres })))
      console.error(`round ${round}`, { one, two, begun })
    }
  } finally {
    await postgres.stop()
  }
  const row = (name: string, values: number[]) => [
    name,
    figure(median(values)),
    spread(values, figure),
  ]
  return {
    title: 'More than one process',
    notes: [
      `PostgreSQL, the API, the workers and the clients share the machine; medians of ${rounds} rounds`,
      'a worker exports one repository at a time; the pickup time ends when a worker has moved the migration to `exporting`',
      'the first table has the reads on PostgreSQL',
    ],
    tables: [
      {
        head: ['', 'median', 'min – max'],
        rows: [
          row('200 small repositories, one worker, s', one),
          row('200 small repositories, two workers, s', two),
          row('from start to pickup by a worker, ms', begun),
        ],
      },
    ],
    targets: [
      atMost(
        'time of two workers relative to one, given enough cores',
        median(two) / median(one),
        0.6,
      ),
      atMost('from start to pickup by a worker', median(begun), 100, 'ms'),
    ],
    plots: [],
  }
}
