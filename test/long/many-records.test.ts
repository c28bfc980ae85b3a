import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const PROCESS = new URL('../support/forge/many-records-process.ts', import.meta.url).pathname
const MAIN = new URL('../../packages/cli/src/main.ts', import.meta.url).pathname
const run = promisify(execFile)

// As objects they would take at least 180 MiB, and the process would end without memory.
test('exporting the records of 15,000 issues needs little memory', async (t) => {
  const heap = ['--max-semi-space-size=4', '--max-old-space-size=100']
  const { stdout } = await run(process.execPath, [...heap, PROCESS, '15000'])
  const { peakMiB, bytes } = JSON.parse(stdout) as { peakMiB: number; bytes: number }
  t.diagnostic(`${peakMiB} MiB at most, an archive of ${bytes} bytes`)
  assert.ok(peakMiB <= 250, `${peakMiB} MiB`)
})

/** Prints the peak memory on standard error at exit. */
const PRINT_PEAK_MEMORY = `process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)))`

const COUNT = 4000

test(`an archive with the records of ${COUNT} issues is restored, dumped for Gitea, and exported for GitLab and back`, async (t) => {
  const folder = temporaryDirectory(t)
  const archive = join(folder, 'many.tar.gz')
  await run(process.execPath, [PROCESS, String(COUNT), archive])
  const godwit = async (...args: string[]) => {
    const importFlags = [
      '--import',
      `data:text/javascript,${encodeURIComponent(PRINT_PEAK_MEMORY)}`,
    ]
    const { stdout, stderr } = await run(process.execPath, [...importFlags, MAIN, ...args])
    const peakMiB = Math.round(Number(/\d+$/.exec(stderr)?.[0]) / 1024)
    t.diagnostic(`${args.join(' ')}: ${peakMiB} MiB at most`)
    assert.ok(peakMiB <= 250, `${peakMiB} MiB`)
    return stdout
  }
  await godwit('verify', archive)
  const restored = await godwit('restore', archive, '--into', join(folder, 'bare'))
  assert.match(restored, /^restored: ann\/many$/m)
  for (const kind of [
    `${COUNT} issues`,
    `${2 * COUNT} issue comments`,
    `${2 * COUNT} issue events`,
  ])
    assert.ok(restored.includes(kind), `${kind}: ${restored}`)

  const dumps = join(folder, 'dumps')
  await godwit('convert', archive, '--to', 'gitea-dump', '--output', dumps)
  const dump = join(dumps, 'ann/many')
  const issues = JSON.parse(await readFile(join(dump, 'issue.yml'), 'utf8')) as { number: number }[]
  assert.deepEqual(
    issues.map(({ number }) => number).sort((a, b) => a - b),
    Array.from({ length: COUNT }, (_, n) => n + 1),
  )
  assert.equal((await readdir(join(dump, 'comments'))).length, COUNT)

  const exports = join(folder, 'exports')
  await godwit('convert', archive, '--to', 'gitlab-export', '--output', exports)
  const file = join(exports, 'ann/many_export.tar.gz')
  const unpack = ['-xOzf', file, 'tree/project/issues.ndjson']
  const { stdout } = await run('tar', unpack, { maxBuffer: 1024 ** 3 })
  const exported = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { notes: { system: boolean }[] })
  assert.equal(exported.length, COUNT)
  assert.equal(
    exported.flatMap(({ notes }) => notes.filter((each) => !each.system)).length,
    2 * COUNT,
  )

  const back = join(folder, 'back.tar.gz')
  await godwit('convert', file, '--to', 'github-archive', '--output', back, '--owner', 'ann')
  const shown = await godwit('show', back, '--json')
  const { records } = JSON.parse(shown) as { records: Record<string, number> }
  assert.deepEqual([records.issues, records.issue_comments], [COUNT, 2 * COUNT])
})
