import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandLine } from '../support/command-line.ts'
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

test('a report cannot replace the archive', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/good', { files: { a: 'a' } })
  const { godwit, folder } = await commandLine(t)
  const order = ['export', 'alice', '--repositories', host.root, '--output', 'a.tar.gz']
  const { code, output } = await godwit([...order, '--report', './a.tar.gz'])
  assert.equal(code, 2)
  assert.match(output, /^godwit: --report would replace the archive: name another file$/m)
  assert.deepEqual(await readdir(folder), [])
})

test('export, verify and restore print their results as JSON', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/good', { files: { a: 'a' } })
  await host.repository('alice/bad', { files: { a: 'b' } })
  await host.loseObjects('alice/bad')
  const { godwit, folder } = await commandLine(t)
  const json = async (code: number, ...args: string[]) => {
    const ended = await godwit([...args, '--json'])
    assert.equal(ended.code, code, ended.output)
    return JSON.parse(ended.stdout.toString())
  }
  const order = ['export', 'alice', '--repositories', host.root, '--output']
  const report = await json(0, ...order, 'a.tar.gz', '--allow-partial')
  const outcomes = report.repositories.map((each: Record<string, unknown>) => [
    each.full_name,
    each.outcome,
  ])
  assert.deepEqual(outcomes.sort(), [
    ['alice/bad', 'skipped'],
    ['alice/good', 'exported'],
  ])
  const findings = await json(0, 'verify', 'a.tar.gz')
  assert.deepEqual(findings.at(-1).level, 'result')
  assert.ok(findings.some(({ level }: { level: string }) => level === 'verified'))
  const restored = await json(0, 'restore', 'a.tar.gz', '--into', 'restored')
  assert.deepEqual([restored.restored, restored.failed], [['alice/good'], []])

  const bytes = await readFile(join(folder, 'a.tar.gz'))
  await writeFile(join(folder, 'cut.tar.gz'), bytes.subarray(0, bytes.length - 100))
  const broken = await json(1, 'verify', 'cut.tar.gz')
  assert.ok(broken.some(({ level }: { level: string }) => level === 'error'))
})
