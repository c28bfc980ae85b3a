import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Migration, ORDINARY } from './migration.ts'
import type { Progress } from './progress.ts'
import { describeReport, reportOf } from './report.ts'

const GIB = 2 ** 30
const owner = { id: 1, login: 'alice', type: 'User', siteAdmin: false, createdAt: 0 } as const
const migration = { id: 1, guid: 'g', owner, options: ORDINARY } as Migration

function progressWith(sizes: number[]): Progress {
  return {
    state: 'exported',
    reason: null,
    startedAt: 0,
    endedAt: 1000,
    repositories: sizes.map((bytes, n) => ({
      fullName: `alice/r${n}`,
      state: 'exported',
      bytesDone: bytes,
      bytesExpected: bytes,
      reused: false,
      reason: null,
      warning: null,
      startedAt: 0,
      finishedAt: 1000,
      order: n + 1,
      records: null,
    })),
  }
}

test('an archive that no importer of GitHub takes is told in both forms of the report', () => {
  const small = reportOf(migration, progressWith([20 * GIB, 20 * GIB]), [], 2000)
  assert.deepEqual(small.warnings, [])
  assert.doesNotMatch(describeReport(small), /Warning/)
  const large = reportOf(migration, progressWith([20 * GIB, 20 * GIB, 1]), [], 2000)
  assert.match(large.warnings.join(), /^GitHub's importers take archives of up to 40 GiB/)
  assert.match(describeReport(large), /^Warning: GitHub's importers take .* has 43 GB/m)
})

test('damaged data of the archive is told in both forms of the report', () => {
  const report = reportOf(migration, progressWith([1]), ['alice/site', 'alice/blog'], 2000)
  const told = 'the stored data of alice/site, alice/blog is damaged: start a new migration'
  assert.match(report.warnings.join(), new RegExp(`^${told}`))
  assert.match(describeReport(report), new RegExp(`^Warning: ${told}`, 'm'))
})
