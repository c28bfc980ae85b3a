import { startPostgres } from '../test/support/postgres.ts'
import { claimLatencies, exportSeconds } from './cluster-figures.ts'
import { makeCorpus } from './corpus.ts'
import { median, spread } from './measure.ts'
import { atMost, round as figure, type Section } from './section.ts'

/** Many jobs that take a moment each, and a mix in which a few repositories take most of the time. */
const CORPORA = { small: '200 small repositories', lively: '60 repositories of all sizes' }

/** Measures the benefit and the cost of running more than one process. */
export async function benchCluster({ rounds }: { rounds: number }): Promise<Section> {
  const exports = []
  const begun: number[] = []
  const postgres = await startPostgres()
  try {
    for (const [name, title] of Object.entries(CORPORA)) {
      const corpus = await makeCorpus(name as keyof typeof CORPORA)
      const one: number[] = []
      const two: number[] = []
      for (let round = 1; round <= rounds; round += 1) {
        one.push(await exportSeconds({ corpus, postgres, cores: [0] }))
        two.push(await exportSeconds({ corpus, postgres, cores: [0, 1] }))
        console.error(`${title}, round ${round}`, { one, two })
      }
      exports.push({ title, one, two })
    }
    const corpus = await makeCorpus('small')
    for (let round = 1; round <= rounds; round += 1)
      begun.push(...(await claimLatencies({ corpus, postgres })))
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
      `PostgreSQL, the API and the clients share the machine; medians of ${rounds} rounds`,
      'each worker stands for a machine with one core: it and its git processes are bound to one core, and it exports one repository at a time. The other processes may use all cores',
      'the pickup time ends when a worker has moved the migration to `exporting`',
      'the first table has the reads on PostgreSQL',
    ],
    tables: [
      {
        head: ['', 'median', 'min – max'],
        rows: [
          ...exports.flatMap(({ title, one, two }) => [
            row(`${title}, one worker on one core, s`, one),
            row(`${title}, two workers on two cores, s`, two),
          ]),
          row('from start to pickup by a worker, ms', begun),
        ],
      },
    ],
    targets: [
      ...exports.map(({ title, one, two }) =>
        atMost(`${title}: time of two workers relative to one`, median(two) / median(one), 0.6),
      ),
      atMost('from start to pickup by a worker', median(begun), 100, 'ms'),
    ],
    plots: [],
  }
}
