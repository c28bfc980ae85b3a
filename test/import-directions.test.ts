import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'

const ROOT = new URL('..', import.meta.url).pathname
const BIOME = join(ROOT, 'node_modules/.bin/biome')

/** From which room, which import, and whether the house allows it. */
const IMPORTS: [from: string, to: string, allowed: boolean][] = [
  ['src/http/a.ts', '../migrations/start-migration.ts', true],
  ['src/http/a.ts', '../exporter/export-migration.ts', false],
  ['src/http/a.ts', '../config.ts', false],
  ['src/exporter/a.ts', '../http/server.ts', false],
  ['src/exporter/a.ts', '../sources/source.ts', true],
  ['src/exporter/a.ts', '../importer/verify-archive.ts', false],
  ['src/importer/a.ts', '../sources/source.ts', true],
  ['src/importer/a.ts', '../archive/read-entries.ts', true],
  ['src/importer/a.ts', '../exporter/seal-archive.ts', false],
  ['src/importer/a.ts', '../db/connect.ts', false],
  ['src/http/a.ts', '../importer/verify-archive.ts', false],
  ['src/sources/a.ts', '../importer/records.ts', false],
  ['src/client/a.ts', './send-request.ts', true],
  ['src/client/a.ts', '@octokit/core', true],
  ['src/client/a.ts', '../db/connect.ts', false],
  ['src/client/a.ts', '../exporter/seal-archive.ts', false],
  ['src/client/a.ts', '../http/github-json.ts', false],
  ['src/client/a.ts', '../config.ts', false],
  ['src/client/a.ts', '../commands/command-line.ts', false],
  ['src/http/a.ts', '../client/wire.ts', false],
  ['src/sources/a.ts', '../client/wire.ts', false],
  ['src/migrations/a.ts', '../http/github-json.ts', false],
  ['src/migrations/a.ts', '../exporter/sweep.ts', false],
  ['src/migrations/a.ts', '../repositories/facts.ts', true],
  ['src/repositories/a.ts', '../migrations/migration.ts', false],
  ['src/repositories/a.ts', '../accounts/account.ts', true],
  ['src/accounts/a.ts', '../repositories/facts.ts', false],
  ['src/accounts/a.ts', '../db/connect.ts', true],
  ['src/queue/a.ts', '../db/connect.ts', true],
  ['src/queue/a.ts', '../sources/git.ts', false],
  ['src/archive/a.ts', '../blobs/blob-store.ts', true],
  ['src/archive/a.ts', '../db/connect.ts', false],
  ['src/archive/a.ts', 'kysely', false],
  ['src/blobs/a.ts', '../archive/manifest.ts', false],
  ['src/sources/a.ts', '../repositories/facts.ts', false],
  ['src/sources/a.ts', '../blobs/disk.ts', false],
  ['src/db/a.ts', '../accounts/account.ts', false],
  ['src/migrations/a.ts', 'fastify', false],
  ['src/http/a.ts', 'fastify', true],
  ['web/src/a.ts', './api.ts', true],
  ['web/src/a.ts', '../../src/http/github-json.ts', false],
  ['web/src/a.ts', 'node:fs', false],
  ['test/wire/a.ts', '../../src/http/server.ts', false],
]

let scratch: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'godwit-lint-'))
  await cp(join(ROOT, 'biome.json'), join(scratch, 'biome.json'))
})
after(() => rm(scratch, { recursive: true, force: true }))

for (const [from, to, allowed] of IMPORTS) {
  test(`${from.replace('/a.ts', '')} ${allowed ? 'may' : 'must not'} import ${to}`, async () => {
    for (const statement of [`import { a } from '${to}'`, `import type { A } from '${to}'`]) {
      const file = join(scratch, from)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, `${statement}\n`)
      assert.equal(complaints(file).includes('noRestrictedImports'), !allowed, statement)
    }
  })
}

function complaints(file: string): string {
  const args = [
    'lint',
    '--colors=off',
    '--vcs-enabled=false',
    '--only=style/noRestrictedImports',
    file,
  ]
  try {
    return execFileSync(BIOME, args, { cwd: scratch, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return stdout + stderr
  }
}
