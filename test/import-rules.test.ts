import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importFaults, unusedAllowances } from '../scripts/import-rules.ts'

const faultsOf = (path: string, text: string, ...others: [string, string][]) =>
  importFaults([[path, text], ...others])

test('an import that the table allows is no fault', () => {
  for (const [path, target] of [
    ['src/http/routes/migrations/a.ts', '../../../migrations/start-migration.ts'],
    ['src/http/a.ts', 'fastify'],
    ['src/exporter/a.ts', '../sources/source.ts'],
    ['src/importer/a.ts', '../archive/read-entries.ts'],
    ['src/client/a.ts', './send-request.ts'],
    ['src/client/a.ts', '@octokit/core'],
    ['src/db/a.ts', '../lib/errno.ts'],
    ['src/db/a.ts', '../../schema/steps.ts'],
    ['src/commands/doctor/a.ts', '../../settings/config.ts'],
    ['src/archive/a.ts', 'node:zlib'],
    ['web/src/a.tsx', './api.ts'],
    ['test/wire/a.test.ts', './parts.ts'],
    ['test/wire/a.test.ts', '../support/service.ts'],
    ['test/stories/a.test.ts', '../../src/sources/directory/locks/push-lock.ts'],
  ] as const)
    assert.deepEqual(faultsOf(path, `import { a } from '${target}'\n`), [], `${path} ${target}`)
})

test('a room that another may not use is a fault, whichever way it is imported', () => {
  for (const [path, target] of [
    ['src/http/middleware/a.ts', '../../exporter/export-migration.ts'],
    ['src/http/a.ts', '../settings/config.ts'],
    ['src/exporter/a.ts', '../importer/verify-archive.ts'],
    ['src/importer/a.ts', '../db/connect.ts'],
    ['src/migrations/a.ts', '../sources/directory/git-directory.ts'],
    ['src/sources/directory/facts/a.ts', '../snapshot/examine.ts'],
    ['src/sources/directory/snapshot/a.ts', '../facts/repository-facts.ts'],
    ['src/sources/directory/files/a.ts', '../repository-place.ts'],
    ['src/sources/a.ts', './directory/git-directory.ts'],
    ['src/client/a.ts', '../settings/config.ts'],
    ['src/service/a.ts', '../commands/command-line.ts'],
    ['src/migrations/a.ts', '../service/log.ts'],
    ['src/repositories/a.ts', '../migrations/migration.ts'],
    ['src/accounts/a.ts', '../repositories/facts.ts'],
    ['src/queue/a.ts', '../git/git.ts'],
    ['src/archive/a.ts', '../db/connect.ts'],
    ['src/blobs/a.ts', '../archive/manifest.ts'],
    ['src/lib/a.ts', '../db/connect.ts'],
    ['src/settings/config.ts', '../commands/program.ts'],
    ['src/http/a.ts', '../../test/support/service.ts'],
    ['web/src/a.ts', '../../src/http/routes/migrations/migration-json.ts'],
    ['test/wire/a.test.ts', '../../src/http/server.ts'],
  ] as const)
    for (const statement of [
      `import { a } from '${target}'`,
      `import type { A } from '${target}'`,
      `import {\n  a,\n  b,\n} from '${target}'`,
      `export * from '${target}'`,
      `import '${target}'`,
      `const { a } = await import('${target}')`,
    ])
      assert.equal(faultsOf(path, `${statement}\n`).length, 1, `${path}: ${statement}`)
})

test('the message says who imported what, and what is allowed', () => {
  assert.deepEqual(faultsOf('src/accounts/a.ts', "import { b } from '../http/server.ts'\n"), [
    'src/accounts/a.ts imports src/http/server.ts: src/accounts may use src/db',
  ])
})

test('the inside of a room is closed to others, but not to the tests beside them', () => {
  const inside = "import { lockPushes } from '../sources/directory/locks/push-lock.ts'\n"
  const [fault, ...more] = faultsOf('src/importer/a.ts', inside)
  assert.match(
    fault!,
    /^src\/importer\/a\.ts imports .*push-lock\.ts: others may import of src\/sources\/directory only git-directory\.ts$/,
  )
  assert.deepEqual(more, [])
  assert.deepEqual(faultsOf('src/importer/a.test.ts', inside), [])
  assert.deepEqual(faultsOf('src/sources/directory/a.ts', "import './locks/push-lock.ts'\n"), [])
})

test('a package that is for some rooms alone is a fault in others', () => {
  assert.deepEqual(faultsOf('src/migrations/a.ts', "import type { A } from 'fastify'\n"), [
    'src/migrations/a.ts imports fastify: fastify is for src/http',
  ])
  const others = {
    'src/archive/a.ts': 'kysely',
    'src/exporter/a.ts': '@aws-sdk/client-s3',
    'src/importer/a.ts': 'node:child_process',
    'web/src/a.ts': 'node:fs',
  }
  for (const [path, name] of Object.entries(others))
    assert.equal(faultsOf(path, `import { a } from '${name}'\n`).length, 1, `${path} ${name}`)
})

test('a circle is a fault, even of types and of tests', () => {
  assert.deepEqual(
    faultsOf(
      'test/a.ts',
      "import type { B } from './support/b.ts'\n",
      ['test/support/b.ts', "import type { C } from '../c.ts'\n"],
      ['test/c.ts', "export type { A } from './a.ts'\n"],
    ),
    ['a circle: test/a.ts → test/support/b.ts → test/c.ts → test/a.ts'],
  )
})

test('what the table allows is needed by some import that is not of a test', () => {
  const allowance = 'src/main.ts may use src/commands, and nobody does'
  const needs = "import { run } from './commands/program.ts'\n"
  assert.ok(unusedAllowances([]).includes(allowance))
  assert.ok(unusedAllowances([['src/main.test.ts', needs]]).includes(allowance))
  assert.ok(!unusedAllowances([['src/main.ts', needs]]).includes(allowance))
})
