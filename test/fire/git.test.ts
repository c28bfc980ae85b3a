import assert from 'node:assert/strict'
import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { COARSE_TICK_MS } from '../../packages/git/src/files/sync-fs.ts'
import { rowsOf } from '../support/export-leftovers.ts'
import { refStateOf } from '../support/export-proof.ts'
import { type ExportStory, exportStory, until } from '../support/export-story.ts'
import { assertInvariants, nothingAcknowledged } from '../support/fault-invariants.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const TIMES = shortOrLong({ short: 1, long: 8 })
const REAL_GIT = 'exec git "$@"'

/** Starts a service whose git program can be replaced while it runs. */
async function startStoryWithGit(t: TestContext, flags: string[] = []) {
  const directory = temporaryDirectory(t)
  const program = join(directory, 'git')
  // The behaviour is in a separate file, because a program cannot be written while it runs.
  await writeFile(program, `#!/bin/sh\n. ${directory}/behaviour\n`)
  const setGitScript = async (script: string) => {
    await writeFile(join(directory, 'draft'), `${script}\n`)
    await rename(join(directory, 'draft'), join(directory, 'behaviour'))
    await chmod(program, 0o755)
  }
  await setGitScript(REAL_GIT)
  const story = await exportStory(t, {
    async repositories(host) {
      // Git is needed to read a config that includes another file, but not for an ordinary repository.
      const config = { 'include.path': 'more' }
      for (const name of NAMES) await host.repository(name, { files: { a: name }, config })
    },
    flags: ['--git', program, '--rate-limit', '0', ...flags],
  })
  const states = () =>
    Object.fromEntries(NAMES.map((name) => [name, refStateOf(story.host.path(name))]))
  const changeRepositories = async (round: number) => {
    for (const name of NAMES) await story.host.commit(story.host.path(name), { a: `${round}` })
  }
  return { ...story, program, setGitScript, states, changeRepositories }
}

const NAMES = ['alice/one', 'alice/two', 'alice/three']

test('everything is exported although git is missing or killed for a while', async (t) => {
  const story = await startStoryWithGit(t)
  const acknowledged = nothingAcknowledged()
  const faults = {
    missing: () => chmod(story.program, 0o644),
    killed: () => story.setGitScript('kill -9 $$'),
  }
  for (let round = 0; round < TIMES; round++) {
    for (const [index, breakGit] of Object.values(faults).entries()) {
      await story.changeRepositories(2 * round + index)
      const known = migrationsOf(story)
      await breakGit()
      // A start has to read the changed repositories.
      await assertUnavailable(story)
      assert.deepEqual(migrationsOf(story), known)
      await story.setGitScript(REAL_GIT)
      // A start reads a repository again that had just changed when it was synchronized.
      await sleep(COARSE_TICK_MS)
      await story.service.godwit('sync')
      await breakGit()
      const failures = () => story.service.log().split('job failed').length
      const before = failures()
      const id = await story.start(NAMES)
      acknowledged.started.set(id, story.states())
      await until('an export has failed', () => failures() > before)
      await story.setGitScript(REAL_GIT)
      await story.untilEnded(id, 'exported')
    }
  }
  await assertInvariants(story, acknowledged)
  const outcome = (end: string) => `retried and exported: git ${end} before the fifth attempt`
  reportFault(t, 'git missing during an export', TIMES, outcome('was back'))
  reportFault(t, 'git killed on every run', TIMES, outcome('worked again'))
})

const migrationsOf = ({ service }: ExportStory) => rowsOf(service, 'select id from migrations')

/** Asserts that a start is rejected with 503. */
async function assertUnavailable({ call }: ExportStory): Promise<void> {
  const body = JSON.stringify({ repositories: NAMES })
  const response = await call('/user/migrations', { method: 'POST', body })
  assert.equal(response.status, 503)
  assert.equal(response.headers.get('retry-after'), '10')
  assert.match(((await response.json()) as { message: string }).message, /try again later/)
}

test('a git process that hangs is stopped, and the repository is reported by name', async (t) => {
  const story = await startStoryWithGit(t, ['--git-timeout', '3s'])
  const acknowledged = nothingAcknowledged()
  for (let round = 0; round < TIMES; round++) {
    await story.changeRepositories(round)
    const hang = 'case "$*" in *rev-list*--objects*) sleep 600 & wait;; esac'
    await story.setGitScript(`${hang}\n${REAL_GIT}`)
    const id = await story.start(NAMES, { lock_repositories: true })
    acknowledged.started.set(id, undefined)
    await story.untilEnded(id, 'failed')
  }
  await story.setGitScript(REAL_GIT)
  const repaired = await story.start(NAMES)
  acknowledged.started.set(repaired, story.states())
  await story.untilEnded(repaired, 'exported')
  const mayFail = /^alice\/(one|two|three): git was stopped: it made no progress for 3 seconds$/
  await assertInvariants(story, acknowledged, { mayFail })
  reportFault(t, 'git that hangs', TIMES * NAMES.length, 'killed; the repository is reported')
})

test('without git the service does not start, and says why', async (t) => {
  const story = await startStoryWithGit(t)
  await story.service.kill('SIGTERM')
  await chmod(story.program, 0o644)
  await assert.rejects(
    story.service.restart(),
    /godwit: .* cannot be run: .*EACCES: install git 2\.30/,
  )
  await story.setGitScript('echo git version 2.20.1')
  await assert.rejects(
    story.service.restart(),
    /godwit: 2\.20\.1, at .*, is too old: install git 2\.30/,
  )
  await story.setGitScript(REAL_GIT)
  await story.service.restart()
  await assertInvariants(story, nothingAcknowledged())
  reportFault(t, 'git missing or too old at startup', 2, 'startup fails with one line')
})
