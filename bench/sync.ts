import { join } from 'node:path'
import { makeCopies, namesOfCopies } from './copies.ts'
import { OWNER } from './corpus.ts'
import { inEmptyDirectory, median, run, spread } from './measure.ts'
import { cpuOf } from './process.ts'
import { atMost, round, type Section } from './section.ts'
import { startService } from './service.ts'

const REPOSITORIES = 10_000
const FIRST_AIM = 60
const UNCHANGED_AIM = 3
/** Milliseconds of CPU time for each repository. */
const NEW_EXPORT_AIM = 4
const UNCHANGED_EXPORT_AIM = 0.5
const GODWIT = new URL('../bin/godwit', import.meta.url).pathname

/** Measures `godwit sync` and an export with very many repositories: all new, and none changed. */
export async function benchSync({ rounds }: { rounds: number }): Promise<Section> {
  const { first, unchanged, exports } = await inEmptyDirectory(async (directory) => {
    const repositories = join(directory, 'repositories')
    await makeCopies(repositories, REPOSITORIES)
    const [first, unchanged]: [number[], number[]] = [[], []]
    const exports: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      const data = join(directory, `data-${round}`)
      for (const seconds of [first, unchanged]) seconds.push(await timeSync(repositories, data))
      for (const [at, ms] of (await measureExports(repositories, data)).entries())
        exports[at]!.push(ms)
    }
    return { first, unchanged, exports }
  })
  const shown = (seconds: number) => seconds.toFixed(1)
  return {
    title: 'Synchronizing the catalogue',
    notes: [
      `seconds of \`godwit sync\`, including the start of the process, with ${REPOSITORIES} repositories of 8 commits and 3 files each, on SQLite; medians of ${rounds} runs`,
      `milliseconds of CPU time of \`godwit serve\` and its git processes for each repository of one migration of all of them, from the answer to its start until it is exported`,
    ],
    tables: [
      {
        head: ['', 'seconds', 'min – max'],
        rows: [
          ['all are new', shown(median(first)), spread(first, shown)],
          ['none has changed', shown(median(unchanged)), spread(unchanged, shown)],
        ],
      },
      {
        head: ['export', 'ms of CPU each', 'min – max'],
        rows: [
          ['all are new', round(median(exports[0])), spread(exports[0], round)],
          ['none has changed', round(median(exports[1])), spread(exports[1], round)],
        ],
      },
    ],
    targets: [
      atMost('all are new', median(first), FIRST_AIM, 's'),
      atMost('none has changed', median(unchanged), UNCHANGED_AIM, 's'),
      atMost(
        'ms of CPU for each new repository of 10,000',
        median(exports[0]),
        NEW_EXPORT_AIM,
        'ms',
      ),
      atMost(
        'ms of CPU for each unchanged repository of 10,000',
        median(exports[1]),
        UNCHANGED_EXPORT_AIM,
        'ms',
      ),
    ],
    plots: [],
  }
}

async function timeSync(repositories: string, data: string): Promise<number> {
  const startedAt = performance.now()
  await run(GODWIT, ['sync', '--repositories', repositories, '--data', data])
  return (performance.now() - startedAt) / 1000
}

/** Exports all repositories twice. Returns the milliseconds of CPU time for each repository: first new, then unchanged. */
async function measureExports(repositories: string, data: string): Promise<number[]> {
  const service = await startService({ repositories, data, login: OWNER })
  try {
    const names = namesOfCopies(REPOSITORIES).map((name) => `${OWNER}/${name}`)
    const figures: number[] = []
    for (const _ of ['new', 'unchanged']) {
      const id = await service.start(names)
      const before = await cpuOf(service.pid, { withChildren: true })
      await service.untilExported(id)
      const seconds = (await cpuOf(service.pid, { withChildren: true })) - before
      figures.push((seconds * 1000) / REPOSITORIES)
    }
    return figures
  } finally {
    await service.stop()
  }
}
