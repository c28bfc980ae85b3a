import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createDatabase, startCluster } from '../test/support/postgres.ts'
import type { Recorded } from './bare-server.ts'
import { SERVER } from './cores.ts'
import { askAsCrowd, CONNECTIONS, type CrowdRead, HEADERS, readsOf } from './crowd.ts'
import { seedCrowd } from './crowd-seed.ts'
import { inEmptyDirectory, inTurns, median, spread } from './measure.ts'
import { barPlot } from './plot.ts'
import { startPrism } from './prism.ts'
import { type Server, startServer } from './process.ts'
import { record } from './recorded-answers.ts'
import { atLeast, round, type Section } from './section.ts'
import { startService } from './service.ts'

const BARE_SERVER = new URL('bare-server.ts', import.meta.url).pathname
const SECONDS = 2
const WARM_UP_SECONDS = 3
const RECORDED = 40
const OF_PRISM = 15
const OF_SQLITE = 0.4

const SERVERS = ['limit', 'prism', 'sqlite', 'postgres'] as const
type Rates = Record<(typeof SERVERS)[number], number[]>

/** The reads that clients poll, by a crowd: every one with a token and a migration of their own. */
export async function benchReads({ rounds }: { rounds: number }): Promise<Section> {
  const cluster = await startCluster()
  try {
    const databaseUrl = await createDatabase(cluster.url)
    const rates = new Map<string, Rates>()
    let reads: CrowdRead[] = []
    for (let turn = 1; turn <= rounds; turn++) {
      // Anew each round: what was never asked for is so only once.
      const seeded = turn === 1 ? databaseUrl : await createDatabase(cluster.url)
      reads = await inEmptyDirectory((place) => measureOnce(place, seeded, rates))
      console.error(`round ${turn}`, Object.fromEntries(rates))
    }
    return report(reads, rates, rounds)
  } finally {
    await cluster.stop()
  }
}

async function measureOnce(
  place: string,
  databaseUrl: string,
  rates: Map<string, Rates>,
): Promise<CrowdRead[]> {
  await using sqlite = await startGodwit(join(place, 'sqlite'), undefined)
  await using postgres = await startGodwit(join(place, 'postgres'), databaseUrl)
  const godwits = { sqlite, postgres }
  const reads = sqlite.reads
  for (const [at, read] of reads.entries()) {
    const samples = await Promise.all(
      read.asked
        .slice(0, RECORDED)
        .map(({ path, authorization }) => record(sqlite.url + path, { ...HEADERS, authorization })),
    )
    await using limit = await bareServer(samples)
    await using prism = await startPrism(sqlite.url, read.asked[0]!.path, samples[0]!, place)
    const found = rates.get(read.name) ?? { limit: [], prism: [], sqlite: [], postgres: [] }
    rates.set(read.name, found)
    await inTurns(1, SERVERS, async (server) => {
      found[server].push(await rateOf(server, at))
    })

    async function rateOf(server: keyof Rates, at: number): Promise<number> {
      if (server === 'sqlite' || server === 'postgres') {
        const { url, reads } = godwits[server]
        const { asked, isOnce } = reads[at]!
        if (isOnce) return askAsCrowd({ url, asked: asked.slice(RECORDED) })
        await askAsCrowd({ url, asked, seconds: WARM_UP_SECONDS })
        return askAsCrowd({ url, asked, seconds: SECONDS })
      }
      // It knows neither the preview nor any query.
      const isPrism = server === 'prism'
      const { url } = isPrism ? prism : limit
      const asked = isPrism ? [{ path: '/mocked', authorization: 'Bearer x' }] : read.asked
      const headers = isPrism ? { ...HEADERS, accept: 'application/json' } : HEADERS
      await askAsCrowd({ url, asked, seconds: WARM_UP_SECONDS, headers })
      return askAsCrowd({ url, asked, seconds: SECONDS, headers })
    }
  }
  return reads
}

/** With everything in play that an operator would have in play. */
async function startGodwit(data: string, databaseUrl: string | undefined) {
  await mkdir(join(data, 'repositories'), { recursive: true })
  const crowd = await seedCrowd({ dataDirectory: data, databaseUrl })
  const log = await open(join(data, 'log'), 'w')
  const repositories = join(data, 'repositories')
  const { url, pid, stop } = await startService(
    { repositories, data, login: 'account-0', databaseUrl, under: SERVER, log },
    ...['--rate-limit', '1000000000'],
  )
  return {
    url,
    pid,
    reads: readsOf(crowd),
    async [Symbol.asyncDispose]() {
      await stop()
      await log.close()
    },
  }
}

async function bareServer(answers: readonly Recorded[]): Promise<Server> {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', BARE_SERVER]
  return startServer([...SERVER, ...node], { input: JSON.stringify(answers) })
}

function report(reads: readonly CrowdRead[], rates: Map<string, Rates>, rounds: number): Section {
  const whole = (value: number) => value.toFixed(0)
  const middles = reads.map(({ name, aim }) => {
    const all = rates.get(name)!
    const [limit, prism, sqlite, postgres] = SERVERS.map((server) => median(all[server]))
    return { name, aim, all, limit: limit!, prism: prism!, sqlite: sqlite!, postgres: postgres! }
  })
  const leastOfPrism = Math.min(...middles.map(({ sqlite, prism }) => sqlite / prism))
  return {
    title: 'Reads by a crowd',
    notes: [
      `answers a second to ${CONNECTIONS} clients that never pause, each request with another account’s token and for another migration, in an order that never repeats; medians of ${rounds} rounds of ${SECONDS} s after a warm-up`,
      '40 accounts with 60 repositories each, 2,000 migrations of 10 of these and 2,000 of 30; the last row asks once for each of 460 migrations whose repositories nobody had asked for before',
      'every server on one core, whoever asks on another; PostgreSQL wherever there is room',
      'Godwit with authentication, rate limiting, a line of log for every request, and its database',
      'the limit: a bare `node:http` that sends the very same bytes and headers and does nothing else (`bench/bare-server.ts`)',
      'the peer: `prism mock` of the same operation, from Godwit’s own description with the same body as example',
    ],
    tables: [
      {
        head: [
          '',
          'Prism',
          'limit',
          'SQLite',
          'min – max',
          'of Prism',
          'of the limit',
          'PostgreSQL',
          'of SQLite',
        ],
        rows: middles.map(({ name, all, limit, prism, sqlite, postgres }) => [
          name,
          whole(prism),
          whole(limit),
          whole(sqlite),
          spread(all.sqlite, whole),
          `${round(sqlite / prism)} ×`,
          `${round(sqlite / limit)} ×`,
          whole(postgres),
          `${round(postgres / sqlite)} ×`,
        ]),
      },
    ],
    targets: [
      ...middles.map(({ name, aim, sqlite, limit }) =>
        atLeast(`${name}, of the limit`, sqlite / limit, aim),
      ),
      ...middles.map(({ name, sqlite, postgres }) =>
        atLeast(`${name}, PostgreSQL of SQLite`, postgres / sqlite, OF_SQLITE),
      ),
      atLeast('every read, of Prism', leastOfPrism, OF_PRISM),
    ],
    plots: [
      {
        file: 'reads.svg',
        alt: 'Answers a second: Godwit, a bare server that sends the same bytes, and Prism',
        svg: barPlot({
          title: 'Reads by a crowd: answers a second on one core',
          unit: '/s',
          groups: middles.map(({ name, limit, prism, sqlite, postgres }) => ({
            name,
            bars: [
              { name: 'bare node:http (the limit)', value: limit, series: 1 },
              { name: 'Godwit', value: sqlite, series: 0 },
              { name: 'Godwit, PostgreSQL', value: postgres, series: 3 },
              { name: 'Prism', value: prism, series: 2 },
            ],
          })),
        }),
      },
    ],
  }
}
