import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { type TestContext, test } from 'node:test'
import { rowsOf } from '../support/export-leftovers.ts'
import { refStateOf } from '../support/export-proof.ts'
import { largePack } from '../support/export-sources.ts'
import { exportStory, until } from '../support/export-story.ts'
import { assertInvariants, nothingAcknowledged } from '../support/fault-invariants.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { needsMount, smallDisk } from '../support/small-disk.ts'

const TIMES = shortOrLong({ short: 1, long: 8 })
const MEGABYTE = 1024 * 1024
const NAMES = ['alice/large', 'alice/small']
const DEGRADED = '200 {"status":"degraded","waiting_for":["data"]}'

/** Starts a service whose data directory is on a small disk. */
async function startStoryOnDisk(t: TestContext) {
  // Deleted archives' segments stay until the next sweep.
  const disk = smallDisk(t, 400)
  const story = await exportStory(t, {
    async repositories(host) {
      await largePack(host.path('alice/large'), 20)
      await host.repository('alice/small', { files: { a: '1' } })
    },
    data: disk.path,
    flags: ['--rate-limit', '0', '--max-unfinished-migrations', '1000', '--segment-ttl', '1s'],
  })
  let round = 0
  return {
    ...story,
    disk,
    states: () =>
      Object.fromEntries(NAMES.map((name) => [name, refStateOf(story.host.path(name))])),
    async changeRepositories() {
      for (const name of NAMES) await story.host.commit(story.host.path(name), { b: `${++round}` })
    },
  }
}

test('an export continues after a full disk has space again', needsMount, async (t) => {
  const story = await startStoryOnDisk(t)
  const acknowledged = nothingAcknowledged()
  for (let round = 0; round < TIMES; round++) {
    await story.changeRepositories()
    // Space for the database and for half of the large repository.
    story.disk.fill((4 + (round % 8)) * MEGABYTE)
    const failures = () => story.service.log().split('job failed').length
    const before = failures()
    const id = await story.start(NAMES, { lock_repositories: round % 2 === 0 })
    acknowledged.started.set(id, story.states())
    await until('a job has failed because of the full disk', () => failures() > before)
    story.disk.free()
    await story.untilEnded(id, 'exported')
    for (const name of round % 2 === 0 ? ['large', 'small'] : [])
      await story.call(`/user/migrations/${id}/repos/${name}/lock`, { method: 'DELETE' })
    if (round < TIMES - 1) {
      await story.call(`/user/migrations/${id}/archive`, { method: 'DELETE' })
      acknowledged.deleted.add(id)
    }
  }
  await assertInvariants(story, acknowledged)
  reportFault(
    t,
    'disk full during an export',
    TIMES,
    'retried and exported: space was free again before the fifth attempt',
  )
})

test(
  'with a full disk, the service accepts no work, serves what it has, and loses nothing',
  needsMount,
  async (t) => {
    const story = await startStoryOnDisk(t)
    const { disk, service, call } = story
    const acknowledged = nothingAcknowledged()
    const archived = await story.start(NAMES)
    acknowledged.started.set(archived, story.states())
    await story.untilEnded(archived, 'exported')
    const readiness = async () => {
      const response = await fetch(`${service.url}/readyz`)
      return `${response.status} ${await response.text()}`
    }
    let rejected = 0
    let downloads = 0
    for (let round = 0; round < TIMES; round++) {
      disk.fill()
      const body = JSON.stringify({ repositories: ['alice/small'], exclude: ['repositories'] })
      // Free pages of the database file can hold a few more rows.
      for (let status = 201; status === 201; ) {
        const response = await call('/user/migrations', { method: 'POST', body })
        status = response.status
        if (status === 201)
          acknowledged.started.set(((await response.json()) as { id: number }).id, undefined)
        else {
          assert.deepEqual([status, response.headers.get('retry-after')], [503, '10'])
          const { message } = (await response.json()) as { message: string }
          assert.match(message, /^The server has no disk space left, so nothing was done\./)
        }
      }
      rejected++
      await until('readiness is degraded', async () => (await readiness()) === DEGRADED)
      assert.equal((await call(`/user/migrations/${archived}`)).status, 200)
      const elsewhere = join(temporaryDirectory(t), 'archive.tar.gz')
      const response = await fetch(await story.link(archived))
      await pipeline(
        Readable.fromWeb(response.body as ReadableStream),
        createWriteStream(elsewhere),
      )
      await service.godwit('verify', elsewhere)
      await rm(elsewhere)
      downloads++
      disk.free()
      await until('the service accepts a migration', async () => {
        const response = await call('/user/migrations', { method: 'POST', body })
        if (response.status === 201)
          acknowledged.started.set(((await response.json()) as { id: number }).id, undefined)
        return response.status === 201
      })
      await until('readiness is ok', async () => (await readiness()) === '200 {"status":"ok"}')
    }
    const known = rowsOf<{ id: number }>(service, 'select id from migrations').map(({ id }) => id)
    assert.deepEqual(
      known.sort(),
      [...acknowledged.started.keys()].sort(),
      'a rejected request started a migration',
    )
    await assertInvariants(story, acknowledged)
    reportFault(t, 'disk full during a commit', rejected, '503; nothing written')
    reportFault(t, 'disk full during a download', downloads, 'the archive is complete')
  },
)

test(
  'a read-only data directory is rejected with one line and not changed',
  needsMount,
  async (t) => {
    const story = await startStoryOnDisk(t)
    const { disk, service } = story
    const acknowledged = nothingAcknowledged()
    const id = await story.start(NAMES)
    acknowledged.started.set(id, story.states())
    await story.untilEnded(id)
    for (let round = 0; round < TIMES; round++) {
      await service.kill(round % 2 === 0 ? 'SIGTERM' : 'SIGKILL')
      disk.setReadOnly(true)
      await assert.rejects(service.restart(), (error: Error) => {
        assert.match(
          error.message.trimEnd().split('\n').at(-1)!,
          /^godwit: (?:cannot work in the data directory|.*read-only file system)/,
        )
        return true
      })
      disk.setReadOnly(false)
      await service.restart()
    }
    await assertInvariants(story, acknowledged)
    reportFault(t, 'read-only data directory', TIMES, 'startup fails with one line')
  },
)
