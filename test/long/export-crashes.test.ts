import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  assertNothingLeftOver,
  blobsOf,
  rowsOf,
  unfinishedFiles,
} from '../support/export-leftovers.ts'
import { assertArchiveHolds, type RefState, refStateOf } from '../support/export-proof.ts'
import { mixedRepositories } from '../support/export-sources.ts'
import { type ExportStory, exportStory, until } from '../support/export-story.ts'
import { slowGit } from '../support/slow-git.ts'

const REPOSITORIES = 10

async function mixedStory(t: TestContext) {
  let names: string[] = []
  const git = await slowGit({ afterFirst: REPOSITORIES / 2 })
  t.after(git.remove)
  const story = await exportStory(t, {
    repositories: async (host) => {
      names = await mixedRepositories(host, REPOSITORIES)
    },
    flags: ['--git', git.program],
  })
  return { ...story, git, names, refStates: () => refStatesOf(story, names) }
}

test('an export that is asked to stop stops soon, tidily, and goes on at the next start', async (t) => {
  const { git, names, service, start, untilEnded, unpacked, refStates } = await mixedStory(t)
  const id = await start(names)
  await until('something is finished', () => blobsOf(service).length > 0)
  await git.pid()
  // Had it been cut off after its ten seconds, it would have ended as by the signal.
  assert.equal(await service.kill('SIGTERM'), 0, service.log())
  assert.deepEqual(unfinishedFiles(service), [])
  const [migration] = rowsOf<{ state: string }>(service, 'select state from migrations')
  assert.equal(migration!.state, 'exporting')
  const jobs = rowsOf<{ lease: string | null; failures: number }>(service, 'select * from jobs')
  assert.ok(jobs.length > 0)
  for (const { lease, failures } of jobs) assert.deepEqual([lease, failures], [null, 0])
  const finished = blobsOf(service)

  await git.hurry()
  await service.restart()
  await untilEnded(id, 'exported')
  assert.deepEqual(
    finished.filter((key) => !blobsOf(service).includes(key)),
    [],
    'what was finished is used',
  )
  assertNothingLeftOver(service)
  assertArchiveHolds(await unpacked(id), refStates())
})

function refStatesOf({ host }: ExportStory, names: readonly string[]): Record<string, RefState> {
  return Object.fromEntries(names.map((name) => [name, refStateOf(host.path(name))]))
}
