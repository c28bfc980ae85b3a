import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import {
  assertNothingLeftOver,
  blobsOf,
  rowsOf,
  unfinishedFiles,
} from '../support/export-leftovers.ts'
import { assertCarried, type RefState, refStateOf } from '../support/export-proof.ts'
import { mixedRepositories } from '../support/export-sources.ts'
import { type ExportStory, exportStory, until } from '../support/export-story.ts'
import { git } from '../support/odd-repositories.ts'

const REPOSITORIES = 20
const KILLS = 20
const LONGEST_LIFE_MS = 800

async function mixedStory(t: TestContext) {
  let names: string[] = []
  const story = await exportStory(t, {
    repositories: async (host) => {
      names = await mixedRepositories(host, REPOSITORIES)
    },
  })
  return { ...story, names, refStates: () => refStatesOf(story, names) }
}

test('an export that is killed again and again ends well, and leaves nothing behind', async (t) => {
  const story = await mixedStory(t)
  const { names, service, start, untilEnded, unpacked } = story
  const random = randomNumbers(20_240_229)
  const expected = new Map<number, Record<string, RefState>>()
  let interrupted = 0

  for (let kill = 0; kill < KILLS; kill++) {
    if (isIdle(story)) {
      renewAll(story, names, kill)
      expected.set(await start(names), story.refStates())
    }
    await pause(random() * LONGEST_LIFE_MS)
    await service.kill('SIGKILL')
    if (!isIdle(story)) interrupted++
    await service.restart()
  }
  t.diagnostic(`${interrupted} of ${KILLS} kills fell into ${expected.size} exports`)
  assert.ok(interrupted > 0, 'no kill fell into an export')

  for (const id of expected.keys()) assert.equal((await untilEnded(id)).state, 'exported')
  assertNothingLeftOver(service)
  for (const [id, states] of expected) assertCarried(await unpacked(id), states)
})

test('an export that is asked to stop stops soon, tidily, and goes on at the next start', async (t) => {
  const { names, service, start, untilEnded, unpacked, refStates } = await mixedStory(t)
  const id = await start(names)
  await until('it is in the middle of it', () => blobsOf(service).length > 0)
  const asked = performance.now()
  await service.kill('SIGTERM')
  const took = performance.now() - asked
  // From ten seconds on it would have been cut off.
  assert.ok(took < 9000, `it took ${took} ms to stop`)
  assert.deepEqual(unfinishedFiles(service), [])
  const [migration] = rowsOf<{ state: string }>(service, 'select state from migrations')
  assert.equal(migration!.state, 'exporting')
  const jobs = rowsOf<{ lease: string | null; failures: number }>(service, 'select * from jobs')
  assert.ok(jobs.length > 0)
  for (const { lease, failures } of jobs) assert.deepEqual([lease, failures], [null, 0])
  const finished = blobsOf(service)

  await service.restart()
  assert.equal((await untilEnded(id)).state, 'exported')
  assert.deepEqual(
    finished.filter((key) => !blobsOf(service).includes(key)),
    [],
    'what was finished is used',
  )
  assertNothingLeftOver(service)
  assertCarried(await unpacked(id), refStates())
})

function refStatesOf({ host }: ExportStory, names: readonly string[]): Record<string, RefState> {
  return Object.fromEntries(names.map((name) => [name, refStateOf(host.path(name))]))
}

function isIdle({ service }: ExportStory): boolean {
  return rowsOf(service, 'select id from jobs limit 1').length === 0
}

/** A new branch in each: no segment made so far is of use any more. */
function renewAll({ host }: ExportStory, names: readonly string[], round: number): void {
  for (const name of names) {
    const dir = host.path(name)
    const tip = git(dir, ['rev-parse', 'main'])
    writeFileSync(join(dir, `refs/heads/round-${round}`), `${tip}\n`)
  }
}

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
