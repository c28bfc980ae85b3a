import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manyRepositories } from '../support/cluster-story.ts'
import { blobsOf, rowsOf } from '../support/export-leftovers.ts'
import { refStateOf } from '../support/export-proof.ts'
import { exportStory, until } from '../support/export-story.ts'
import { fakeClock, needsFaketime } from '../support/fake-clock.ts'
import { assertInvariants, nothingAcknowledged } from '../support/fault-invariants.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { signal } from '../support/processes.ts'
import { slowGit } from '../support/slow-git.ts'

/** Hours by which the clock is wrong. They are too few for anything to expire that lasts days. */
const JUMPS = shortOrLong({
  short: [-2, 2],
  long: [-2, 2, 12, -12, 3, 0, -3, 0.01, -0.01, 6, -6, 1],
})

async function startStoryWithClock(t: TestContext, flags: string[] = []) {
  const clock = fakeClock(t)
  const git = await slowGit({ afterFirst: 2 })
  t.after(git.remove)
  let names: string[] = []
  const story = await exportStory(t, {
    repositories: async (host) => {
      names = await manyRepositories(host, 5)
    },
    env: clock.env,
    flags: ['--git', git.program, '--rate-limit', '0', '--concurrency', '1', ...flags],
  })
  const states = () =>
    Object.fromEntries(names.map((name) => [name, refStateOf(story.host.path(name))]))
  return { ...story, clock, git, names, states }
}

test('an export survives a jump of the clock', needsFaketime, async (t) => {
  const { clock, git, names, states, ...story } = await startStoryWithClock(t)
  const acknowledged = nothingAcknowledged()
  const id = await story.start(names, { lock_repositories: true })
  acknowledged.started.set(id, states())
  await git.untilSlow()
  clock.set(JUMPS[0]!)
  await git.speedUp()
  // The export waits for this git process, which may already have ended.
  signal(await git.untilSlow(), 'SIGKILL')
  await story.untilEnded(id, 'exported')
  for (const jump of JUMPS.slice(1)) {
    clock.set(jump)
    for (const name of names) await story.host.commit(story.host.path(name), { b: `${jump}` })
    const id = await story.start(names, { lock_repositories: true })
    acknowledged.started.set(id, states())
    await story.untilEnded(id, 'exported')
    clock.set(-jump)
    await story.unlock(id, names)
  }
  await story.unlock(id, names)
  await assertInvariants(story, acknowledged)
  reportFault(t, 'clock set forward or back', 2 * JUMPS.length - 1, 'no export is delayed')
})

test(
  'leftovers of a crash are swept even after the clock was set back',
  needsFaketime,
  async (t) => {
    const { clock, git, names, states, ...story } = await startStoryWithClock(t)
    const acknowledged = nothingAcknowledged()
    acknowledged.started.set(await story.start(names), states())
    await git.untilSlow()
    await until('a blob is written', () => blobsOf(story.service).length > 0)
    await story.service.kill('SIGKILL')
    await git.speedUp()
    clock.set(-48)
    await story.service.restart()
    await assertInvariants(story, acknowledged)
    reportFault(t, 'clock set back after a crash', 1, 'continues at once; no files left')
  },
)

test('links and locks expire by the wall clock', needsFaketime, async (t) => {
  const { clock, git, names, ...story } = await startStoryWithClock(t)
  await git.speedUp()
  const { id } = await story.migrate(names, { lock_repositories: true })
  const link = await story.link(id)
  clock.set(0.2)
  assert.equal((await fetch(link)).status, 403)
  clock.set(0)
  assert.equal((await fetch(link)).status, 200)
  clock.set(25)
  await story.service.kill('SIGTERM')
  await story.service.restart()
  await until(
    'the locks have expired',
    () => rowsOf(story.service, 'select * from repository_locks').length === 0,
  )
  assert.equal((await story.call(`/user/migrations/${id}/archive`)).status, 302)
  reportFault(
    t,
    'clock set forward past the expiry of links and locks',
    2,
    'links rejected, locks released',
  )
})
