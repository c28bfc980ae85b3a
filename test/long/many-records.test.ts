import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const PROCESS = new URL('../support/forge/many-records-process.ts', import.meta.url).pathname

// As objects they would take 600 MiB and more. How much it is exactly depends on when V8 collects.
test('the records of 50,000 issues are never all in memory', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROCESS, '50000'])
  const { mostMiB, bytes } = JSON.parse(stdout) as { mostMiB: number; bytes: number }
  t.diagnostic(`${mostMiB} MiB at most, an archive of ${bytes} bytes`)
  assert.ok(mostMiB <= 350, `${mostMiB} MiB`)
})
