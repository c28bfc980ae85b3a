import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sharedExportStory } from '../support/export-story.ts'
import { until } from '../support/wait-until.ts'

/** An LFS pointer, so that an export searches for more of them after it has written and verified everything. */
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 1\n`
/** Makes the repository large enough for git to verify it. */
const NOISE = randomBytes(200_000).toString('base64')

test('progress moves while git walks the history, and while it searches for LFS pointers', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-progress-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  // A git that reports objects, as it does in large repositories, and goes on when there is a file `STEP-OBJECTS`.
  const program = join(folder, 'git')
  await writeFile(
    program,
    `#!/bin/sh
case "$*" in
  *rev-list*--quiet*--progress=Objects*) step=verify ;;
  *rev-list*--progress=Objects*--no-walk*) step=search ;;
esac
for objects in \${step:+1 2}; do
  until [ -e ${folder}/$step-$objects ] || [ ! -d ${folder} ]; do
    printf 'Objects: %d\\r' $objects >&2
    sleep 0.1
  done
done
exec git "$@"
`,
    { mode: 0o755 },
  )
  const { call, start, untilEnded } = await sharedExportStory(t, {
    repositories: (host) => host.repository('alice/site', { files: { a: POINTER, b: NOISE } }),
    flags: ['--git', program],
  })
  const id = await start(['site'])
  const progress = async () => {
    const response = await call(`/user/migrations/${id}/progress`)
    return ((await response.json()) as { totals: Totals }).totals
  }
  let last = { bytes_done: 0, percent: 0 }
  for (const step of ['verify-1', 'verify-2', 'search-1', 'search-2']) {
    const moved = await until(`the progress moves during ${step}`, async () => {
      const now = await progress()
      return now.bytes_done > last.bytes_done && now
    })
    assert.ok(moved.percent >= last.percent && moved.percent < 100, `${moved.percent} %`)
    assert.ok(moved.bytes_done < moved.bytes_expected)
    last = moved
    await writeFile(join(folder, step), '')
  }
  await untilEnded(id, 'exported')
  const { percent, bytes_done, bytes_expected } = await progress()
  assert.deepEqual([percent, bytes_done], [100, bytes_expected])
})

interface Totals {
  percent: number
  bytes_done: number
  bytes_expected: number
}
