import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const PROCESS = new URL('../support/forge/many-records-process.ts', import.meta.url).pathname

test('50,000 issues take no more than 250 MiB of memory', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROCESS, '50000'])
  const { mostMiB, bytes } = JSON.parse(stdout) as { mostMiB: number; bytes: number }
  t.diagnostic(`${mostMiB} MiB at most, an archive of ${bytes} bytes`)
  assert.ok(mostMiB <= 250, `${mostMiB} MiB`)
})
