import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { manyRepositories } from '../support/cluster-story.ts'
import { refStateOf } from '../support/export-proof.ts'
import { largePack } from '../support/export-sources.ts'
import { type ExportStory, exportStory } from '../support/export-story.ts'
import { inForm, seed, tried } from '../support/fire.ts'
import { randomNumbers } from '../support/random-numbers.ts'
import { type CrowdReport, percentile, readingCrowd } from '../support/reading-crowd.ts'
import { assertUnharmed, nothingAcknowledged } from '../support/unharmed.ts'

const CONNECTIONS = 200
const MEGABYTES = inForm({ short: 60, long: 1000 })
const IDLE_MS = inForm({ short: 1000, long: 30_000 })
const BUSY_MS = inForm({ short: 3000, long: 120_000 })
const LARGE = 'alice/large'

test('two hundred readers while a large export runs: no error, no growth', async (t) => {
  const story = await exportStory(t, {
    async repositories(host) {
      await largePack(host.path(LARGE), MEGABYTES)
      await manyRepositories(host, 30)
    },
    flags: ['--rate-limit', '0', '--log-level', 'warn', '--segment-ttl', '1s'],
  })
  const { id } = await story.migrate(Array.from({ length: 30 }, (_, n) => `alice/r${n}`))
  const crowd = await crowdOf(story, id)

  const idle = await crowd(IDLE_MS)
  const acknowledged = nothingAcknowledged()
  const over = new AbortController()
  const exporting = exportAgainAndAgain(story, acknowledged, over.signal)
  const memory = watchMemory(story.service.pid(), over.signal)
  const busy = await crowd(BUSY_MS)
  over.abort()
  const exports = await exporting
  const [first, last] = quarters(await memory)

  const told = `p99 of status ${ms(busy)} ms, without the export ${ms(idle)} ms`
  const grown = `${first} MB resident in the first quarter, ${last} MB in the last`
  t.diagnostic(`${told}; ${grown}; ${exports} exports`)
  const requests = busy.answers.get('200') ?? 0
  assert.deepEqual([...idle.answers.keys(), ...busy.answers.keys()], ['200', '200'])
  assert.ok(requests >= CONNECTIONS)
  assert.ok(last < first * inForm({ short: 3, long: 1.15 }), grown)
  await assertUnharmed(story, acknowledged)
  tried(
    t,
    `${CONNECTIONS} connections of mixed reads while ${MEGABYTES} MB are exported`,
    requests,
    `no error; ${told}; ${grown}`,
  )
})

async function crowdOf({ service }: ExportStory, id: number) {
  const token = await service.token('alice')
  const random = randomNumbers(seed)
  const of = `/user/migrations/${id}`
  const lists = ['/user/migrations', `${of}/repositories?per_page=10&page=2`, `${of}/progress`]
  const paths = [`${of}?exclude=repositories`, of, ...lists, '/user', `${of}/report`]
  return (forMs: number): Promise<CrowdReport> =>
    readingCrowd({
      url: service.url,
      token,
      connections: CONNECTIONS,
      perSecond: 5,
      paths,
      random,
      signal: AbortSignal.timeout(forMs),
    })
}

/** One after the other, each whole: the repository has changed. */
async function exportAgainAndAgain(
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

/** Megabytes resident, by the second. */
async function watchMemory(pid: number, over: AbortSignal): Promise<number[]> {
  const samples: number[] = []
  while (!over.aborted) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    samples.push(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024)
    await pause(250)
  }
  return samples
}

/** Medians of the first and of the last quarter. */
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

const ms = ({ latencies }: CrowdReport): string => percentile(latencies, 0.99).toFixed(1)
