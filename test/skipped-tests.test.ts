import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from './support/odd-repositories.ts'

const REPORT = new URL('support/report.ts', import.meta.url).pathname

const TESTS = `
import { describe, test } from 'node:test'
test('runs', (t) => t.diagnostic('tests 9'))
test('looks at a page', { skip: 'Chromium is not installed' }, () => {})
describe('a bucket', { skip: 'Ceph is not installed' }, () => test('x', () => {}))
describe('a group', () => test('asks somebody', (t) => t.skip('Chromium is not installed')))
`

test('what was skipped is told by name and reason, right before the summary', (t) => {
  const file = join(temporaryDirectory(t), 'skips.test.ts')
  writeFileSync(file, TESTS)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const reporting = [`--test-reporter=${REPORT}`, '--test-reporter-destination=stdout']
  const run = ['--test', ...reporting, file]
  const { status, stdout } = spawnSync(process.execPath, run, { env, encoding: 'utf8' })
  assert.equal(status, 0, stdout)
  const told = stdout.slice(stdout.indexOf('ℹ skipped,')).replace(/\d+\.\d+/, 'N')
  assert.equal(
    told.trimEnd(),
    [
      'skipped, Chromium is not installed:',
      '  looks at a page',
      '  asks somebody',
      'skipped, Ceph is not installed:',
      '  a bucket',
      ...['tests 3', 'suites 2', 'pass 1', 'fail 0', 'cancelled 0', 'skipped 2', 'todo 0'],
      'duration_ms N',
    ]
      .map((line) => `ℹ ${line}`)
      .join('\n'),
  )
})
