import { join } from 'node:path'
import { makeCopies } from './copies.ts'
import { inEmptyDirectory, median, run, spread } from './measure.ts'
import { atMost, type Section } from './section.ts'

const REPOSITORIES = 10_000
const FIRST_AIM = 60
const UNCHANGED_AIM = 3
const GODWIT = new URL('../bin/godwit', import.meta.url).pathname

/** Measures how long `godwit sync` takes with very many repositories: all new, and none changed. */
export async function benchSync({ rounds }: { rounds: number }): Promise<Section> {
  const [first, unchanged] = await inEmptyDirectory(async (directory) => {
    const repositories = join(directory, 'repositories')
    await makeCopies(repositories, REPOSITORIES)
    const figures: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      const data = join(directory, `data-${round}`)
      for (const seconds of figures) seconds.push(await timeSync(repositories, data))
    }
    return figures
  })
  const shown = (seconds: number) => seconds.toFixed(1)
  return {
    title: 'Synchronizing the catalogue',
    notes: [
      `seconds of \`godwit sync\`, including the start of the process, with ${REPOSITORIES} repositories of 8 commits and 3 files each, on SQLite; medians of ${rounds} runs`,
    ],
    tables: [
      {
        head: ['', 'seconds', 'min – max'],
        rows: [
          ['all are new', shown(median(first)), spread(first, shown)],
          ['none has changed', shown(median(unchanged)), spread(unchanged, shown)],
        ],
      },
    ],
    targets: [
      atMost('all are new', median(first), FIRST_AIM, 's'),
      atMost('none has changed', median(unchanged), UNCHANGED_AIM, 's'),
    ],
    plots: [],
  }
}

async function timeSync(repositories: string, data: string): Promise<number> {
  const startedAt = performance.now()
  await run(GODWIT, ['sync', '--repositories', repositories, '--data', data])
  return (performance.now() - startedAt) / 1000
}
