import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { ensureAccount } from '../packages/server/src/accounts/account-store.ts'
import { addToken } from '../packages/server/src/accounts/token-store.ts'
import { connect } from '../packages/server/src/db/connect.ts'
import { type Db, statementBatches } from '../packages/server/src/db/database.ts'
import { createDatabase, startPostgres } from '../test/support/postgres.ts'
import { PREVIEW } from '../test/support/service.ts'
import { makeCopies, namesOfCopies } from './copies.ts'
import { OWNER } from './corpus.ts'
import type { GreedyRequests } from './greedy-client.ts'
import { inEmptyDirectory, median } from './measure.ts'
import { forgetPeak, memoryOf } from './process.ts'
import { atMost, round, type Section } from './section.ts'
import { seedDatabase } from './seed.ts'
import { type RunningService, startService } from './service.ts'

const REPOSITORIES = 10_000
const HALF_SENT = 1005
const OTHERS = 19
const PAUSE_MS = 20
/** Each load is measured for between MIN_SECONDS and MAX_SECONDS. */
const MAX_SECONDS = 10
const MIN_SECONDS = 3
const MAX_WAIT_MS = 250
/** A small response needs two or three iterations of the event loop. */
const MAX_HELD_MS = 80

interface Load {
  name: string
  requests: string[]
  closeAfterMs?: number
  /** Whether the target of the longest wait applies to this load. */
  hasWaitTarget: boolean
}

interface Seeded {
  greedy: string
  others: string[]
  migration: number
}

interface Measurement {
  load: Load
  /** The response times of the other accounts, in milliseconds. */
  waits: number[]
  /** The longest CPU time, in milliseconds, that the event loop was blocked. */
  held: number
  /** Peak resident memory of the server in MB. */
  memory: number
}

/** Measures how long nineteen accounts wait for a small response while another account sends many large requests. */
export async function benchGreedy(): Promise<Section> {
  const cluster = await startPostgres()
  try {
    const sqlite = await inEmptyDirectory((directory) => measure(directory, undefined))
    const databaseUrl = await createDatabase(cluster.url)
    const postgres = await inEmptyDirectory((directory) => measure(directory, databaseUrl))
    return report(sqlite, postgres)
  } finally {
    await cluster.stop()
  }
}

function report(sqlite: readonly Measurement[], postgres: readonly Measurement[]): Section {
  const ms = (value: number) => value.toFixed(0)
  const figures = ({ waits, held, memory }: Measurement) => [
    round(median(waits)),
    ms(Math.max(...waits)),
    ms(held),
    ms(memory),
  ]
  const engines = { SQLite: sqlite, PostgreSQL: postgres }
  return {
    title: 'Beside a greedy client',
    notes: [
      `${OTHERS} accounts send \`GET /user\`, each again ${PAUSE_MS} ms after its last response, while another account sends the requests of the first column, all at once, each on its own connection`,
      `the greedy account has ${REPOSITORIES} repositories and a finished migration of all of them; the clients run on the same machine as the server`,
      'median and longest response time of the other accounts; *held*: the longest CPU time that one iteration of the event loop of `godwit serve` took, which depends less on how busy the machine is; peak memory of the server in MB',
      `the target of the longest wait covers the large responses: statuses, progresses, event streams, reports and preflights. The ${HALF_SENT} half-sent requests open ${HALF_SENT} connections at once: their longest wait is shown, but only the *held* target applies to them`,
    ],
    tables: [
      {
        head: [
          'requests of the greedy account',
          ...Object.keys(engines).flatMap((engine) => [
            `${engine}: median ms`,
            'longest ms',
            'held ms',
            'memory',
          ]),
        ],
        rows: sqlite.map((each, at) => [
          each.load.name,
          ...figures(each),
          ...figures(postgres[at]!),
        ]),
      },
    ],
    targets: Object.entries(engines).flatMap(([engine, all]) => {
      const large = all.filter(({ load }) => load.hasWaitTarget)
      const waited = Math.max(...large.flatMap(({ waits }) => waits))
      const held = Math.max(...all.map((each) => each.held))
      return [
        atMost(`longest wait for large responses, ${engine}`, waited, MAX_WAIT_MS, 'ms'),
        atMost(`held, ${engine}`, held, MAX_HELD_MS, 'ms'),
      ]
    }),
    plots: [],
  }
}

async function measure(directory: string, databaseUrl: string | undefined): Promise<Measurement[]> {
  const repositories = join(directory, 'repositories')
  await makeCopies(repositories, REPOSITORIES)
  const data = join(directory, 'data')
  const seeded = await seed({ dataDirectory: data, databaseUrl })
  const holds = join(directory, 'holds')
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
    const measured: Measurement[] = []
    for (const load of loads(seeded)) {
      await writeFile(holds, '')
      const waits = await waitsDuring(load, godwit, seeded.others)
      const held = longestHold(await readFile(holds, 'utf8'))
      console.error(
        `${load.name}: ${median(waits).toFixed(1)}, ${Math.max(...waits).toFixed(0)} ms; held ${held.toFixed(0)} ms`,
      )
      measured.push({ load, waits, held, memory: await memoryOf(godwit.pid, 'VmHWM') })
    }
    return measured
  } finally {
    await godwit.stop()
  }
}

/** The first request body takes 100 ms, because its validator is compiled then. */
async function warmUp({ url }: RunningService, token: string): Promise<void> {
  const body = JSON.stringify({ repositories: namesOfCopies(1) })
  const headers = { accept: PREVIEW, authorization: `bearer ${token}` }
  await fetch(`${url}/user/migrations/preflight`, { method: 'POST', headers, body })
}

const longestHold = (lines: string): number =>
  Math.max(0, ...Array.from(lines.matchAll(/^\d+ (.*)$/gm), ([, held]) => Number(held)))

function loads({ greedy, migration }: Seeded): Load[] {
  const usual = `host: x\r\nuser-agent: bench\r\naccept: ${PREVIEW}\r\nauthorization: bearer ${greedy}\r\n`
  const read = (path: string, headers = usual) =>
    `GET /user/migrations/${migration}${path} HTTP/1.1\r\n${headers}connection: close\r\n\r\n`
  const post = (path: string, body: string, length = body.length) =>
    `POST ${path} HTTP/1.1\r\n${usual}content-length: ${length}\r\n\r\n${body}`
  const all = JSON.stringify({ repositories: namesOfCopies(REPOSITORIES) })
  const stream = usual.replace(PREVIEW, 'text/event-stream')
  const large = (count: number, name: string, request: string): Load => ({
    name: `${count} ${name}`,
    requests: Array<string>(count).fill(request),
    hasWaitTarget: true,
  })
  return [
    { name: 'nothing', requests: [], hasWaitTarget: false },
    large(50, 'statuses', read('')),
    large(50, 'progresses', read('/progress')),
    large(60, 'event streams', read('/progress', stream)),
    large(20, 'reports', read('/report')),
    {
      ...large(40, 'preflights, closed after 50 ms', post('/user/migrations/preflight', all)),
      closeAfterMs: 50,
    },
    {
      name: `${HALF_SENT} half-sent requests`,
      requests: Array<string>(HALF_SENT).fill(post('/user/migrations', '{', 100)),
      closeAfterMs: MIN_SECONDS * 1000,
      hasWaitTarget: false,
    },
  ]
}

/** Measures the response times of the other accounts while a worker thread sends the load. */
async function waitsDuring(
  { requests, closeAfterMs }: Load,
  { url, pid }: RunningService,
  others: readonly string[],
): Promise<number[]> {
  await forgetPeak(pid)
  const workerData: GreedyRequests = {
    url,
    requests,
    ...(closeAfterMs !== undefined && { closeAfterMs }),
  }
  const worker = new Worker(new URL('greedy-client.ts', import.meta.url), { workerData })
  const began = performance.now()
  let isOver = false
  const allSent = once(worker, 'exit').then(() => sleep(MIN_SECONDS * 1000))
  const timeout = sleep(MAX_SECONDS * 1000, undefined, { ref: false })
  const over = Promise.race([allSent, timeout]).then(() => {
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
  console.error(`  ${((performance.now() - began) / 1000).toFixed(1)} s, ${waits.length} responses`)
  return waits
}

function wait(url: string, token: string, agent: Agent): Promise<number> {
  const headers = { authorization: `bearer ${token}`, 'user-agent': 'bench' }
  const began = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  get(`${url}/user`, { agent, headers }, (response) => {
    if (response.statusCode !== 200) reject(new Error(`GET /user: ${response.statusCode}`))
    response.resume().once('end', () => resolve(performance.now() - began))
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

/** Marks every repository of the migration as exported. */
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
