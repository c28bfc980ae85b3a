import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createDatabase, startCluster } from '../test/support/postgres.ts'
import type { Recorded } from './bare-server.ts'
import { SERVER } from './cores.ts'
import { type Asked, askAsCrowd, type CrowdRead, HEADERS, readsOf, withEtags } from './crowd.ts'
import { NEVER_RENDERED, seedCrowd } from './crowd-seed.ts'
import { inEmptyDirectory, inTurns } from './measure.ts'
import { startPrism } from './prism.ts'
import { cpuOf, type Server, startServer } from './process.ts'
import { newRates, type Rates, READERS, type Reader, reportReads } from './reads-report.ts'
import { record } from './recorded-answers.ts'
import type { Section } from './section.ts'
import { startService } from './service.ts'

const BARE_SERVER = new URL('bare-server.ts', import.meta.url).pathname
const TURNS = 4
/** In turns of one second, with pauses between them, the same code gave figures that differed threefold. */
const TURN_SECONDS = 3
/** A service runs for weeks. Until its code is compiled, which takes about this long beside answering, an answer costs twice as much. */
const WARM_UP_SECONDS = 15
const RECORDED = 40
/** Of what is asked for once only: so many migrations make the code warm before others are measured. */
const WARM_UP_ONCE = 6000
const ONCE_A_TURN = (NEVER_RENDERED - WARM_UP_ONCE) / TURNS

/** The reads that clients poll, by a crowd: every one with a token and a migration of their own. */
export async function benchReads({ rounds }: { rounds: number }): Promise<Section> {
  const cluster = await startCluster()
  try {
    const rates = new Map<string, Rates>()
    let reads: CrowdRead[] = []
    for (let round = 1; round <= rounds; round++) {
      // Anew each round: what was never asked for is so only once.
      const databaseUrl = await createDatabase(cluster.url)
      reads = await inEmptyDirectory((place) => measureOnce(place, databaseUrl, rates))
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

/** Whoever answers, and what of it is asked. */
interface Measured {
  url: string
  pid: number
  asked: Asked
  headers: Record<string, string>
}

async function measureOnce(
  place: string,
  databaseUrl: string,
  rates: Map<string, Rates>,
): Promise<CrowdRead[]> {
  await using sqlite = await startGodwit(join(place, 'sqlite'), undefined)
  await using postgres = await startGodwit(join(place, 'postgres'), databaseUrl)
  for (const [at, read] of sqlite.reads.entries()) {
    const found = rates.get(read.name) ?? newRates()
    rates.set(read.name, found)
    await using stack = new AsyncDisposableStack()
    const [mine, theirs] = [await askedOf(sqlite, at), await askedOf(postgres, at)]
    const samples = await recorded(sqlite.url, mine)
    const limit = stack.use(await bareServer(samples))
    const servers: Partial<Record<Reader, Measured>> = {
      limit: { ...limit, asked: mine, headers: HEADERS },
      sqlite: { ...sqlite, asked: mine, headers: HEADERS },
      postgres: { ...postgres, asked: theirs, headers: HEADERS },
    }
    // It has no answer without a body.
    if (!read.isKnown) {
      const prism = stack.use(await startPrism(sqlite.url, mine[0]!.path, samples[0]!, place))
      // It knows neither the preview nor any query.
      const asked = [{ path: '/mocked', authorization: 'Bearer x' }]
      servers.prism = { ...prism, asked, headers: { ...HEADERS, accept: 'application/json' } }
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
    const { url, asked, headers } = servers[reader]!
    const first = { url, headers, asked: asked.slice(RECORDED, WARM_UP_ONCE) }
    await askAsCrowd(isFirst(reader) ? first : { url, headers, asked, seconds: WARM_UP_SECONDS })
  }
  await inTurns(TURNS, readers, async (reader, turn) => {
    const { url, pid, asked, headers } = servers[reader]!
    const from = WARM_UP_ONCE + (turn - 1) * ONCE_A_TURN
    const some = { url, headers, asked: asked.slice(from, from + ONCE_A_TURN) }
    const before = await cpuOf(pid)
    const { answers, seconds } = await askAsCrowd(
      isFirst(reader) ? some : { url, headers, asked, seconds: TURN_SECONDS },
    )
    found[reader].rates.push(answers / seconds)
    found[reader].cpu.push(((await cpuOf(pid)) - before) / answers)
  })
}

async function askedOf({ url, reads }: Godwit, at: number): Promise<Asked> {
  const { asked, isKnown } = reads[at]!
  return isKnown ? withEtags(url, asked) : asked
}

function recorded(url: string, asked: Asked): Promise<Recorded[]> {
  return Promise.all(
    asked
      .slice(0, RECORDED)
      .map(({ path, ...others }) => record(url + path, { ...HEADERS, ...others })),
  )
}

type Godwit = Awaited<ReturnType<typeof startGodwit>>

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
