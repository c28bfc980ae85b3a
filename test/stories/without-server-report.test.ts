import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import { createCommandRunner } from '../support/shared-commands.ts'

test('an export reports the outcome of each repository to people and programs', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/good', { files: { a: '1' } })
  await host.repository('alice/lost', { files: { a: '2' } })
  await host.loseObjects('alice/lost')
  const dir = await mkdtemp(join(tmpdir(), 'godwit-report-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  const [output, reportFile] = [join(dir, 'a.tar.gz'), join(dir, 'report.json')]
  const { code, stderr } = await createCommandRunner()([
    ...['export', 'alice', '--repositories', host.root, '--output', output],
    ...['--allow-partial', '--report', reportFile],
  ])
  assert.equal(code, 0, stderr)
  assert.match(stderr, /^2 repositories: 1 exported \(0 of them .*\), 1 skipped; .* in .* s$/m)
  const report = JSON.parse(await readFile(reportFile, 'utf8'))
  assert.deepEqual([report.total, report.exported, report.reused, report.skipped], [2, 1, 0, 1])
  const lost = report.repositories.find(
    (each: { full_name: string }) => each.full_name === 'alice/lost',
  )
  assert.equal(lost.outcome, 'skipped')
  assert.ok(lost.reason.length > 0)
})
