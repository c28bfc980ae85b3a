import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { ensureAccount } from '../src/accounts/account-store.ts'
import { addToken } from '../src/accounts/token-store.ts'
import { connect } from '../src/db/connect.ts'
import type { Db } from '../src/db/database.ts'
import { statementBatches } from '../src/db/statement-batches.ts'
import { createDatabase, startCluster } from '../test/support/postgres.ts'
import { PREVIEW } from '../test/support/service.ts'
import { makeCopies, namesOfCopies } from './copies.ts'
import { OWNER } from './corpus.ts'
import type { GreedyOrder } from './greedy-client.ts'
import { inEmptyDirectory, median } from './measure.ts'
import { forgetPeak, memoryOf } from './process.ts'
import { atMost, round, type Section } from './section.ts'
import { seedDatabase } from './seed.ts'
import { type RunningService, startService } from './service.ts'

const REPOSITORIES = 10_000
const OTHERS = 19
const PAUSE_MS = 20
/** A greedy client may go on for longer than anyone wants to watch. */
const MAX_SECONDS = 10
const LEAST_SECONDS = 3
const AIM_MS = 250
/** A small answer needs two or three turns. */
const AIM_HELD_MS = 80

interface Greed {
  name: string
  requests: string[]
  closeAfterMs?: number
}

interface Seeded {
  greedy: string
  others: string[]
  migration: number
}

interface Waits {
  name: string
  waits: number[]
  /** The longest time for which the thread was held, in CPU time. */
  held: number
  memory: number
}

/** How long nineteen accounts wait for a small answer while another asks for as much as it can. */
export async function benchGreedy(): Promise<Section> {
  const cluster = await startCluster()
  try {
    const sqlite = await inEmptyDirectory((place) => measure(place, undefined))
    const databaseUrl = await createDatabase(cluster.url)
    const postgres = await inEmptyDirectory((place) => measure(place, databaseUrl))
    return report(sqlite, postgres)
  } finally {
    await cluster.stop()
  }
}

function report(sqlite: readonly Waits[], postgres: readonly Waits[]): Section {
  const ms = (value: number) => value.toFixed(0)
  const figures = ({ waits, held, memory }: Waits) => [
    round(median(waits)),
    ms(Math.max(...waits)),
    ms(held),
    ms(memory),
  ]
  const engines = { SQLite: sqlite, PostgreSQL: postgres }
  return {
    title: 'Beside a greedy client',
    notes: [
      `${OTHERS} accounts ask for \`GET /user\`, each again ${PAUSE_MS} ms after its last answer, while another account sends what is named, all at once, each on a connection of its own`,
      `the greedy account has ${REPOSITORIES} repositories and an ended migration of all of them; whoever asks runs on the same machine`,
      'the median and the longest wait of all; *held*: the longest CPU time that the thread of `godwit serve` was held without a turn for others, which a busy machine changes less; the most memory that it had, in MB',
    ],
    tables: [
      {
        head: [
          'what the greedy one sends',
          ...Object.keys(engines).flatMap((engine) => [
            `${engine}: median ms`,
            'longest ms',
            'held ms',
            'memory',
          ]),
        ],
        rows: sqlite.map((each, at) => [each.name, ...figures(each), ...figures(postgres[at]!)]),
      },
    ],
    targets: Object.entries(engines).flatMap(([engine, all]) => {
      const waited = Math.max(...all.flatMap(({ waits }) => waits))
      const held = Math.max(...all.map((each) => each.held))
      return [
        atMost(`longest wait, ${engine}`, waited, AIM_MS, 'ms'),
        atMost(`held, ${engine}`, held, AIM_HELD_MS, 'ms'),
      ]
    }),
    plots: [],
  }
}

async function measure(place: string, databaseUrl: string | undefined): Promise<Waits[]> {
  const repositories = join(place, 'repositories')
  await makeCopies(repositories, REPOSITORIES)
  const data = join(place, 'data')
  const seeded = await seed({ dataDirectory: data, databaseUrl })
  const holds = join(place, 'holds')
  await writeFile(holds, '')
  process.env.BENCH_THREAD_HOLDS = holds
  process.env.NODE_OPTIONS = `--import=${new URL('thread-holds.ts', import.meta.url)}`
  const godwit = await startService(
    { repositories, data, login: OWNER, databaseUrl },
    ...['--rate-limit', '0'],
  )
  delete process.env.NODE_OPTIONS
  await warmUp(godwit, seeded.greedy)
  try {
    const measured: Waits[] = []
    for (const greed of greeds(seeded)) {
      await writeFile(holds, '')
      const waits = await waitsBeside(godwit, seeded.others, greed)
      const held = longestHold(await readFile(holds, 'utf8'))
      console.error(
        `${greed.name}: ${median(waits).toFixed(1)}, ${Math.max(...waits).toFixed(0)} ms; held ${held.toFixed(0)} ms`,
      )
      measured.push({ name: greed.name, waits, held, memory: await memoryOf(godwit.pid, 'VmHWM') })
    }
    return measured
  } finally {
    await godwit.stop()
  }
}

/** The first body of a kind takes a tenth of a second: what checks it is loaded then. */
async function warmUp({ url }: RunningService, token: string): Promise<void> {
  const body = JSON.stringify({ repositories: namesOfCopies(1) })
  const headers = { accept: PREVIEW, authorization: `bearer ${token}` }
  await fetch(`${url}/user/migrations/preflight`, { method: 'POST', headers, body })
}

const longestHold = (lines: string): number =>
  Math.max(0, ...Array.from(lines.matchAll(/^\d+ (.*)$/gm), ([, held]) => Number(held)))

function greeds({ greedy, migration }: Seeded): Greed[] {
  const usual = `host: x\r\nuser-agent: bench\r\naccept: ${PREVIEW}\r\nauthorization: bearer ${greedy}\r\n`
  const read = (path: string, headers = usual) =>
    `GET /user/migrations/${migration}${path} HTTP/1.1\r\n${headers}connection: close\r\n\r\n`
  const post = (path: string, body: string, length = body.length) =>
    `POST ${path} HTTP/1.1\r\n${usual}content-length: ${length}\r\n\r\n${body}`
  const all = JSON.stringify({ repositories: namesOfCopies(REPOSITORIES) })
  const stream = usual.replace(PREVIEW, 'text/event-stream')
  const times = (count: number, name: string, request: string, closeAfterMs?: number): Greed => ({
    name: count === 0 ? name : `${count} ${name}`,
    requests: Array<string>(count).fill(request),
    ...(closeAfterMs !== undefined && { closeAfterMs }),
  })
  return [
    times(0, 'nothing', ''),
    times(50, 'statuses', read('')),
    times(50, 'progresses', read('/progress')),
    times(60, 'event streams', read('/progress', stream)),
    times(20, 'reports', read('/report')),
    times(40, 'preflights, closed after 50 ms', post('/user/migrations/preflight', all), 50),
    times(1005, 'half-sent requests', post('/user/migrations', '{', 100), LEAST_SECONDS * 1000),
  ]
}

async function waitsBeside(
  { url, pid }: RunningService,
  others: readonly string[],
  { requests, closeAfterMs }: Greed,
): Promise<number[]> {
  await forgetPeak(pid)
  const order: GreedyOrder = { url, requests, ...(closeAfterMs !== undefined && { closeAfterMs }) }
  const worker = new Worker(new URL('greedy-client.ts', import.meta.url), { workerData: order })
  const began = performance.now()
  let isOver = false
  const greed = once(worker, 'exit').then(() => sleep(LEAST_SECONDS * 1000))
  const atMost = sleep(MAX_SECONDS * 1000, undefined, { ref: false })
  const over = Promise.race([greed, atMost]).then(() => {
    isOver = true
  })
  const waits: number[] = []
  await Promise.all(
    others.map(async (token) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      while (!isOver) {
        waits.push(await wait(url, token, agent))
        await sleep(PAUSE_MS)
      }
      agent.destroy()
    }),
  )
  await over
  await worker.terminate()
  console.error(`  ${((performance.now() - began) / 1000).toFixed(1)} s, ${waits.length} answers`)
  return waits
}

function wait(url: string, token: string, agent: Agent): Promise<number> {
  const headers = { authorization: `bearer ${token}`, 'user-agent': 'bench' }
  const began = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  get(`${url}/user`, { agent, headers }, (answer) => {
    if (answer.statusCode !== 200) reject(new Error(`GET /user was answered ${answer.statusCode}`))
    answer.resume().once('end', () => resolve(performance.now() - began))
  }).once('error', reject)
  return promise
}

async function seed(at: {
  dataDirectory: string
  databaseUrl: string | undefined
}): Promise<Seeded> {
  const { token, migrations } = await seedDatabase(at.dataDirectory, [REPOSITORIES], at.databaseUrl)
  const migration = migrations.get(REPOSITORIES)!
  const { db, close } = await connect(at)
  try {
    return await db.transaction().execute(async (tx) => {
      await endAll(tx, migration)
      const now = Date.now()
      const others: string[] = []
      for (let n = 0; n < OTHERS; n++) {
        const account = await ensureAccount(tx, `account-${n}`, now)
        others.push(await addToken(tx, account, { name: 'bench', expiresAt: null, now }))
      }
      return { greedy: token, others, migration }
    })
  } finally {
    await close()
  }
}

/** As if every repository had been exported. */
async function endAll(tx: Db, migration: number): Promise<void> {
  const now = Date.now()
  const rows = Array.from({ length: REPOSITORIES }, (_, position) => ({
    ...{
      migration_id: migration,
      position,
      outcome: 'exported',
      segment_key: `segment-${position}`,
    },
    ...{ reason: null, warning: null, fingerprint: null, reused: 0 },
    ...{ started_at: now, finished_at: now, finished_order: position + 1 },
    ...{ bytes_expected: 1000, bytes_done: 1000 },
  }))
  for (const some of statementBatches(rows))
    await tx.insertInto('repository_exports').values(some).execute()
  const ended = { started_at: now, ended_at: now }
  await tx.updateTable('migrations').set(ended).where('id', '=', migration).execute()
}
