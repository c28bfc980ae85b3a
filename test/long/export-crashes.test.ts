import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import {
  assertNothingLeftOver,
  blobsOf,
  rowsOf,
  unfinishedFiles,
} from '../support/export-leftovers.ts'
import { assertArchiveHolds, type RefState, refStateOf } from '../support/export-proof.ts'
import { largePack, mixedRepositories } from '../support/export-sources.ts'
import { type ExportStory, exportStory, until } from '../support/export-story.ts'
import { slowGit } from '../support/slow-git.ts'

/** Each has a job of its own. Of more than eight, the small ones would share one, without git. */
const REPOSITORIES = 8

async function startMixedStory(t: TestContext) {
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

test('a stopped export ends soon and leaves nothing behind, a killed one until the next start, and both continue', async (t) => {
  const { git, names, service, start, untilEnded, unpack, refStates } = await startMixedStory(t)
  const id = await start(names)
  await until('a blob is finished', () => blobsOf(service).length > 0)
  await git.untilSlow()
  // A service that did not stop within ten seconds would have been killed.
  assert.equal(await service.kill('SIGTERM'), 0, service.log())
  assert.deepEqual(unfinishedFiles(service), [])
  const [migration] = rowsOf<{ state: string }>(service, 'select state from migrations')
  assert.equal(migration!.state, 'exporting')
  const jobs = rowsOf<{ lease: string | null; failures: number }>(service, 'select * from jobs')
  assert.ok(jobs.length > 0)
  for (const { lease, failures } of jobs) assert.deepEqual([lease, failures], [null, 0])
  const finished = blobsOf(service)

  await git.slowDown()
  await service.restart()
  await git.untilSlow()
  await service.kill('SIGKILL')
  // The snapshot and the bytes of a repository in work, which is begun again.
  assert.notDeepEqual(unfinishedFiles(service), [])

  await git.speedUp()
  await service.restart()
  await untilEnded(id, 'exported')
  assert.deepEqual(
    finished.filter((key) => !blobsOf(service).includes(key)),
    [],
    'finished blobs were discarded',
  )
  assertNothingLeftOver(service)
  assertArchiveHolds(await unpack(id), refStates())
})

test('a repository whose export crashes the service every time fails by name, and the others are exported', async (t) => {
  const git = await slowGit()
  t.after(git.remove)
  const { service, host, call, start, untilEnded, migrate } = await exportStory(t, {
    repositories: (host) => host.repository('alice/deadly', { files: { a: 'a' } }),
    flags: ['--git', git.program],
  })
  const id = await start(['deadly'])
  for (let kills = 1; kills <= 5; kills++) {
    await git.untilSlow(kills)
    await service.kill('SIGKILL')
    await service.restart()
  }
  await untilEnded(id, 'failed')
  const report = await (await call(`/user/migrations/${id}/report`)).text()
  assert.match(report, /"full_name":"alice\/deadly".*"its worker was lost"/)
  assert.equal(
    await git.untilSlow(5),
    await git.untilSlow(),
    'the repository was exported a sixth time',
  )
  await git.speedUp()
  await host.repository('alice/harmless', { files: { a: 'a' } })
  await service.godwit('sync')
  await migrate(['harmless'])
})

function refStatesOf({ host }: ExportStory, names: readonly string[]): Record<string, RefState> {
  return Object.fromEntries(names.map((name) => [name, refStateOf(host.path(name))]))
}

test('a download that a crash cut off can be resumed', async (t) => {
  const { service, migrate, link, download } = await exportStory(t, {
    repositories: (host) => largePack(host.path('alice/large'), 30),
  })
  const { id } = await migrate(['large'])
  const cut = await fetch(await link(id))
  const etag = cut.headers.get('etag')!
  const received: Uint8Array[] = []
  await assert.rejects(async () => {
    for await (const chunk of cut.body!) {
      received.push(chunk)
      await service.kill('SIGKILL')
    }
  })
  await service.restartShared()
  const start = Buffer.concat(received)
  const headers = { range: `bytes=${start.length}-`, 'if-range': etag }
  const rest = await fetch(await link(id), { headers })
  assert.equal(rest.status, 206)
  const resumed = Buffer.concat([start, Buffer.from(await rest.arrayBuffer())])
  assert.ok(resumed.equals(await readFile(await download(id))))
})
