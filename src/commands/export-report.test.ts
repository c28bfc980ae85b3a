import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportReport } from './export-report.ts'

const GIB = 2 ** 30

test('archives that no importer of GitHub takes are told, each by itself', () => {
  const warningsOf = (archives: Parameters<typeof exportReport>[1]['archives']) => {
    const report = exportReport([], { archives, seconds: 1, warnings: ['first'] })
    const { warnings } = report.json() as { warnings: string[] }
    assert.equal(warnings[0], 'first')
    assert.equal(report.text().match(/^warning: /gm)?.length ?? 0, warnings.length)
    return warnings.slice(1)
  }
  assert.deepEqual(warningsOf([{ bytes: 40 * GIB }]), [])
  assert.match(warningsOf([{ bytes: 40 * GIB + 1 }]).join(), /^GitHub's importers take archives of/)
  const of = (name: string) => ({ fullName: `alice/${name}`, file: `alice/${name}.tar.gz` })
  const [first, ...more] = warningsOf([
    { bytes: 30 * GIB, of: of('a') },
    { bytes: 50 * GIB, of: of('b') },
  ])
  assert.match(first!, /^alice\/b\.tar\.gz: GitHub's importers .* has 54 GB/)
  assert.deepEqual(more, [])
})
