import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../test/support/postgres.ts'
import { PREVIEW } from '../test/support/service.ts'
import { OWNER } from './corpus.ts'
import { exportPeak, withBucket, workerPeak } from './export-memory.ts'
import { has, inEmptyDirectory, median, spread } from './measure.ts'
import { forgetPeak, memoryOf } from './process.ts'
import { atMost, round as figure, type Section } from './section.ts'
import { seedDatabase } from './seed.ts'
import { startService } from './service.ts'

const REPOSITORIES = 10_000
const SETTLING_MS = 5000
const IDLE_AIM = 120
const STREAM_AIM = 50
const EXPORT_AIM = 250
const START_AIM = 1

/**
 * Measures the memory of an idle server, the memory that one very large response adds, and the memory of exports; and
 * how long a start takes.
 */
export async function benchMemory({ rounds }: { rounds: number }): Promise<Section> {
  const idle: number[] = []
  const added: number[] = []
  const starts: number[] = []
  let bytes = 0
  // The first start in a fresh checkout compiles TypeScript into a cache, which a server does not do, so it is
  // discarded.
  for (let round = 0; round <= rounds; round += 1) {
    const figures = await measureOnce()
    if (round === 0) continue
    idle.push(figures.idle)
    added.push(figures.peak - figures.idle)
    starts.push(figures.startSeconds)
    bytes = figures.bytes
  }
  const exports = await exportPeaks(rounds)
  const mb = (value: number) => value.toFixed(0)
  return {
    title: 'Memory',
    notes: [
      `resident memory of \`godwit serve\` ${SETTLING_MS / 1000} s after it was ready, and its peak while one client read a status of ${REPOSITORIES} repositories (${mb(bytes / 1e6)} MB of JSON); medians of ${rounds} starts`,
      'exports: the peak memory of `godwit serve` while it exported four repositories of 40 MB, to a directory and to a bucket of radosgw',
      'worker: the peak memory of `godwit work`, with its threads but without its git processes, with PostgreSQL and a bucket, while it exported 60 repositories of all sizes (`lively`) twice, with a push to each between the exports, and twice more after a restart',
      'start: the time from the start of `godwit serve` until `/readyz` answers with 200, the second time on the same data directory',
    ],
    tables: [
      {
        head: ['', 'MB', 'min – max'],
        rows: [
          ['idle', mb(median(idle)), spread(idle, mb)],
          [`added by a status of ${REPOSITORIES}`, mb(median(added)), spread(added, mb)],
          ...exports.map(({ what, peaks }) => [what, mb(median(peaks)), spread(peaks, mb)]),
        ],
      },
      {
        head: ['', 'seconds', 'min – max'],
        rows: [['start', figure(median(starts)), spread(starts, figure)]],
      },
    ],
    targets: [
      atMost('idle', median(idle), IDLE_AIM, 'MB'),
      atMost(`added by a status of ${REPOSITORIES}`, median(added), STREAM_AIM, 'MB'),
      ...exports.map(({ what, peaks }) => atMost(what, median(peaks), EXPORT_AIM, 'MB')),
      atMost('start', median(starts), START_AIM, 's'),
    ],
    plots: [],
  }
}

interface ExportPeaks {
  what: string
  peaks: number[]
}

/** Leaves out the bucket where Ceph is not installed. */
async function exportPeaks(rounds: number): Promise<ExportPeaks[]> {
  const onDisk = {
    what: 'exporting to a directory',
    peaks: await peaksOf(rounds, () => exportPeak()),
  }
  if (!(await has('radosgw'))) return [onDisk]
  const inBucket = await peaksOf(rounds, () => withBucket(exportPeak))
  return [
    onDisk,
    { what: 'exporting to a bucket', peaks: inBucket },
    { what: 'a worker', peaks: await workerPeaks(rounds) },
  ]
}

async function workerPeaks(rounds: number): Promise<number[]> {
  const postgres = await startPostgres()
  try {
    return await peaksOf(rounds, () => withBucket((store) => workerPeak({ postgres, store })))
  } finally {
    await postgres.stop()
  }
}

async function peaksOf(rounds: number, measure: () => Promise<number>): Promise<number[]> {
  // The first start is discarded here too.
  await measure()
  const peaks: number[] = []
  for (let round = 1; round <= rounds; round += 1) peaks.push(await measure())
  return peaks
}

async function measureOnce() {
  return inEmptyDirectory(async (directory) => {
    const data = join(directory, 'data')
    const { token, migrations } = await seedDatabase(data, [REPOSITORIES])
    const repositories = join(directory, 'repositories')
    await mkdir(repositories)
    const first = await startService({ repositories, data, login: OWNER })
    await first.stop()
    const godwit = await startService({ repositories, data, login: OWNER })
    const { startSeconds } = godwit
    try {
      await sleep(SETTLING_MS)
      const idle = await memoryOf(godwit.pid, 'VmRSS')
      await forgetPeak(godwit.pid)
      const url = `${godwit.url}/user/migrations/${migrations.get(REPOSITORIES)}`
      const headers = { accept: PREVIEW, authorization: `bearer ${token}` }
      const response = await fetch(url, { headers })
      let bytes = 0
      for await (const chunk of response.body!) bytes += chunk.length
      return { idle, bytes, startSeconds, peak: await memoryOf(godwit.pid, 'VmHWM') }
    } finally {
      await godwit.stop()
    }
  })
}
