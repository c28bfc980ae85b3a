import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCopies, namesOfCopies } from './copies.ts'
import { OWNER } from './corpus.ts'
import { inEmptyDirectory, median, run, spread } from './measure.ts'
import { cpuOf, memoryOf } from './process.ts'
import { atMost, round as rounded, type Section } from './section.ts'
import { startService } from './service.ts'
import { seedIndex } from './sync-seed.ts'

const REPOSITORIES = 10_000
const FIRST_AIM = 60
const UNCHANGED_AIM = 3
const VERY_MANY = 100_000
const VERY_MANY_AIM = 20
const VERY_MANY_MB_AIM = 300
const ONE_AIM = 1
/** Milliseconds of CPU time for each repository. */
const NEW_EXPORT_AIM = 4
const UNCHANGED_EXPORT_AIM = 0.5
/** A sync reads repositories again that had just changed at the last one, since a second change could have the same timestamp. */
const SETTLING_MS = 3000
const UNCHANGED = ' 0 new or changed'
const GODWIT = new URL('../bin/godwit', import.meta.url).pathname

/**
 * Measures `godwit sync` with very many repositories: all new, none changed, and one after a push to it; and an export of all of them,
 * new and unchanged.
 */
export async function benchSync({ rounds }: { rounds: number }): Promise<Section> {
  const { first, unchanged, exports } = await inEmptyDirectory(async (directory) => {
    const repositories = join(directory, 'repositories')
    await makeCopies(repositories, REPOSITORIES)
    await sleep(SETTLING_MS)
    const [first, unchanged]: [Sync[], Sync[]] = [[], []]
    const exports: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      const data = join(directory, `data-${round}`)
      first.push(await sync(repositories, data))
      unchanged.push(await sync(repositories, data, [], UNCHANGED))
      for (const [at, ms] of (await measureExports(repositories, data)).entries())
        exports[at]!.push(ms)
    }
    return { first, unchanged, exports }
  })
  const { all, one } = await inEmptyDirectory((directory) => syncVeryMany(directory, rounds))
  const rows: [string, Sync[]][] = [
    [`${REPOSITORIES} repositories, all are new`, first],
    [`${REPOSITORIES} repositories, none has changed`, unchanged],
    [`${VERY_MANY} repositories, none has changed`, all],
    [`one of ${VERY_MANY}, after a push to it`, one],
  ]
  const shown = (seconds: number) => seconds.toFixed(1)
  const secondsOf = (syncs: readonly Sync[]) => syncs.map(({ seconds }) => seconds)
  const peak = (syncs: readonly Sync[]) => Math.max(...syncs.map(({ peakMemory }) => peakMemory))
  const target = (at: number, aim: number) =>
    atMost(rows[at]![0], median(secondsOf(rows[at]![1])), aim, 's')
  return {
    title: 'Synchronizing the repository index',
    notes: [
      `seconds of \`godwit sync\`, including the start of the process, with repositories of 8 commits and 3 files each, on SQLite; medians of ${rounds} runs`,
      `the repository index of ${VERY_MANY} repositories is filled without a first sync of them; *one* is \`godwit sync OWNER/NAME\``,
      `milliseconds of CPU time of \`godwit serve\` and its git processes for each repository of one migration of all ${REPOSITORIES} of them, from the request that starts it until it is exported`,
    ],
    tables: [
      {
        head: ['', 'seconds', 'min – max', 'peak MB'],
        rows: rows.map(([what, syncs]) => {
          const seconds = secondsOf(syncs)
          return [what, shown(median(seconds)), spread(seconds, shown), peak(syncs).toFixed(0)]
        }),
      },
      {
        head: ['export', 'ms of CPU each', 'min – max'],
        rows: [
          ['all are new', rounded(median(exports[0])), spread(exports[0], rounded)],
          ['none has changed', rounded(median(exports[1])), spread(exports[1], rounded)],
        ],
      },
    ],
    targets: [
      target(0, FIRST_AIM),
      target(1, UNCHANGED_AIM),
      target(2, VERY_MANY_AIM),
      atMost(`memory, ${rows[2]![0]}`, peak(all), VERY_MANY_MB_AIM, 'MB'),
      target(3, ONE_AIM),
      atMost(`CPU of each new of ${REPOSITORIES}`, median(exports[0]), NEW_EXPORT_AIM, 'ms'),
      atMost(
        `CPU of each unchanged of ${REPOSITORIES}`,
        median(exports[1]),
        UNCHANGED_EXPORT_AIM,
        'ms',
      ),
    ],
    plots: [],
  }
}

interface Sync {
  seconds: number
  /** In MB. */
  peakMemory: number
}

async function syncVeryMany(directory: string, rounds: number) {
  const [repositories, data] = [join(directory, 'repositories'), join(directory, 'data')]
  await makeCopies(repositories, VERY_MANY)
  await sleep(SETTLING_MS)
  await mkdir(data)
  await seedIndex(data, repositories)
  const [all, one]: [Sync[], Sync[]] = [[], []]
  for (let round = 0; round < rounds; round += 1)
    all.push(await sync(repositories, data, [], UNCHANGED))
  for (let round = 0; round < rounds; round += 1) {
    const name = `copy-${round}`
    const dir = join(repositories, OWNER, `${name}.git`)
    await run('git', ['-C', dir, 'push', '--quiet', '.', 'HEAD:refs/heads/pushed'])
    one.push(await sync(repositories, data, [`${OWNER}/${name}`, '--json'], '"changed": 1'))
  }
  return { all, one }
}

const MEMORY_POLL_MS = 20

async function sync(
  repositories: string,
  data: string,
  args: readonly string[] = [],
  expected = 'repositories',
): Promise<Sync> {
  const startedAt = performance.now()
  const all = ['sync', ...args, '--repositories', repositories, '--data', data]
  const child = spawn(GODWIT, all, { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  const closed = once(child, 'close')
  let peakMemory = 0
  while (child.exitCode === null && child.signalCode === null) {
    // Fails once the process has exited.
    peakMemory = await memoryOf(child.pid!, 'VmHWM').catch(() => peakMemory)
    await Promise.race([closed, sleep(MEMORY_POLL_MS)])
  }
  await closed
  const seconds = (performance.now() - startedAt) / 1000
  if (child.exitCode !== 0 || !printed.includes(expected)) throw new Error(`sync: ${printed}`)
  return { seconds, peakMemory }
}

/** Exports all repositories twice. Returns the milliseconds of CPU time for each repository: first new, then unchanged. */
async function measureExports(repositories: string, data: string): Promise<number[]> {
  const service = await startService({ repositories, data, login: OWNER })
  try {
    const names = namesOfCopies(REPOSITORIES).map((name) => `${OWNER}/${name}`)
    const figures: number[] = []
    for (const _ of ['new', 'unchanged']) {
      const before = await cpuOf(service.pid, { withChildren: true })
      await service.untilExported(await service.start(names))
      const seconds = (await cpuOf(service.pid, { withChildren: true })) - before
      figures.push((seconds * 1000) / REPOSITORIES)
    }
    return figures
  } finally {
    await service.stop()
  }
}
