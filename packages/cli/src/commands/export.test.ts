import assert from 'node:assert/strict'
import { test } from 'node:test'
import { repositoryMetadata } from '../../../../test/support/repository-metadata.ts'
import { exportReport, needsAttention } from './export.ts'

const GIB = 2 ** 30

test("each archive that is too large for GitHub's importer gets a warning", () => {
  const warningsOf = (
    archives: Parameters<typeof exportReport>[1]['archives'],
    installedVersion?: string,
  ) => {
    const report = exportReport([], { archives, seconds: 1, warnings: ['first'], installedVersion })
    const { warnings } = report.json() as { warnings: string[] }
    assert.equal(warnings[0], 'first')
    assert.equal(report.text().match(/^warning: /gm)?.length ?? 0, warnings.length)
    return warnings.slice(1)
  }
  assert.deepEqual(warningsOf([{ bytes: 40 * GIB }]), [])
  assert.match(warningsOf([{ bytes: 40 * GIB + 1 }]).join(), /^GitHub's importers take archives of/)
  assert.match(
    warningsOf([{ bytes: 11 * GIB }], '3.9.2').join(),
    /up to 10 GiB .* of version 3.9.2/,
  )
  const named = (name: string) => ({ fullName: `alice/${name}`, file: `alice/${name}.tar.gz` })
  const [first, ...more] = warningsOf([
    { bytes: 30 * GIB, repository: named('a') },
    { bytes: 50 * GIB, repository: named('b') },
  ])
  assert.match(first!, /^alice\/b\.tar\.gz: GitHub's importers .* has 54 GB/)
  assert.deepEqual(more, [])
})

test('losses of records of a forge are in the report and on the terminal', () => {
  const end = {
    metadata: repositoryMetadata(),
    outcome: 'exported',
    warning: null,
    missingLfs: 0,
  } as const
  const losses = [
    { kind: 'not_read', count: 1, examples: ['the forge does not give collaborators'] },
  ]
  const read = { asOf: Date.UTC(2026, 0, 2), losses, count: 3 }
  const recordsOf = (records: typeof read | null) => {
    const exported = { archives: [], seconds: 1, warnings: [] }
    const { repositories } = exportReport([{ ...end, records }], exported).json() as {
      repositories: { records: unknown }[]
    }
    return repositories[0]?.records
  }
  assert.deepEqual(recordsOf(read), { as_of: '2026-01-02T00:00:00.000Z', losses })
  assert.equal(recordsOf(null), null)
  assert.equal(needsAttention({ ...end, records: read }), true)
  assert.equal(needsAttention({ ...end, records: { ...read, losses: [] } }), false)
})
