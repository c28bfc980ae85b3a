import { mkdir } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PREVIEW } from '../test/support/service.ts'
import { makeCopies, namesOfCopies } from './copies.ts'
import { OWNER } from './corpus.ts'
import { fillDatabase } from './growth-seed.ts'
import { inEmptyDirectory, inTurns, median, run, seconds } from './measure.ts'
import { type Lines, linePlot } from './plot.ts'
import { atMost, round, type Section, type Target } from './section.ts'
import { seedDatabase } from './seed.ts'
import { type RunningService, startService } from './service.ts'

const GODWIT = new URL('../bin/godwit', import.meta.url).pathname
const MIGRATIONS = [100, 10_000, 1_000_000]
const REPOSITORIES = [10, 100, 1000, 10_000]
const TREES = [100, 1000, 10_000]
const READS_A_ROUND = 60
const STARTS_A_ROUND = 5
const MAX_GROWTH = 1.5
const MAX_START_SECONDS = 1.5
const MAX_FIRST_BYTE_MS = 100
/** The largest acceptable cost per repository relative to the cost at a tenth of the size: linear growth plus noise. */
const STRAIGHT = 1.3
const UNFINISHED = ['--max-unfinished-migrations', '10000']

const START = 'start'
const FIRST_BYTE = 'status, first byte'

/** Milliseconds by size, for each operation. */
type Costs = Record<string, Map<number, number[]>>

export async function benchGrowth(options: { rounds: number; max: number }): Promise<Section> {
  const { rounds, max } = options
  return inEmptyDirectory(async (directory) => {
    const trees: Tree[] = []
    for (const size of TREES.filter((size) => size <= max)) {
      const root = join(directory, `tree-${size}`)
      await makeCopies(root, size)
      trees.push({ size, root, data: join(directory, `data-${size}`) })
    }
    const byMigrations = await costsByMigrations(directory, trees[0]!.root, rounds)
    const bySync = await costsOfSync(trees)
    const byRepositories = {
      ...(await costsByRepositories(directory, rounds)),
      [START]: await costsOfStarts(trees, rounds),
    }
    return report(byMigrations, byRepositories, bySync, rounds)
  })
}

interface Tree {
  size: number
  root: string
  /** The database of the repository index. */
  data: string
}

async function costsByMigrations(directory: string, repositories: string, rounds: number) {
  const costs: Costs = { 'status of one': new Map(), 'list of 30': new Map(), start: new Map() }
  const servers: { size: number; godwit: RunningService; readable: number[]; token: string }[] = []
  try {
    for (const size of MIGRATIONS) {
      const data = join(directory, `filled-${size}`)
      const { readable, token } = await fillDatabase(data, size)
      const godwit = await startService({ repositories, data, login: OWNER }, ...UNFINISHED)
      servers.push({ size, godwit, readable, token })
    }
    await inTurns(rounds, servers, async ({ size, godwit, readable, token }, round) => {
      const paths = readable.map((id) => `${godwit.url}/user/migrations/${id}`)
      for (let read = 0; read < READS_A_ROUND; read += 1) {
        // No id is read twice: a cached response would not measure the database.
        const path = paths[(read + round * READS_A_ROUND) % paths.length]!
        note(costs['status of one']!, size, await msToRead(path, token))
        const page = `${godwit.url}/user/migrations?per_page=30`
        note(costs['list of 30']!, size, await msToRead(page, token))
      }
      for (let start = 0; start < STARTS_A_ROUND; start += 1) {
        let id = 0
        const ms = 1000 * (await seconds(async () => (id = await godwit.start(['copy-0']))))
        note(costs.start!, size, ms)
        await godwit.untilExported(id)
      }
    })
  } finally {
    for (const { godwit } of servers) await godwit.stop()
  }
  return costs
}

async function costsByRepositories(directory: string, rounds: number): Promise<Costs> {
  const costs: Costs = { status: new Map(), [FIRST_BYTE]: new Map(), 'list of 30': new Map() }
  await mkdir(join(directory, 'none'))
  for (let round = 0; round < rounds; round += 1) {
    // The server has not rendered anything yet and has its own database.
    const data = join(directory, `sizes-${round}`)
    const { token, migrations } = await seedDatabase(data, REPOSITORIES)
    const godwit = await startService({ repositories: join(directory, 'none'), data, login: OWNER })
    try {
      await msToRead(`${godwit.url}/user/migrations/1/repositories?per_page=1`, token)
      for (const [size, id] of migrations) {
        const url = `${godwit.url}/user/migrations/${id}`
        const { first, last } = await timeRequest(url, token)
        note(costs.status!, size, last)
        note(costs[FIRST_BYTE]!, size, first)
        for (let page = 1; page * 10 <= Math.min(size, 50); page += 1)
          note(
            costs['list of 30']!,
            size,
            await msToRead(`${url}/repositories?page=${page}`, token),
          )
      }
    } finally {
      await godwit.stop()
    }
  }
  return costs
}

/** Measures starts of all repositories of a repository index that was synced before. */
async function costsOfStarts(trees: readonly Tree[], rounds: number) {
  const costs = new Map<number, number[]>()
  for (const { size, root, data } of trees) {
    const godwit = await startService({ repositories: root, data, login: OWNER }, ...UNFINISHED)
    try {
      for (let round = 0; round < rounds; round += 1) {
        const body = JSON.stringify({ repositories: namesOfCopies(size) })
        const url = `${godwit.url}/user/migrations`
        const { last, location } = await timeRequest(url, godwit.token, body)
        note(costs, size, last)
        await timeRequest(`${url}/${location?.split('/').at(-1)}/cancel`, godwit.token, '')
      }
    } finally {
      await godwit.stop()
    }
  }
  return costs
}

async function costsOfSync(trees: readonly Tree[]): Promise<Costs> {
  const costs: Costs = { 'first sync': new Map(), 'sync, nothing changed': new Map() }
  for (const { size, root, data } of trees) {
    const sync = () => run(GODWIT, ['sync', '--data', data, '--repositories', root])
    note(costs['first sync']!, size, 1000 * (await seconds(sync)))
    // A sync reads recent changes again, since a second change could have the same timestamp.
    await sleep(3000)
    await sync()
    note(costs['sync, nothing changed']!, size, 1000 * (await seconds(sync)))
  }
  return costs
}

function note(costs: Map<number, number[]>, size: number, ms: number): void {
  costs.set(size, [...(costs.get(size) ?? []), ms])
}

const agent = new Agent({ keepAlive: true })

interface Response {
  /** Milliseconds until the first byte of the body. */
  first: number
  /** Milliseconds until the last byte of the body. */
  last: number
  location: string | undefined
}

const msToRead = async (url: string, token: string): Promise<number> =>
  (await timeRequest(url, token)).last

function timeRequest(url: string, token: string, body?: string): Promise<Response> {
  const headers = { accept: PREVIEW, authorization: `bearer ${token}`, 'user-agent': 'bench' }
  const method = body === undefined ? 'GET' : 'POST'
  return new Promise((resolve, reject) => {
    const start = performance.now()
    const elapsed = () => performance.now() - start
    request(url, { method, headers, agent }, (response) => {
      const { statusCode = 0 } = response
      if (statusCode < 200 || statusCode > 299) reject(new Error(`${url}: ${statusCode}`))
      let first = Number.NaN
      response.once('data', () => {
        first = elapsed()
      })
      response.resume().once('end', () => {
        resolve({ first, last: elapsed(), location: response.headers.location })
      })
    })
      .once('error', reject)
      .end(body)
  })
}

function report(
  byMigrations: Costs,
  byRepositories: Costs,
  bySync: Costs,
  rounds: number,
): Section {
  const { [FIRST_BYTE]: firstBytes, ...growing } = byRepositories
  const largest = (costs: Map<number, number[]>) => Math.max(...costs.keys())
  const [most, mostStarted] = [largest(firstBytes!), largest(growing[START]!)]
  const startMs = median(growing[START]!.get(mostStarted)!)
  return {
    title: 'Growth',
    notes: [
      `milliseconds until the response is complete; medians of ${rounds} rounds`,
      '*migrations in the database*: all of the account that sends the request; no status is requested twice, so none is cached',
      '*repositories in one migration*: by a server that has not rendered anything yet',
      '*sync*: `godwit sync` of the repositories on disk, from the start of the command to its end, once; the section *sync* has 100,000',
    ],
    tables: [
      tableOf('migrations in the database', byMigrations),
      tableOf('repositories in one migration', byRepositories),
      tableOf('repositories on disk', bySync),
    ],
    targets: [
      ...Object.entries(byMigrations).map(([what, costs]) => flat(what, costs)),
      ...Object.entries({ ...growing, ...bySync }).map(([what, costs]) => straight(what, costs)),
      atMost(`start of ${mostStarted} repositories`, startMs / 1000, MAX_START_SECONDS, 's'),
      atMost(
        `first byte of a status of ${most} repositories`,
        median(firstBytes!.get(most)!),
        MAX_FIRST_BYTE_MS,
        'ms',
      ),
    ],
    plots: [
      plotOf(
        'growth-migrations.svg',
        'Cost by migrations in the database',
        'migrations',
        byMigrations,
      ),
      plotOf(
        'growth-repositories.svg',
        'Cost by repositories in one migration',
        'repositories',
        byRepositories,
      ),
      plotOf('growth-sync.svg', 'Cost of a sync by repositories on disk', 'repositories', bySync),
    ],
  }
}

function tableOf(what: string, costs: Costs) {
  const sizes = [...new Set(Object.values(costs).flatMap((each) => [...each.keys()]))]
  const sorted = sizes.sort((a, b) => a - b)
  return {
    head: [`${what}, ms`, ...sorted.map((size) => size.toLocaleString('en')), 'last / first'],
    rows: Object.entries(costs).map(([name, each]) => {
      const middles = sorted.map((size) => (each.has(size) ? median(each.get(size)!) : Number.NaN))
      const known = middles.filter((value) => !Number.isNaN(value))
      return [name, ...middles.map(round), `${round(known.at(-1)! / known[0]!)} ×`]
    }),
  }
}

function flat(what: string, costs: Map<number, number[]>): Target {
  const [few, many] = [median(costs.get(MIGRATIONS[0]!)!), median(costs.get(MIGRATIONS.at(-1)!)!)]
  return atMost(`${what}, with a million migrations against a hundred`, many / few, MAX_GROWTH)
}

function straight(what: string, costs: Map<number, number[]>): Target {
  const [fewer, most] = [...costs.keys()].sort((a, b) => a - b).slice(-2) as [number, number]
  const each = (size: number) => median(costs.get(size)!) / size
  const among = `${most.toLocaleString('en')} against ${fewer.toLocaleString('en')}`
  return atMost(`${what}, for each repository: ${among}`, each(most) / each(fewer), STRAIGHT)
}

function plotOf(file: string, title: string, x: string, costs: Costs) {
  const series: Lines['series'] = Object.entries(costs).map(([name, each]) => ({
    name,
    points: [...each]
      .sort(([a], [b]) => a - b)
      .map(([size, values]): [number, number] => [size, median(values)]),
  }))
  return { file, alt: title, svg: linePlot({ title, x, y: 'ms', series }) }
}
