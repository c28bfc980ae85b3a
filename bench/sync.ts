import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCopies } from './copies.ts'
import { OWNER } from './corpus.ts'
import { inEmptyDirectory, median, run, spread } from './measure.ts'
import { memoryOf } from './process.ts'
import { atMost, type Section } from './section.ts'
import { seedCatalogue } from './sync-seed.ts'

const REPOSITORIES = 10_000
const FIRST_AIM = 60
const UNCHANGED_AIM = 3
const VERY_MANY = 100_000
const VERY_MANY_AIM = 20
const VERY_MANY_MB_AIM = 300
const ONE_AIM = 1
const GODWIT = new URL('../bin/godwit', import.meta.url).pathname

/** Measures how long `godwit sync` takes with very many repositories: all new, none changed, and one after a push to it. */
export async function benchSync({ rounds }: { rounds: number }): Promise<Section> {
  const [first, unchanged] = await inEmptyDirectory(async (directory) => {
    const repositories = join(directory, 'repositories')
    await makeCopies(repositories, REPOSITORIES)
    const figures: [Sync[], Sync[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      const data = join(directory, `data-${round}`)
      for (const syncs of figures) syncs.push(await sync(repositories, data))
    }
    return figures
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
    title: 'Synchronizing the catalogue',
    notes: [
      `seconds of \`godwit sync\`, including the start of the process, with repositories of 8 commits and 3 files each, on SQLite; medians of ${rounds} runs`,
      `the catalogue of ${VERY_MANY} repositories is filled without a first sync of them; *one* is \`godwit sync OWNER/NAME\``,
    ],
    tables: [
      {
        head: ['', 'seconds', 'min – max', 'peak MB'],
        rows: rows.map(([what, syncs]) => {
          const seconds = secondsOf(syncs)
          return [what, shown(median(seconds)), spread(seconds, shown), peak(syncs).toFixed(0)]
        }),
      },
    ],
    targets: [
      target(0, FIRST_AIM),
      target(1, UNCHANGED_AIM),
      target(2, VERY_MANY_AIM),
      atMost(`memory, ${rows[2]![0]}`, peak(all), VERY_MANY_MB_AIM, 'MB'),
      target(3, ONE_AIM),
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
  await mkdir(data)
  await seedCatalogue(data, repositories)
  const [all, one]: [Sync[], Sync[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    all.push(await sync(repositories, data))
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
