import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { refStateOf } from '../support/export-proof.ts'
import { largePack, mixedRepositories } from '../support/export-sources.ts'
import { type ExportStory, exportStory, until } from '../support/export-story.ts'
import { assertInvariants, nothingAcknowledged } from '../support/fault-invariants.ts'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { childrenOf, signal } from '../support/processes.ts'
import { randomNumbers } from '../support/random-numbers.ts'

const TIMES = shortOrLong({ short: 1, long: 6 })
/** Each of these tests takes a minute, most of it waiting for retries. */
const onlyInLongForm = {
  skip: shortOrLong<string | false>({ short: 'only npm run test:fire runs it', long: false }),
}

async function startMixedStory(t: TestContext, env: Record<string, string> = {}) {
  let names: string[] = []
  const story = await exportStory(t, {
    repositories: async (host) => {
      names = await mixedRepositories(host, 10)
    },
    flags: ['--rate-limit', '0', '--max-unfinished-migrations', '100'],
    env,
  })
  const states = () =>
    Object.fromEntries(names.map((name) => [name, refStateOf(story.host.path(name))]))
  const changeRepositories = async (round: number) => {
    for (const name of names) await story.host.commit(story.host.path(name), { b: `${round}` })
  }
  return { ...story, names, states, changeRepositories }
}

test(
  'without file descriptors requests are rejected, nothing is lost, and the service recovers',
  onlyInLongForm,
  async (t) => {
    const { names, states, changeRepositories, ...story } = await startMixedStory(t)
    const { service } = story
    const acknowledged = nothingAcknowledged()
    for (let round = 0; round < TIMES; round++) {
      await changeRepositories(round)
      const id = await story.start(names, { lock_repositories: true })
      acknowledged.started.set(id, states())
      const limit = openFileLimit(service.pid())
      setOpenFileLimit(service.pid(), 40)
      const sockets = await Promise.all(Array.from({ length: 100 }, () => openSocket(story)))
      await pause(1000)
      for (const socket of sockets) socket.destroy()
      setOpenFileLimit(service.pid(), limit)
      await until('the service responds again', () =>
        story.call('/user/migrations').then(
          ({ ok }) => ok,
          () => false,
        ),
      )
      await story.untilEnded(id, 'exported')
      await story.unlock(id, names)
    }
    await assertInvariants(story, acknowledged)
    reportFault(
      t,
      'no file descriptors left',
      TIMES,
      'connections rejected; exported after descriptors were free again',
    )
  },
)

test(
  'everything is exported although the service and its git processes are suspended repeatedly',
  onlyInLongForm,
  async (t) => {
    t.diagnostic(`seed ${seed}`)
    const random = randomNumbers(seed)
    const { names, states, changeRepositories, ...story } = await startMixedStory(t)
    const acknowledged = nothingAcknowledged()
    let pauses = 0
    for (let round = 0; round < TIMES; round++) {
      await changeRepositories(round)
      const id = await story.start(names)
      acknowledged.started.set(id, states())
      let isEnded = false
      const ended = story.untilEnded(id, 'exported').finally(() => {
        isEnded = true
      })
      for (; !isEnded; pauses++) {
        const pids = [story.service.pid(), ...childrenOf(story.service.pid())]
        for (const pid of pids) signal(pid, 'SIGSTOP')
        await pause(random() * 300)
        for (const pid of pids) signal(pid, 'SIGCONT')
        await pause(random() * 150)
      }
      await ended
    }
    await assertInvariants(story, acknowledged)
    reportFault(t, 'service suspended (SIGSTOP)', pauses, 'continues')
  },
)

test('a large repository is exported with little memory', onlyInLongForm, async (t) => {
  const story = await exportStory(t, {
    repositories: (host) =>
      largePack(host.path('alice/large'), shortOrLong({ short: 80, long: 400 })),
    flags: ['--rate-limit', '0'],
    env: { NODE_OPTIONS: '--max-old-space-size=48' },
  })
  const acknowledged = nothingAcknowledged()
  const id = await story.start(['large'])
  acknowledged.started.set(id, { 'alice/large': refStateOf(story.host.path('alice/large')) })
  await story.untilEnded(id, 'exported')
  await assertInvariants(story, acknowledged)
  reportFault(t, 'heap of 48 MB, repository many times that', 1, 'exported')
})

test('a service that is killed for lack of memory loses nothing', onlyInLongForm, async (t) => {
  const { names, states, ...story } = await startMixedStory(t)
  const acknowledged = nothingAcknowledged()
  const { service } = story
  acknowledged.started.set(await story.start(names), states())
  execFileSync('prlimit', ['--pid', `${service.pid()}`, `--as=${64 * 1024 * 1024}`])
  // Whether it dies by itself depends on its allocations.
  await pause(1500)
  await service.kill('SIGKILL')
  await service.restart()
  await assertInvariants(story, acknowledged)
  reportFault(t, 'no memory left', 1, 'exported after a restart')
})

async function openSocket({ service }: ExportStory): Promise<Socket> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect').catch(() => {})
  return socket
}

function openFileLimit(pid: number): number {
  const columns = ['--nofile', '--noheadings', '--output', 'SOFT']
  return Number(execFileSync('prlimit', ['--pid', `${pid}`, ...columns]))
}

/** Sets only the soft limit, which can be raised again. */
function setOpenFileLimit(pid: number, limit: number): void {
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${limit}:`])
}
