import { join } from 'node:path'
import { mapConcurrent } from '../packages/lib/src/turns.ts'
import { createDatabase, startPostgres } from '../test/support/postgres.ts'
import { makeCopies, namesOfCopies } from './copies.ts'
import { inEmptyDirectory, inTurns, median, spread } from './measure.ts'
import { cpuOf } from './process.ts'
import { atLeast, round, type Section } from './section.ts'
import { startService } from './service.ts'
import { writeBare } from './starts-bare.ts'
import { seedAccounts } from './starts-seed.ts'

const ACCOUNTS = 8
const REPOSITORIES = 30
const STARTS = 160
const CLIENTS = 8
const AIM = 60
const WHERE = ['sqlite', 'postgres'] as const
const NAMES = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

interface Figures {
  starts: number[]
  /** CPU seconds per start without those of PostgreSQL; includes exports that run at the same time. */
  cpu: number[]
  exported: number[]
  bare: number[]
}

/** Measures how fast migrations of unchanged repositories can be started. */
export async function benchStarts({ rounds }: { rounds: number }): Promise<Section> {
  const none = (): Figures => ({ starts: [], cpu: [], exported: [], bare: [] })
  const figures = { sqlite: none(), postgres: none() }
  const cluster = await startPostgres()
  try {
    await inEmptyDirectory(async (directory) => {
      const repositories = join(directory, 'repositories')
      const owners = Array.from({ length: ACCOUNTS }, (_, at) => `account-${at}`)
      for (const owner of owners) await makeCopies(repositories, REPOSITORIES, owner)
      await inTurns(rounds, WHERE, async (engine, turn) => {
        const isPostgres = engine === 'postgres'
        const databaseUrl = isPostgres ? await createDatabase(cluster.url) : undefined
        const data = join(directory, `${engine}-${turn}`)
        await measure({ repositories, data, databaseUrl, owners }, figures[engine])
        const bareUrl = isPostgres ? await createDatabase(cluster.url) : undefined
        const order = { data: join(directory, `bare-${turn}`), databaseUrl: bareUrl, owners }
        const load = { starts: STARTS, clients: CLIENTS, repositories: REPOSITORIES }
        figures[engine].bare.push(await writeBare(order, load))
        console.error(engine, figures[engine])
      })
    })
  } finally {
    await cluster.stop()
  }
  return report(figures, rounds)
}

interface Scene {
  repositories: string
  data: string
  databaseUrl: string | undefined
  owners: readonly string[]
}

async function measure(scene: Scene, { starts, cpu, exported }: Figures): Promise<void> {
  const { repositories, data, databaseUrl, owners } = scene
  const tokens = await seedAccounts({ dataDirectory: data, databaseUrl }, owners)
  const { url, pid, stop } = await startService(
    { repositories, data, login: owners[0]!, databaseUrl },
    ...['--rate-limit', '0', '--max-unfinished-migrations', '10000'],
  )
  const call = async (token: string, path: string, body?: object) => {
    const method = body ? 'POST' : 'GET'
    const headers = { authorization: `bearer ${token}`, accept: PREVIEW }
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(url + path, sent)
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as { id: number; state: string }
  }
  const names = namesOfCopies(REPOSITORIES)
  const start = (token: string) => call(token, '/user/migrations', { repositories: names })
  const untilExported = async (token: string, id: number) => {
    for (;;) {
      const { state } = await call(token, `/user/migrations/${id}?exclude=repositories`)
      if (state === 'exported') return
      if (state === 'failed') throw new Error(`migration ${id} failed`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  try {
    for (const token of tokens) await untilExported(token, (await start(token)).id)
    const begun: { token: string; id: number }[] = []
    const before = await cpuOf(pid)
    const startedAt = performance.now()
    await mapConcurrent(Array(STARTS).keys(), { concurrency: CLIENTS }, async (at) => {
      const token = tokens[at % tokens.length]!
      begun.push({ token, id: (await start(token)).id })
    })
    starts.push((STARTS * 1000) / (performance.now() - startedAt))
    cpu.push(((await cpuOf(pid)) - before) / STARTS)
    for (const { token, id } of begun) await untilExported(token, id)
    exported.push((STARTS * 1000) / (performance.now() - startedAt))
  } finally {
    await stop()
  }
}

const PREVIEW = 'application/vnd.github.wyandotte-preview+json'

function report(figures: Record<(typeof WHERE)[number], Figures>, rounds: number): Section {
  const rows = WHERE.map((engine) => {
    const { starts, cpu, exported, bare } = figures[engine]
    return [
      NAMES[engine],
      round(median(starts)),
      spread(starts, round),
      round(median(cpu) * 1000),
      round(median(exported)),
      round(median(bare)),
      `${round(median(starts) / median(bare))} ×`,
    ]
  })
  return {
    title: 'Starts',
    notes: [
      `migrations of ${REPOSITORIES} repositories each that were exported before, started ${STARTS} times by ${CLIENTS} clients with the tokens of ${ACCOUNTS} accounts; medians of ${rounds} rounds`,
      'the same process runs the exports; *exported a second* counts until the last migration is exported; *ms CPU* is the CPU time of the process per start',
      '*limit*: the database driver writes the rows of a start, in one transaction each, and does nothing else (`bench/starts-bare.ts`)',
      'about a dozen file system calls per repository are part of the cost, so that no migration starts with metadata from before the last push; writing the rows is a small part',
    ],
    tables: [
      {
        head: [
          '',
          'starts a second',
          'min – max',
          'ms CPU',
          'exported a second',
          'limit',
          'of the limit',
        ],
        rows,
      },
    ],
    targets: WHERE.map((engine) =>
      atLeast(`starts, ${NAMES[engine]}`, median(figures[engine].starts), AIM, 'a second'),
    ),
    plots: [],
  }
}
