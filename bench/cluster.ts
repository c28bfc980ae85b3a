import { startCluster as startPostgres } from '../test/support/postgres.ts'
import { claimLatencies, exportSeconds } from './cluster-figures.ts'
import { makeCorpus } from './corpus.ts'
import { median, spread } from './measure.ts'
import { atMost, round as figure, type Section } from './section.ts'

/** What outgrowing one machine brings and costs. */
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
      `PostgreSQL, the API, the workers and whoever asks share the machine; medians of ${rounds} rounds`,
      'a worker does one repository at a time; a start is taken up when its worker has moved it to `exporting`',
      'reads of a crowd on PostgreSQL stand in the first table',
    ],
    tables: [
      {
        head: ['', 'median', 'min – max'],
        rows: [
          row('200 small repositories, one worker, s', one),
          row('the same, two workers, s', two),
          row('from a start until it is taken up, ms', begun),
        ],
      },
    ],
    targets: [
      atMost('two workers to one, where cores allow', median(two) / median(one), 0.6),
      atMost('from a start until it is taken up', median(begun), 100, 'ms'),
    ],
    plots: [],
  }
}
