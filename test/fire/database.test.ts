import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { manyRepositories } from '../support/cluster-story.ts'
import { refStateOf } from '../support/export-proof.ts'
import { type ExportStory, exportStory, until } from '../support/export-story.ts'
import { assertInvariants, nothingAcknowledged } from '../support/fault-invariants.ts'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { randomNumbers } from '../support/random-numbers.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const TIMES = shortOrLong({ short: 2, long: 12 })

async function startStory(t: TestContext) {
  let names: string[] = []
  const story = await exportStory(t, {
    repositories: async (host) => {
      names = await manyRepositories(host, 6)
    },
    flags: ['--rate-limit', '0', '--max-unfinished-migrations', '1000'],
  })
  const states = () =>
    Object.fromEntries(names.map((name) => [name, refStateOf(story.host.path(name))]))
  return { ...story, names, states, file: join(story.service.data, 'godwit.sqlite') }
}

test('reads continue and writes wait while another process writes to the database', async (t) => {
  const { names, file, states, ...story } = await startStory(t)
  const acknowledged = nothingAcknowledged()
  for (let round = 0; round < TIMES; round++) {
    using other = new DatabaseSync(file, { timeout: 60_000 })
    other.exec('begin immediate')
    let isStarted = false
    const starting = story.start(names).then((id) => {
      isStarted = true
      acknowledged.started.set(id, states())
      return id
    })
    await pause(1000)
    assert.equal((await story.call('/user/migrations')).status, 200)
    assert.equal(isStarted, false)
    other.exec('rollback')
    await story.untilEnded(await starting)
  }
  await assertInvariants(story, acknowledged)
  reportFault(
    t,
    'database locked by another process',
    TIMES,
    'reads continue; writes wait, then succeed',
  )
})

test('a damaged database is rejected at the start and not changed', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const random = randomNumbers(seed)
  const { names, file, states, ...story } = await startStory(t)
  const acknowledged = nothingAcknowledged()
  const id = await story.start(names)
  acknowledged.started.set(id, states())
  await story.untilEnded(id)
  await story.service.kill('SIGTERM')
  const backup = join(temporaryDirectory(t), 'backup.sqlite')
  copyFileSync(file, backup)
  for (let round = 0; round < TIMES; round++) {
    // The first pages are in use for certain: the header, the schema, the roots of tables.
    const at = round % 2 === 0 ? 0 : 4096 + Math.floor(random() * 3) * 4096
    overwrite(file, at, 200)
    const before = digestsOf(file)
    await assert.rejects(story.service.restart(), /\ngodwit: the database .* is damaged \(/)
    assert.deepEqual(digestsOf(file), before)
    copyFileSync(backup, file)
    for (const rest of ['-wal', '-shm']) rmSync(`${file}${rest}`, { force: true })
  }
  await story.service.restart()
  await assertInvariants(story, acknowledged)
  reportFault(
    t,
    'damaged database at startup',
    TIMES,
    'startup fails with one line; nothing overwritten',
  )
})

test('a database that is damaged during use stops the service, which does not start again', async (t) => {
  const { names, file, ...story } = await startStory(t)
  const id = await story.start(names)
  await story.untilEnded(id)
  checkpoint(file)
  overwrite(file, 4096, statSync(file).size - 4096)
  await until('the service has stopped', () => isStopped(story, names))
  assert.match(story.service.log(), /"level":60.*the database is damaged; stopping/)
  const before = digestsOf(file)
  await assert.rejects(story.service.restart(), /\ngodwit: the database .* is damaged \(/)
  assert.deepEqual(digestsOf(file), before)
  reportFault(t, 'database damaged during use', 1, 'the service stops; the next startup fails')
})

async function isStopped({ call }: ExportStory, names: readonly string[]): Promise<boolean> {
  const body = JSON.stringify({ repositories: names })
  const requests = [call('/user/migrations', { method: 'POST', body }), call('/user/migrations')]
  const responses = await Promise.allSettled(requests)
  return responses.some(({ status }) => status === 'rejected')
}

/** Empties the write-ahead log, so that the next reads come from the database file. */
function checkpoint(file: string): void {
  using other = new DatabaseSync(file, { timeout: 60_000 })
  other.exec('pragma wal_checkpoint(truncate)')
}

function overwrite(file: string, at: number, length: number): void {
  const open = openSync(file, 'r+')
  writeSync(open, Buffer.alloc(length, 0xa5), 0, length, at)
  closeSync(open)
}

function digestsOf(file: string): string[] {
  return [file, `${file}-wal`]
    .filter((path) => existsSync(path) && statSync(path).size > 0)
    .map((path) => createHash('sha256').update(readFileSync(path)).digest('hex'))
}
