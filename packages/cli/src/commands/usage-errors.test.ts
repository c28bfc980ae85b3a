import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'

const SERVER = ['--url', 'http://127.0.0.1:9', '--token', 'x']

test('names and --all together are refused', async () => {
  const { code, stderr } = await createCommandRunner()([
    ...['migration', 'start', 'alice/site', '--all'],
    ...SERVER,
  ])
  assert.match(stderr, /^godwit: --all means all repositories: leave it out, or the names$/m)
  assert.equal(code, 2)
})

test('a new schedule asks for a time zone if that of the machine has no name', async () => {
  const add = ['schedule', 'add', 'alice/site', '--every', 'day', '--at', '03:30', ...SERVER]
  for (const TZ of [':/etc/localtime', '']) {
    const { code, stderr } = await createCommandRunner()(add, { TZ })
    assert.match(stderr, /^godwit: no time zone: .*; give --time-zone ZONE/m, TZ)
    assert.equal(code, 2)
  }
})

test('convert and restore refuse paths that they cannot write before they read the archive', async (t) => {
  const folder = temporaryDirectory(t)
  const same = join(folder, 'a.tar.gz')
  const convert = ['convert', 'none', '--to', 'github-archive', '--output', same, '--report', same]
  for (const [command, message] of [
    [convert, '--report would replace the output: name another file'],
    [['restore', 'none', '--into', ''], '--into : must not be empty'],
    [[...convert, '--forge', 'https://x/'], '--forge is only for --to gitea-dump: leave it out'],
    [[...convert, '--keep-links'], '--keep-links is only for --to gitea-dump: leave it out'],
    [
      [...convert, '--asset-base-url', 'https://x/'],
      '--asset-base-url is only for --to gitlab-export: leave it out',
    ],
  ] as const)
    assert.deepEqual(await createCommandRunner()(command), {
      code: 2,
      stdout: '',
      stderr: `godwit: ${message}\n`,
    })
  assert.deepEqual(readdirSync(folder), [])
})
