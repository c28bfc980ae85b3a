import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { rowsOf } from '../support/export-leftovers.ts'
import { refStateOf } from '../support/export-proof.ts'
import { mixedRepositories } from '../support/export-sources.ts'
import { type ExportStory, exportStory } from '../support/export-story.ts'
import {
  type Acknowledged,
  assertInvariants,
  nothingAcknowledged,
} from '../support/fault-invariants.ts'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { childrenOf, signal } from '../support/processes.ts'
import { randomNumbers } from '../support/random-numbers.ts'
import { git } from '../support/sample-repositories.ts'
import { TIMEOUT_MS, until } from '../support/wait-until.ts'

const DURATION_MS = shortOrLong({ short: 8000, long: 600_000 })
const REPOSITORIES = 12
/** Most lives are short; some are long enough to finish something, also on a slow machine. */
const MAX_LIFETIME_MS = 4000

test('killing the service or its git processes at any moment loses nothing and leaves nothing behind', async (t) => {
  t.diagnostic(`seed ${seed}`)
  let names: string[] = []
  const story = await exportStory(t, {
    repositories: async (host) => {
      names = await mixedRepositories(host, REPOSITORIES)
    },
    flags: ['--rate-limit', '0', '--log-level', 'error', '--max-unfinished-migrations', '10000'],
  })
  const acknowledged = nothingAcknowledged()
  const over = new AbortController()
  const sending = sendRequests(story, names, acknowledged, over.signal)
  const kills = await killProcesses(story)
  over.abort()
  await sending

  const { started, deleted, tokens } = acknowledged
  const summary = `${kills.intoExports} of ${kills.services} kills of the service fell into an export`
  t.diagnostic(
    `${summary}; ${started.size} exports, ${deleted.size} deletions, ${tokens.length} tokens`,
  )
  assert.ok(kills.intoExports > 0, 'no kill fell into an export')
  await assertInvariants(story, acknowledged)
  reportFault(t, 'kill -9 of the service', kills.services, 'continues after the next startup')
  reportFault(t, 'kill -9 of git', kills.gits, 'retried')
})

/** Kills the service, or sometimes a git process, sometimes after suspending it, until the time is over. */
async function killProcesses({ service }: ExportStory) {
  const random = randomNumbers(seed)
  const kills = { services: 0, intoExports: 0, gits: 0 }
  const over = performance.now() + DURATION_MS
  // On slow machines it takes longer to hit an export by chance.
  const deadline = over + TIMEOUT_MS
  const isDone = () => kills.intoExports > 0 || performance.now() > deadline
  while (performance.now() < over || !isDone()) {
    await pause(random() ** 3 * MAX_LIFETIME_MS)
    const [victim] = childrenOf(service.pid())
    const kind = random()
    if (kind < 0.2 && victim !== undefined && signal(victim, 'SIGKILL')) kills.gits++
    if (kind < 0.2) continue
    if (kind < 0.4) {
      signal(service.pid(), 'SIGSTOP')
      await pause(random() * 200)
    }
    await service.kill('SIGKILL')
    kills.services++
    if (rowsOf(service, 'select id from jobs limit 1').length > 0) kills.intoExports++
    await service.restart()
    // A job fails after five kills; this one must end before.
    await until(
      'no job was killed three times',
      () => rowsOf(service, 'select id from jobs where failures >= 3').length === 0,
    )
  }
  return kills
}

/** Starts exports one after the other, some with locks, and other requests; retries requests without a response. */
async function sendRequests(
  story: ExportStory,
  names: readonly string[],
  acknowledged: Acknowledged,
  over: AbortSignal,
): Promise<void> {
  const { started, deleted, tokens } = acknowledged
  const retry = <T>(act: () => Promise<T>) => retryUntilResponse(act, over)
  for (let round = 1; !over.aborted; round++) {
    addBranches(story, names, round)
    const id = await retry(() => story.start(names, { lock_repositories: round % 2 === 0 }))
    if (id === undefined) return
    started.set(
      id,
      Object.fromEntries(names.map((name) => [name, refStateOf(story.host.path(name))])),
    )
    await retry(() => story.untilEnded(id))
    if (round % 2 === 0) await retry(() => story.unlock(id, names))
    if (round % 4 !== 0 && (await retry(() => deleteArchive(story, id)))) deleted.add(id)
    const token = await retry(() => story.service.token('alice'))
    if (token !== undefined) tokens.push(token)
  }
}

/** Retries after a cut connection or a 503. Returns undefined if the time is over before a response. */
async function retryUntilResponse<T>(
  act: () => Promise<T>,
  over: AbortSignal,
): Promise<T | undefined> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof TypeError || /"status":"503"|\b503$/.test(String(error)))) throw error
      if (over.aborted) return undefined
      await pause(50)
    }
  }
}

async function deleteArchive({ call }: ExportStory, id: number): Promise<boolean> {
  const { status } = await call(`/user/migrations/${id}/archive`, { method: 'DELETE' })
  assert.ok(status === 204 || status === 404, `${status}`)
  return true
}

/** Adds a branch to each repository, so that no segment can be reused. */
function addBranches({ host }: ExportStory, names: readonly string[], round: number): void {
  for (const name of names) {
    const dir = host.path(name)
    const tip = git(dir, ['rev-parse', 'main'])
    writeFileSync(join(dir, `refs/heads/round-${round}`), `${tip}\n`)
  }
}
