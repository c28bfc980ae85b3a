import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importErrors, type Module, unusedEntries } from '../scripts/import-rules.ts'

const TABLE = {
  folders: {
    'src/http': { imports: ['src/sources', 'src/lib'], entries: ['server.ts'] },
    'src/http/routes': { imports: ['src/lib'], hasSeparateFolders: true },
    'src/sources': { imports: ['src/lib'] },
    'src/sources/directory': { imports: ['src/sources'], entries: ['git-directory.ts'] },
    'src/commands': { imports: ['src/sources/directory', 'src/http/routes'] },
    'src/lib': { imports: [] },
    'web/src': { imports: ['src/lib'] },
  },
  packages: { fastify: ['src/http'], '@aws-sdk': ['src/sources'] },
}

const errorsOf = (...modules: Module[]) => importErrors(modules, TABLE)

test('imports of allowed folders, entry files and packages are accepted', () => {
  for (const [path, target] of [
    ['src/http/migrations/a.ts', '../../sources/source.ts'],
    ['src/http/a.ts', 'fastify'],
    ['src/http/a.ts', 'node:zlib'],
    ['src/http/routes/users/users.ts', 'fastify'],
    ['src/http/routes/users/users.ts', './user-json.ts'],
    ['src/commands/doctor/a.ts', '../../sources/directory/git-directory.ts'],
    ['src/sources/directory/a.ts', './locks/push-lock.ts'],
    ['src/lib/a.test.ts', '../http/server.ts'],
    ['test/stories/a.test.ts', '../../src/sources/directory/locks/push-lock.ts'],
  ] as const)
    assert.deepEqual(errorsOf([path, `import { a } from '${target}'\n`]), [], `${path} ${target}`)
})

test('every kind of import of a folder that is not allowed is an error', () => {
  for (const statement of [
    "import { a } from '../http/server.ts'",
    "import type { A } from '../http/server.ts'",
    "import {\n  a,\n  b,\n} from '../http/server.ts'",
    "export * from '../http/server.ts'",
    "import '../http/server.ts'",
    "const { a } = await import('../http/server.ts')",
  ])
    assert.deepEqual(errorsOf(['src/sources/a.ts', `${statement}\n`]), [
      'src/sources/a.ts imports src/http/server.ts: src/sources may import src/lib',
    ])
})

test('an import of a file that is not an entry file of its folder is an error', () => {
  assert.deepEqual(
    errorsOf(['src/commands/a.ts', "import '../sources/directory/locks/push-lock.ts'\n"]),
    [
      'src/commands/a.ts imports src/sources/directory/locks/push-lock.ts: the entry files of src/sources/directory are git-directory.ts',
    ],
  )
})

test('an import of a file that is not an entry file of a folder around its own is an error', () => {
  assert.deepEqual(errorsOf(['src/commands/a.ts', "import '../http/routes/users/users.ts'\n"]), [
    'src/commands/a.ts imports src/http/routes/users/users.ts: the entry files of src/http are server.ts',
  ])
})

test('an import between folders that are separate is an error', () => {
  assert.deepEqual(
    errorsOf(['src/http/routes/users/users.ts', "import '../tokens/token-json.ts'\n"]),
    [
      'src/http/routes/users/users.ts imports src/http/routes/tokens/token-json.ts: the folders in src/http/routes do not import each other',
    ],
  )
})

test('an import of a package by a folder that the table does not list is an error', () => {
  assert.deepEqual(errorsOf(['src/lib/a.ts', "import type { A } from 'fastify'\n"]), [
    'src/lib/a.ts imports fastify: only src/http may import fastify',
  ])
  for (const [path, name] of [
    ['src/http/a.ts', '@aws-sdk/client-s3'],
    ['web/src/a.ts', 'node:fs'],
  ] as const)
    assert.equal(errorsOf([path, `import { a } from '${name}'\n`]).length, 1)
})

test('an import cycle is an error, even of types and of tests', () => {
  assert.deepEqual(
    errorsOf(
      ['test/a.ts', "import type { B } from './support/b.ts'\n"],
      ['test/support/b.ts', "import type { C } from '../c.ts'\n"],
      ['test/c.ts', "export type { A } from './a.ts'\n"],
    ),
    ['import cycle: test/a.ts → test/support/b.ts → test/c.ts → test/a.ts'],
  )
})

test('an entry of the table that only tests need is unused', () => {
  const unused = 'src/sources may import src/lib: unused entry in scripts/import-table.ts'
  const statement = "import '../lib/errno.ts'\n"
  assert.ok(unusedEntries([['src/sources/a.test.ts', statement]], TABLE).includes(unused))
  assert.ok(!unusedEntries([['src/sources/a.ts', statement]], TABLE).includes(unused))
})
