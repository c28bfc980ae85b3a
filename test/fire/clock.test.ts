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

/** Hours away from the truth. What expires after days stays. */
const JUMPS = shortOrLong({
  short: [-2, 2],
  long: [-2, 2, 12, -12, 3, 0, -3, 0.01, -0.01, 6, -6, 1],
})

async function storyInTime(t: TestContext, flags: string[] = []) {
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
  const { clock, git, names, states, ...story } = await storyInTime(t)
  const acknowledged = nothingAcknowledged()
  const id = await story.start(names, { lock_repositories: true })
  acknowledged.started.set(id, states())
  await git.pid()
  clock.set(JUMPS[0]!)
  await git.speedUp()
  // It waits for the one that was made slow, unless that has ended by itself; it is done again by no one else.
  signal(await git.pid(), 'SIGKILL')
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
  reportFault(t, 'clock put forward or back', 2 * JUMPS.length - 1, 'no export waits for it')
})

test(
  'leftovers of a crash are swept even after the clock was set back',
  needsFaketime,
  async (t) => {
    const { clock, git, names, states, ...story } = await storyInTime(t)
    const acknowledged = nothingAcknowledged()
    acknowledged.started.set(await story.start(names), states())
    await git.pid()
    await until('something is written', () => blobsOf(story.service).length > 0)
    await story.service.kill('SIGKILL')
    await git.speedUp()
    clock.set(-48)
    await story.service.restart()
    await assertInvariants(story, acknowledged)
    reportFault(t, 'clock put back over a crash', 1, 'goes on at once, nothing left')
  },
)

test('links and locks expire by the wall clock', needsFaketime, async (t) => {
  const { clock, git, names, ...story } = await storyInTime(t)
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
    'the locks are over',
    () => rowsOf(story.service, 'select * from repository_locks').length === 0,
  )
  assert.equal((await story.call(`/user/migrations/${id}/archive`)).status, 302)
  reportFault(
    t,
    'clock put forward over the end of links and locks',
    2,
    'links refused, locks opened',
  )
})
