import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import { PREVIEW } from '../test/support/service.ts'
import type { Recorded } from './bare-server.ts'
import { SERVER } from './cores.ts'
import { OWNER } from './corpus.ts'
import { LOAD_TOOL, requestsPerSecond } from './load.ts'
import { inEmptyDirectory, inTurns, median, spread } from './measure.ts'
import { barPlot } from './plot.ts'
import { type Server, startServer } from './process.ts'
import { record } from './recorded-answers.ts'
import { atLeast, round, type Section } from './section.ts'
import { seedDatabase } from './seed.ts'
import { startService } from './service.ts'

const BARE_SERVER = new URL('bare-server.ts', import.meta.url).pathname
const PRISM = new URL('peers/node_modules/.bin/prism', import.meta.url).pathname
const SECONDS = 2
const WARM_UP_SECONDS = 3
const OF_PRISM = 15

interface Read {
  name: string
  path: string
  headers: Record<string, string>
  /** Where the mock has it: its paths know no query. */
  mockedAt: string
  /** What share of the limit is aimed at. */
  aim: number
}

const SERVERS = ['limit', 'prism', 'godwit'] as const
type Rates = Record<(typeof SERVERS)[number], number[]>

/** The reads that clients poll, with everything in play that an operator would have in play. */
export async function benchReads({ rounds }: { rounds: number }): Promise<Section> {
  return inEmptyDirectory(async (place) => {
    const { migrations, token } = await seedDatabase(join(place, 'data'), [1, 30, 1000])
    await mkdir(join(place, 'repositories'))
    await using log = await open(join(place, 'log'), 'w')
    const godwit = await startService(
      {
        repositories: join(place, 'repositories'),
        data: join(place, 'data'),
        login: OWNER,
        under: SERVER,
        log,
      },
      '--rate-limit',
      '1000000000',
    )
    try {
      const reads = await readsOf(godwit.url, token, migrations)
      const answers = await Promise.all(
        reads.map(({ path, headers }) => record(godwit.url + path, headers)),
      )
      await using limit = await bareServer(answers)
      await using prism = await startPrism(godwit.url, reads, answers, place)
      const urls = { limit: limit.url, prism: prism.url, godwit: godwit.url }
      return report(reads, await measure(reads, urls, rounds), rounds)
    } finally {
      await godwit.stop()
    }
  })
}

async function readsOf(
  url: string,
  token: string,
  migrations: Map<number, number>,
): Promise<Read[]> {
  const headers = {
    accept: PREVIEW,
    authorization: `Bearer ${token}`,
    'user-agent': 'bench',
  }
  const status = (size: number) => `/user/migrations/${migrations.get(size)}`
  const read = (name: string, path: string, aim: number): Read => {
    const mockedAt = `/${name.replaceAll(/\W+/g, '-')}`
    return { name, path, mockedAt, headers, aim }
  }
  const { etag } = await record(url + status(30), headers)
  return [
    read('status, 1 repository', status(1), 0.4),
    read('status, 30 repositories', status(30), 0.5),
    read('status, 1,000 repositories', status(1000), 0.5),
    read('status, exclude=repositories', `${status(1000)}?exclude=repositories`, 0.4),
    read('list, page of 30', `${status(1000)}/repositories`, 0.5),
    read('list, page of 100', `${status(1000)}/repositories?per_page=100`, 0.5),
    {
      ...read('304 Not Modified', status(30), 0.4),
      headers: { ...headers, 'if-none-match': etag },
    },
  ]
}

async function bareServer(answers: readonly Recorded[]): Promise<Server> {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', BARE_SERVER]
  return startServer([...SERVER, ...node], { input: JSON.stringify(answers) })
}

async function startPrism(
  url: string,
  reads: readonly Read[],
  answers: readonly Recorded[],
  place: string,
): Promise<Server> {
  const described = (await (await fetch(`${url}/openapi.json`)).json()) as Description
  const paths = reads.map((read, at) => mocked(described, read, answers[at]!))
  const description = join(place, 'openapi.json')
  await writeFile(description, JSON.stringify({ ...described, paths: Object.fromEntries(paths) }))
  const port = String(await freePort())
  const mock = [PRISM, 'mock', '--host', '127.0.0.1', '--port', port, description]
  return startServer([...SERVER, process.execPath, ...mock])
}

interface Description {
  paths: Record<string, { get: { parameters: unknown; responses: Record<string, unknown> } }>
}

/** The operation as Godwit describes it, with the very body that Godwit gives as its example, at a path of its own. */
function mocked(described: Description, { path, mockedAt }: Read, { body }: Recorded) {
  const isList = path.includes('/repositories')
  const { parameters: _, ...operation } =
    described.paths[`/user/migrations/{migration_id}${isList ? '/repositories' : ''}`]!.get
  const found = operation.responses['200'] as {
    content: { 'application/json': { schema: object } }
  }
  const { schema } = found.content['application/json']
  const example = body === '' ? {} : JSON.parse(Buffer.from(body, 'base64').toString())
  const given = { ...found, content: { 'application/json': { schema, example } } }
  return [mockedAt, { get: { ...operation, responses: { 200: given } } }] as const
}

async function measure(
  reads: readonly Read[],
  urls: Record<keyof Rates, string>,
  rounds: number,
): Promise<Map<Read, Rates>> {
  const rates = new Map(reads.map((read) => [read, { limit: [], prism: [], godwit: [] } as Rates]))
  const ask = ({ path, mockedAt, headers }: Read, server: keyof Rates, seconds: number) => {
    if (server !== 'prism') return requestsPerSecond({ url: urls[server] + path, headers, seconds })
    // It knows neither validators nor the preview.
    const { 'if-none-match': _, ...others } = headers
    const sent = { ...others, accept: 'application/json' }
    return requestsPerSecond({ url: urls.prism + mockedAt, headers: sent, seconds })
  }
  for (const server of SERVERS) await ask(reads[0]!, server, WARM_UP_SECONDS)
  for (const read of reads) for (const server of SERVERS) await ask(read, server, 1)
  await inTurns(rounds, reads, (read, round) =>
    inTurns(1, round % 2 === 1 ? SERVERS : SERVERS.toReversed(), async (server) => {
      rates.get(read)![server].push(await ask(read, server, SECONDS))
    }),
  )
  return rates
}

function report(reads: readonly Read[], rates: Map<Read, Rates>, rounds: number): Section {
  const middles = reads.map((read) => {
    const { limit, prism, godwit } = rates.get(read)!
    const [atLimit, byPrism, byGodwit] = [median(limit), median(prism), median(godwit)]
    const whole = (value: number) => value.toFixed(0)
    const row = [
      read.name,
      whole(byPrism),
      whole(atLimit),
      whole(byGodwit),
      spread(godwit, whole),
      `${round(byGodwit / byPrism)} ×`,
      `${round(byGodwit / atLimit)} ×`,
    ]
    return { read, atLimit, byPrism, byGodwit, row }
  })
  const leastOfPrism = Math.min(...middles.map(({ byGodwit, byPrism }) => byGodwit / byPrism))
  return {
    title: 'Reads',
    notes: [
      `answers a second to 16 clients that never pause, by ${LOAD_TOOL}; medians of ${rounds} rounds of ${SECONDS} s after a warm-up`,
      'every server on one core, whoever asks on another',
      'Godwit with authentication, rate limiting, a line of log for every request, and its database (SQLite)',
      'the limit: a bare `node:http` that sends the very same bytes and headers and does nothing else (`bench/bare-server.ts`)',
      'the peer: `prism mock` of the same operations, from Godwit’s own description with the same bodies as examples; it knows no 304 and gives an empty object instead',
    ],
    tables: [
      {
        head: ['', 'Prism', 'limit', 'Godwit', 'least – most', 'of Prism', 'of the limit'],
        rows: middles.map(({ row }) => row),
      },
    ],
    targets: [
      ...middles.map(({ read, byGodwit, atLimit }) =>
        atLeast(`${read.name}, of the limit`, byGodwit / atLimit, read.aim),
      ),
      atLeast('every read, of Prism', leastOfPrism, OF_PRISM),
    ],
    plots: [
      {
        file: 'reads.svg',
        alt: 'Answers a second: Godwit, a bare server that sends the same bytes, and Prism',
        svg: barPlot({
          title: 'Reads: answers a second on one core',
          unit: '/s',
          groups: middles.map(({ read, atLimit, byPrism, byGodwit }) => ({
            name: read.name,
            bars: [
              { name: 'bare node:http (the limit)', value: atLimit, series: 1 },
              { name: 'Godwit', value: byGodwit, series: 0 },
              { name: 'Prism', value: byPrism, series: 2 },
            ],
          })),
        }),
      },
    ],
  }
}
