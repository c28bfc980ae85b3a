import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createDatabase, startPostgres } from '../test/support/postgres.ts'
import type { Recorded } from './bare-server.ts'
import { SERVER } from './cores.ts'
import {
  type CrowdRead,
  type CrowdRequests,
  HEADERS,
  readsOf,
  sendAsCrowd,
  withEtags,
} from './crowd.ts'
import { NEVER_RENDERED, seedCrowd } from './crowd-seed.ts'
import { inEmptyDirectory, inTurns } from './measure.ts'
import { startPrism } from './prism.ts'
import { cpuOf, type Server, startServer } from './process.ts'
import { newRates, type Rates, READERS, type Reader, reportReads } from './reads-report.ts'
import { record } from './recorded-responses.ts'
import type { Section } from './section.ts'
import { startService } from './service.ts'

const BARE_SERVER = new URL('bare-server.ts', import.meta.url).pathname
const TURNS = 4
/** With turns of one second and pauses between them, the results differed threefold. */
const TURN_SECONDS = 3
/**
 * A service runs for weeks, so it is measured warm. Until its code is compiled, which takes about this long
 * under load, a response costs twice as much.
 */
const WARM_UP_SECONDS = 15
const RECORDED = 40
/** How many of the migrations that are requested only once serve as warm-up. */
const WARM_UP_ONCE = 6000
const ONCE_A_TURN = (NEVER_RENDERED - WARM_UP_ONCE) / TURNS

/** Measures the reads that clients poll, under a load of many accounts, each with its own token and migrations. */
export async function benchReads({ rounds }: { rounds: number }): Promise<Section> {
  const cluster = await startPostgres()
  try {
    const rates = new Map<string, Rates>()
    let reads: CrowdRead[] = []
    for (let round = 1; round <= rounds; round++) {
      // A new server each round: a response is uncached only once.
      const databaseUrl = await createDatabase(cluster.url)
      reads = await inEmptyDirectory((directory) => measureOnce(directory, databaseUrl, rates))
      console.error(`round ${round}`, Object.fromEntries(rates))
    }
    const shape = {
      turns: TURNS,
      turnSeconds: TURN_SECONDS,
      warmUpSeconds: WARM_UP_SECONDS,
      onceATurn: ONCE_A_TURN,
      warmUpOnce: WARM_UP_ONCE,
    }
    return reportReads(reads, rates, { rounds, ...shape })
  } finally {
    await cluster.stop()
  }
}

/** The servers, and which reads each can response. */
interface Measured {
  url: string
  pid: number
  requests: CrowdRequests
  headers: Record<string, string>
}

async function measureOnce(
  directory: string,
  databaseUrl: string,
  rates: Map<string, Rates>,
): Promise<CrowdRead[]> {
  await using sqlite = await startGodwit(join(directory, 'sqlite'), undefined)
  await using postgres = await startGodwit(join(directory, 'postgres'), databaseUrl)
  for (const [at, read] of sqlite.reads.entries()) {
    const found = rates.get(read.name) ?? newRates()
    rates.set(read.name, found)
    await using stack = new AsyncDisposableStack()
    const [mine, theirs] = [await requestsOf(sqlite, at), await requestsOf(postgres, at)]
    const samples = await recorded(sqlite.url, mine)
    const limit = stack.use(await bareServer(samples))
    const servers: Partial<Record<Reader, Measured>> = {
      limit: { ...limit, requests: mine, headers: HEADERS },
      sqlite: { ...sqlite, requests: mine, headers: HEADERS },
      postgres: { ...postgres, requests: theirs, headers: HEADERS },
    }
    // Prism has no response without a body.
    if (!read.isKnown) {
      const prism = stack.use(await startPrism(sqlite.url, mine[0]!.path, samples[0]!, directory))
      // Prism knows neither the preview media type nor query parameters.
      const requests = [{ path: '/mocked', authorization: 'Bearer x' }]
      servers.prism = { ...prism, requests, headers: { ...HEADERS, accept: 'application/json' } }
    }
    await measureRead(read, servers, found)
  }
  return sqlite.reads
}

async function measureRead(
  { isOnce }: CrowdRead,
  servers: Partial<Record<Reader, Measured>>,
  found: Rates,
): Promise<void> {
  const isFirst = (reader: Reader) => isOnce && (reader === 'sqlite' || reader === 'postgres')
  const readers = READERS.filter((reader) => servers[reader])
  for (const reader of readers) {
    const { url, requests, headers } = servers[reader]!
    const first = { url, headers, requests: requests.slice(RECORDED, WARM_UP_ONCE) }
    await sendAsCrowd(
      isFirst(reader) ? first : { url, headers, requests, seconds: WARM_UP_SECONDS },
    )
  }
  await inTurns(TURNS, readers, async (reader, turn) => {
    const { url, pid, requests, headers } = servers[reader]!
    const from = WARM_UP_ONCE + (turn - 1) * ONCE_A_TURN
    const some = { url, headers, requests: requests.slice(from, from + ONCE_A_TURN) }
    const before = await cpuOf(pid)
    const { responses, seconds } = await sendAsCrowd(
      isFirst(reader) ? some : { url, headers, requests, seconds: TURN_SECONDS },
    )
    found[reader].rates.push(responses / seconds)
    found[reader].cpu.push(((await cpuOf(pid)) - before) / responses)
  })
}

async function requestsOf({ url, reads }: Godwit, at: number): Promise<CrowdRequests> {
  const { requests, isKnown } = reads[at]!
  return isKnown ? withEtags(url, requests) : requests
}

function recorded(url: string, requests: CrowdRequests): Promise<Recorded[]> {
  return Promise.all(
    requests
      .slice(0, RECORDED)
      .map(({ path, ...others }) => record(url + path, { ...HEADERS, ...others })),
  )
}

type Godwit = Awaited<ReturnType<typeof startGodwit>>

/** All features that an operator would use are on. */
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

async function bareServer(responses: readonly Recorded[]): Promise<Server> {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', BARE_SERVER]
  return startServer([...SERVER, ...node], { input: JSON.stringify(responses) })
}
