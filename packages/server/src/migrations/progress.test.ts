import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onSqlite, openDatabase } from '../../../../test/support/databases.ts'
import { repositoryMetadata } from '../../../../test/support/repository-metadata.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'
import { changeState } from './export-store.ts'
import { DEFAULT_OPTIONS, type Migration, type MigrationOptions } from './migration.ts'
import { insertMigration } from './migration-store.ts'
import { recordOutcome, recordProgress } from './outcome-store.ts'
import { saveRecordsProgress, storeRecords } from './outcomes.ts'
import { describeReport, type Progress, progressOf, reportOf, totalsOf } from './progress.ts'

const SECOND = 1000

async function start(db: Db, sizes: number[], options: Partial<MigrationOptions> = {}) {
  const owner = await ensureAccount(db, 'alice', 0)
  const repositories = sizes.map((sizeKib, n) =>
    repositoryMetadata({ id: n + 1, name: `r${n}`, owner, sizeKib }),
  )
  const made = { guid: crypto.randomUUID(), owner, organizations: null, now: 0 }
  const { id } = await insertMigration(db, {
    ...made,
    options: { ...DEFAULT_OPTIONS, ...options },
    repositories,
  })
  return id
}

onSqlite('progress', (engine) => {
  async function scene(t: TestContext) {
    const { db } = await openDatabase(t, engine)
    const id = await start(db, [10, 20, 70])
    const read = async (now: number) => {
      const progress = await progressOf(db, { id })
      const { bytesDone, bytesExpected, secondsLeft } = totalsOf(progress, now)
      return { rows: progress.repositories, bytesDone, bytesExpected, secondsLeft }
    }
    return { db, id, read }
  }

  test('the first response has the sizes of the repository index, for each repository and in total', async (t) => {
    const { read } = await scene(t)
    const { rows, bytesDone, bytesExpected } = await read(0)
    assert.deepEqual(
      rows.map((row) => [row.state, row.bytesExpected / 1024]),
      [
        ['waiting', 10],
        ['waiting', 20],
        ['waiting', 70],
      ],
    )
    assert.deepEqual([bytesDone, bytesExpected], [0, 100 * 1024])
  })

  test('an examination refines the expected bytes, and the time left follows', async (t) => {
    const { db, id, read } = await scene(t)
    await changeState(db, id, 'exporting', { now: 0 })
    const at = (position: number) => ({ migrationId: id, position })
    const examined = {
      fingerprint: 'f',
      startedAt: 0,
      now: 0,
      bytes: 30 * 1024,
      bytesDone: 15 * 1024,
    }
    await recordProgress(db, at(0), examined)
    const first = await read(15 * SECOND)
    assert.equal(first.bytesExpected, (30 + 20 + 70) * 1024)
    assert.equal(first.secondsLeft, 105)
    const outcome = { segmentKey: 'k', reused: false, bytes: 30 * 1024, startedAt: 0 }
    await recordOutcome(db, at(0), outcome, 30 * SECOND)
    assert.equal((await read(30 * SECOND)).secondsLeft, 90)

    // A skipped repository does not count.
    await recordOutcome(db, at(1), { reason: 'broken' }, 30 * SECOND)
    const last = await read(30 * SECOND)
    assert.deepEqual([last.bytesDone, last.bytesExpected], [30 * 1024, 100 * 1024])
    assert.equal(last.secondsLeft, 70)
  })

  test('the progress says what happens now, and what is done of it', async (t) => {
    const { db, id } = await scene(t)
    const at = (position: number) => ({ migrationId: id, position })
    const now = async () => {
      const progress = await progressOf(db, { id })
      const { phase, percent, secondsLeft, bytesPerSecond } = totalsOf(progress, 9 * SECOND)
      const phases = progress.repositories.map((each) => each.phase)
      return { phase, phases, percent, secondsLeft, bytesPerSecond }
    }
    const unknown = { secondsLeft: null, bytesPerSecond: null }
    const nothing = { phases: [null, null, null], percent: 0, ...unknown }
    assert.deepEqual(await now(), { phase: 'waiting', ...nothing })
    await changeState(db, id, 'exporting', { now: 0 })
    await saveRecordsProgress(db, at(0), { done: 5, expected: 10, startedAt: 0, now: 0 })
    assert.deepEqual(await now(), {
      phase: 'records',
      phases: ['records', null, null],
      // Half of the records: a quarter of one of three repositories, which has a small part of the bytes.
      percent: 5,
      ...unknown,
    })
    const stored = { rowsKey: 'k', attachmentsKey: null, assetsKey: null, asOf: 0, losses: [] }
    await storeRecords(db, at(0), { ...stored, reused: false, count: 10 }, 2 * SECOND)
    assert.deepEqual((await now()).phases, ['queued', null, null])

    const examined = { fingerprint: 'f', startedAt: 5 * SECOND, now: 5 * SECOND, bytes: 10 * 1024 }
    await recordProgress(db, at(0), { ...examined, bytesDone: 5 * 1024 })
    const packing = await now()
    assert.deepEqual([packing.phase, packing.phases[0]], ['packing', 'packing'])
    // Since the first git data, not since the first record.
    assert.equal(packing.bytesPerSecond, Math.round((5 * 1024) / 4))

    for (const position of [0, 1, 2])
      await recordOutcome(db, at(position), { reason: 'broken' }, 8 * SECOND)
    const sealing = await now()
    assert.deepEqual([sealing.phase, sealing.percent], ['sealing', 99])
    assert.deepEqual([sealing.phases[0], sealing.secondsLeft], [null, null])
    await changeState(db, id, 'exported', { now: 8 * SECOND })
    const { phase, percent, secondsLeft } = await now()
    assert.deepEqual([phase, percent, secondsLeft], [null, 100, 0])
  })

  test('an export without git data expects no bytes', async (t) => {
    const { db } = await openDatabase(t, engine)
    const id = await start(db, [10], { excludeGitData: true })
    assert.equal(totalsOf(await progressOf(db, { id }), 0).bytesExpected, 0)
  })
})

const GIB = 2 ** 30
const owner = { id: 1, login: 'alice', type: 'User', siteAdmin: false, createdAt: 0 } as const
const migration = { id: 1, guid: 'g', owner, options: DEFAULT_OPTIONS } as Migration

function progressWith(sizes: number[]): Progress {
  return {
    state: 'exported',
    reason: null,
    createdAt: 0,
    startedAt: 0,
    endedAt: 1000,
    repositories: sizes.map((bytes, n) => ({
      fullName: `alice/r${n}`,
      state: 'exported',
      phase: null,
      packingSince: 0,
      bytesDone: bytes,
      bytesExpected: bytes,
      reused: false,
      reason: null,
      warning: null,
      missingLfs: 0,
      startedAt: 0,
      progressAt: null,
      finishedAt: 1000,
      order: n + 1,
      records: null,
    })),
  }
}

test('a migration without progress for two minutes has no estimate, and says what it waits for', () => {
  const [first, second, third] = progressWith([100, 100, 100]).repositories
  const open = { state: 'exporting', phase: 'packing', bytesDone: 60, finishedAt: null } as const
  const repositories = [
    first!,
    { ...second!, ...open, progressAt: 5 * SECOND },
    { ...third!, ...open, bytesDone: 0 },
  ]
  const state = { state: 'exporting', endedAt: null } as const
  const run = { ...progressWith([]), ...state, repositories }
  const at = (now: number, of: Progress = run) => {
    const { stall, secondsLeft } = totalsOf(of, now)
    return [stall, secondsLeft]
  }
  assert.equal(at(125 * SECOND)[0], null)
  const names = 'git data of alice/r1, alice/r2'
  assert.deepEqual(at(126 * SECOND), [{ since: 5 * SECOND, waitingFor: names }, null])
  const report = reportOf(migration, run, { damaged: [], now: 126 * SECOND })
  assert.match(
    describeReport(report),
    new RegExp(`^No progress since 1970.*: waiting for ${names}`, 'm'),
  )

  const waiting = (of: Partial<Progress>) => at(126 * SECOND, { ...run, ...of })[0]
  const sealing = { since: 1000, waitingFor: 'the archive to be sealed' }
  assert.deepEqual(waiting({ repositories: [first!] }), sealing)
  const queued = { ...third!, ...open, phase: 'queued' as const, packingSince: null }
  assert.deepEqual(waiting({ repositories: [queued] }), { since: 0, waitingFor: 'a worker' })
  const pending = { state: 'pending', startedAt: null, createdAt: 2 } as const
  assert.deepEqual(waiting({ ...pending, repositories: [] }), { since: 2, waitingFor: 'a worker' })
  assert.equal(waiting({ state: 'exported' }), null)
})

test('both forms of the report warn of an archive that is too large for GitHub', () => {
  const of = (sizes: number[], installedVersion?: string) =>
    reportOf(migration, progressWith(sizes), { damaged: [], installedVersion, now: 2000 })
  const small = of([20 * GIB, 20 * GIB])
  assert.deepEqual(small.warnings, [])
  assert.doesNotMatch(describeReport(small), /Warning/)
  const large = of([20 * GIB, 20 * GIB, 1])
  assert.match(large.warnings.join(), /^GitHub's importers take archives of up to 40 GiB/)
  assert.match(describeReport(large), /^Warning: GitHub's importers take .* has 43 GB/m)
  const limits = { '3.7.99': 2, '3.8.0': 10, '3.11.4': 10, '3.12.0': 20, '3.13.0': 40, '4.0.1': 40 }
  for (const [version, gib] of Object.entries(limits)) {
    assert.deepEqual(of([gib * GIB], version).warnings, [], version)
    const [warning] = of([gib * GIB, 1], version).warnings
    assert.match(warning!, new RegExp(`take archives of up to ${gib} GiB `), version)
    assert.equal(warning!.endsWith('or newer (--installed-version)'), gib < 40, version)
  }
})

test('both forms of the report warn of damaged data', () => {
  const report = reportOf(migration, progressWith([1]), {
    damaged: ['alice/site', 'alice/blog'],
    now: 2000,
  })
  const warning = 'the stored data of alice/site, alice/blog is damaged: start a new migration'
  assert.match(report.warnings.join(), new RegExp(`^${warning}`))
  assert.match(describeReport(report), new RegExp(`^Warning: ${warning}`, 'm'))
})
