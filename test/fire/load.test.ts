import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { manyRepositories } from '../support/cluster-story.ts'
import { refStateOf } from '../support/export-proof.ts'
import { largePack } from '../support/export-sources.ts'
import { type ExportStory, exportStory } from '../support/export-story.ts'
import { assertInvariants, nothingAcknowledged } from '../support/fault-invariants.ts'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { randomNumbers } from '../support/random-numbers.ts'
import { PREVIEW } from '../support/service.ts'

interface LoadOptions {
  url: string
  token: string
  connections: number
  /** Requests per second of each connection, if the responses are fast enough. */
  perSecond: number
  paths: readonly string[]
  random: () => number
  signal: AbortSignal
}

interface LoadReport {
  /** The number of responses by status or error message. */
  responses: Map<string, number>
  /** Sorted response times of the first path, in milliseconds. */
  latencies: number[]
}

/** Runs clients, each on its own connection, that read random paths until the signal aborts, at least once each. */
async function runClients(options: LoadOptions): Promise<LoadReport> {
  const { connections, perSecond, paths, random, signal } = options
  const report: LoadReport = { responses: new Map(), latencies: [] }
  const count = (what: string) => report.responses.set(what, (report.responses.get(what) ?? 0) + 1)

  async function client(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await pause((random() * 1000) / perSecond)
    do {
      const path = paths[Math.floor(random() * paths.length)]!
      const began = performance.now()
      count(await read(options, agent, path).catch((error: Error) => error.message))
      const took = performance.now() - began
      if (path === paths[0]) report.latencies.push(took)
      await pause(Math.max(0, 1000 / perSecond - took))
    } while (!signal.aborted)
    agent.destroy()
  }

  await Promise.all(Array.from({ length: connections }, client))
  report.latencies.sort((a, b) => a - b)
  return report
}

function read({ url, token }: LoadOptions, agent: Agent, path: string): Promise<string> {
  const headers = { accept: PREVIEW, authorization: `bearer ${token}`, 'user-agent': 'load-test' }
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { agent, headers }, (response) => {
      response.on('error', reject)
      response.on('end', () => resolve(String(response.statusCode)))
      response.resume()
    })
    sent.on('error', reject)
    sent.end()
  })
}

const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN

const CONNECTIONS = 200
const MEGABYTES = shortOrLong({ short: 60, long: 1000 })
const IDLE_MS = shortOrLong({ short: 1000, long: 30_000 })
const BUSY_MS = shortOrLong({ short: 3000, long: 120_000 })
const LARGE = 'alice/large'

test('two hundred readers during a large export see no error, and memory does not grow', async (t) => {
  const story = await exportStory(t, {
    async repositories(host) {
      await largePack(host.path(LARGE), MEGABYTES)
      await manyRepositories(host, 30)
    },
    flags: ['--rate-limit', '0', '--log-level', 'warn', '--segment-ttl', '1s'],
  })
  const { id } = await story.migrate(Array.from({ length: 30 }, (_, n) => `alice/r${n}`))
  const runLoad = await createLoad(story, id)

  const idle = await runLoad(IDLE_MS)
  const acknowledged = nothingAcknowledged()
  const over = new AbortController()
  const exporting = exportRepeatedly(story, acknowledged, over.signal)
  const memory = watchMemory(story.service.pid(), over.signal)
  const busy = await runLoad(BUSY_MS)
  over.abort()
  const exports = await exporting
  const [first, last] = quarters(await memory)

  const summary = `p99 of status ${ms(busy)} ms, without the export ${ms(idle)} ms`
  const grown = `${first} MB resident in the first quarter, ${last} MB in the last`
  t.diagnostic(`${summary}; ${grown}; ${exports} exports`)
  const requests = busy.responses.get('200') ?? 0
  assert.deepEqual([...idle.responses.keys(), ...busy.responses.keys()], ['200', '200'])
  assert.ok(requests >= CONNECTIONS)
  assert.ok(last < first * shortOrLong({ short: 3, long: 1.15 }), grown)
  await assertInvariants(story, acknowledged)
  reportFault(
    t,
    `${CONNECTIONS} connections of mixed reads while ${MEGABYTES} MB are exported`,
    requests,
    `no error; ${summary}; ${grown}`,
  )
})

async function createLoad({ service }: ExportStory, id: number) {
  const token = await service.token('alice')
  const random = randomNumbers(seed)
  const of = `/user/migrations/${id}`
  const lists = ['/user/migrations', `${of}/repositories?per_page=10&page=2`, `${of}/progress`]
  const paths = [`${of}?exclude=repositories`, of, ...lists, '/user', `${of}/report`]
  return (forMs: number): Promise<LoadReport> =>
    runClients({
      url: service.url,
      token,
      connections: CONNECTIONS,
      perSecond: 5,
      paths,
      random,
      signal: AbortSignal.timeout(forMs),
    })
}

/** Exports the repository repeatedly, after a change each time. Returns the number of exports. */
async function exportRepeatedly(
  story: ExportStory,
  { started, deleted }: ReturnType<typeof nothingAcknowledged>,
  over: AbortSignal,
): Promise<number> {
  for (let round = 1; ; round++) {
    await story.host.commit(story.host.path(LARGE), { changed: `${round}` })
    const { id } = await story.migrate([LARGE])
    started.set(id, { [LARGE]: refStateOf(story.host.path(LARGE)) })
    if (over.aborted) return round
    await story.call(`/user/migrations/${id}/archive`, { method: 'DELETE' })
    deleted.add(id)
  }
}

/** Samples the resident memory in megabytes four times a second. */
async function watchMemory(pid: number, over: AbortSignal): Promise<number[]> {
  const samples: number[] = []
  while (!over.aborted) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    samples.push(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024)
    await pause(250)
  }
  return samples
}

/** Returns the medians of the first and of the last quarter. */
function quarters(samples: readonly number[]): [number, number] {
  const length = Math.max(1, Math.floor(samples.length / 4))
  const median = (some: readonly number[]) =>
    Math.round(
      percentile(
        some.toSorted((a, b) => a - b),
        0.5,
      ),
    )
  return [median(samples.slice(0, length)), median(samples.slice(-length))]
}

const ms = ({ latencies }: LoadReport): string => percentile(latencies, 0.99).toFixed(1)
