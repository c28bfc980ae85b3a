import assert from 'node:assert/strict'
import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { rowsOf } from '../support/export-leftovers.ts'
import { refStateOf } from '../support/export-proof.ts'
import { type ExportStory, exportStory, until } from '../support/export-story.ts'
import { assertInvariants, nothingAcknowledged } from '../support/fault-invariants.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const TIMES = shortOrLong({ short: 1, long: 8 })
const REAL_GIT = 'exec git "$@"'

/** A service whose git can be exchanged while it runs. */
async function storyWithGit(t: TestContext, flags: string[] = []) {
  const directory = temporaryDirectory(t)
  const program = join(directory, 'git')
  // What it does lies beside it: a program cannot be written while it runs, nor run while it is written.
  await writeFile(program, `#!/bin/sh\n. ${directory}/behaviour\n`)
  const gitIs = async (script: string) => {
    await writeFile(join(directory, 'draft'), `${script}\n`)
    await rename(join(directory, 'draft'), join(directory, 'behaviour'))
    await chmod(program, 0o755)
  }
  await gitIs(REAL_GIT)
  const story = await exportStory(t, {
    async repositories(host) {
      // What includes another file is asked of git; facts of an ordinary repository need none.
      const config = { 'include.path': 'more' }
      for (const name of NAMES) await host.repository(name, { files: { a: name }, config })
    },
    flags: ['--git', program, '--rate-limit', '0', ...flags],
  })
  const states = () =>
    Object.fromEntries(NAMES.map((name) => [name, refStateOf(story.host.path(name))]))
  const renew = async (round: number) => {
    for (const name of NAMES) await story.host.commit(story.host.path(name), { a: `${round}` })
  }
  return { ...story, program, gitIs, states, renew }
}

const NAMES = ['alice/one', 'alice/two', 'alice/three']

test('everything is exported although git is missing or killed for a while', async (t) => {
  const story = await storyWithGit(t)
  const acknowledged = nothingAcknowledged()
  const breakIt = {
    missing: () => chmod(story.program, 0o644),
    killed: () => story.gitIs('kill -9 $$'),
  }
  for (let round = 0; round < TIMES; round++) {
    for (const [index, breaks] of Object.values(breakIt).entries()) {
      await story.renew(2 * round + index)
      const known = migrationsOf(story)
      await breaks()
      // It would have to read what has changed.
      await assertUnavailable(story)
      assert.deepEqual(migrationsOf(story), known)
      await story.gitIs(REAL_GIT)
      await story.service.godwit('sync')
      await breaks()
      const failures = () => story.service.log().split('job failed').length
      const before = failures()
      const id = await story.start(NAMES)
      acknowledged.started.set(id, story.states())
      await until('an export has failed', () => failures() > before)
      await story.gitIs(REAL_GIT)
      await story.untilEnded(id, 'exported')
    }
  }
  await assertInvariants(story, acknowledged)
  reportFault(t, 'git taken away while it is needed', TIMES, 'tried again until git is back')
  reportFault(t, 'git killed whenever it is run', TIMES, 'tried again until git lives')
})

const migrationsOf = ({ service }: ExportStory) => rowsOf(service, 'select id from migrations')

/** Nothing is promised, and nothing done. */
async function assertUnavailable({ call }: ExportStory): Promise<void> {
  const body = JSON.stringify({ repositories: NAMES })
  const answer = await call('/user/migrations', { method: 'POST', body })
  assert.equal(answer.status, 503)
  assert.equal(answer.headers.get('retry-after'), '10')
  assert.match(((await answer.json()) as { message: string }).message, /try again later/)
}

test('a git process that hangs is stopped, and the repository is reported by name', async (t) => {
  const story = await storyWithGit(t, ['--git-timeout', '3s'])
  const acknowledged = nothingAcknowledged()
  for (let round = 0; round < TIMES; round++) {
    await story.renew(round)
    const hangs = 'case "$*" in *rev-list*--objects*) sleep 600 & wait;; esac'
    await story.gitIs(`${hangs}\n${REAL_GIT}`)
    const id = await story.start(NAMES, { lock_repositories: true })
    acknowledged.started.set(id, undefined)
    await story.untilEnded(id, 'failed')
  }
  await story.gitIs(REAL_GIT)
  const mended = await story.start(NAMES)
  acknowledged.started.set(mended, story.states())
  await story.untilEnded(mended, 'exported')
  const mayFail = /^alice\/(one|two|three): git was stopped: it made no progress for 3 seconds$/
  await assertInvariants(story, acknowledged, { mayFail })
  reportFault(t, 'git that hangs', TIMES * NAMES.length, 'stopped, the repository reported by name')
})

test('without git the service does not start, and says why', async (t) => {
  const story = await storyWithGit(t)
  await story.service.kill('SIGTERM')
  await chmod(story.program, 0o644)
  await assert.rejects(
    story.service.restart(),
    /godwit: .* cannot be run: .*EACCES: install git 2\.30/,
  )
  await story.gitIs('echo git version 2.20.1')
  await assert.rejects(
    story.service.restart(),
    /godwit: 2\.20\.1, at .*, is too old: install git 2\.30/,
  )
  await story.gitIs(REAL_GIT)
  await story.service.restart()
  await assertInvariants(story, nothingAcknowledged())
  reportFault(t, 'git missing, or too old, at the start', 2, 'refused in a line')
})
