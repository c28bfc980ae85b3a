import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  importErrors,
  type Module,
  publishedErrors,
  type Rules,
  unusedEntries,
} from '../scripts/import-rules.ts'

const RULES: Rules = {
  manifests: {
    'packages/lib': { name: '@godwit/lib', exports: { './*': './src/*.ts' } },
    'packages/git': {
      name: '@godwit/git',
      exports: { '.': './src/index.ts', './refs': './src/refs.ts' },
      dependencies: { '@godwit/lib': '1' },
    },
    'packages/server': {
      name: '@godwit/server',
      dependencies: { '@godwit/git': '1', fastify: '1.2.3' },
      devDependencies: { '@octokit/openapi-types': '1' },
    },
    'packages/dashboard': { name: '@godwit/dashboard' },
  },
  folders: {
    'packages/server/src/db': { imports: [] },
    'packages/server/src/http': { imports: ['packages/server/src/db'], entries: ['server.ts'] },
    'packages/server/src/http/routes/*': { imports: ['packages/server/src/http'] },
  },
  modules: { fastify: ['packages/server/src/http'], 'node:child_process': ['packages/git/src'] },
}

const errorsOf = (...modules: Module[]) => importErrors(modules, RULES)
const importing = (path: string, name: string): Module => [path, `import { a } from '${name}'\n`]

test('imports of declared packages, allowed folders and entry files are accepted', () => {
  for (const [path, name] of [
    ['packages/git/src/a.ts', '@godwit/lib/errno'],
    ['packages/git/src/a.ts', 'node:child_process'],
    ['packages/git/src/a.ts', './files/b.ts'],
    ['packages/server/src/http/a.ts', '@godwit/git'],
    ['packages/server/src/http/a.ts', '@godwit/git/refs'],
    ['packages/server/src/http/a.ts', 'fastify'],
    ['packages/server/src/http/a.ts', '../db/a.ts'],
    ['packages/server/src/http/routes/tokens/a.ts', '../../server.ts'],
    ['packages/server/src/http/routes/tokens/a.ts', './b.ts'],
    ['packages/lib/src/a.test.ts', '../../server/src/http/server.ts'],
    ['packages/dashboard/test/a.test.ts', 'node:fs'],
    ['test/stories/a.test.ts', '../../packages/server/src/db/a.ts'],
  ] as const)
    assert.deepEqual(errorsOf(importing(path, name)), [], `${path} ${name}`)
})

test('of a package that only the checkout has, types may be imported', () => {
  const [path, name] = ['packages/server/src/http/a.ts', '@octokit/openapi-types']
  assert.deepEqual(errorsOf([path, `import type { a } from '${name}'\n`]), [])
  assert.deepEqual(errorsOf(importing(path, name)), [
    `${path} imports ${name}: packages/server/package.json does not name ${name}`,
  ])
})

test('an import of a package that package.json does not name is an error', () => {
  const path = 'packages/git/src/a.ts'
  for (const statement of [
    "import { a } from '@godwit/server/http/server'",
    "import type { A } from '@godwit/server/http/server'",
    "import {\n  a,\n  b,\n} from '@godwit/server/http/server'",
    "export * from '@godwit/server/http/server'",
    "import '@godwit/server/http/server'",
    "const { a } = await import('@godwit/server/http/server')",
  ])
    assert.deepEqual(errorsOf([path, `${statement}\n`]), [
      `${path} imports @godwit/server/http/server: packages/git/package.json does not name @godwit/server`,
    ])
  assert.deepEqual(errorsOf(importing('packages/lib/src/a.ts', 'commander/esm')), [
    'packages/lib/src/a.ts imports commander/esm: packages/lib/package.json does not name commander',
  ])
})

test('an import of a file of another package by its path is an error', () => {
  for (const target of ['packages/lib/src/errno.ts', 'test/support/service.ts'])
    assert.deepEqual(errorsOf(importing('packages/git/src/a.ts', `../../../${target}`)), [
      `packages/git/src/a.ts imports ../../../${target}: a file outside of the package; import an entry by its name`,
    ])
})

test('an import of another folder that the table does not allow is an error', () => {
  assert.deepEqual(errorsOf(importing('packages/server/src/db/a.ts', '../http/server.ts')), [
    'packages/server/src/db/a.ts imports ../http/server.ts: packages/server/src/db may import no other folder',
  ])
  const [sibling] = errorsOf(
    importing('packages/server/src/http/routes/tokens/a.ts', '../users/user-json.ts'),
  )
  assert.match(sibling!, /routes\/tokens may import packages\/server\/src\/http$/)
  const [inner] = errorsOf(
    importing('packages/server/src/http/routes/tokens/a.ts', '../../rendering.ts'),
  )
  assert.match(inner!, /the entry files of packages\/server\/src\/http are server.ts$/)
})

test('an import of a module that only some folders may import is an error', () => {
  assert.deepEqual(errorsOf(importing('packages/server/src/db/a.ts', 'fastify')), [
    'packages/server/src/db/a.ts imports fastify: only packages/server/src/http may import fastify',
  ])
  assert.equal(errorsOf(importing('packages/lib/src/a.ts', 'node:child_process')).length, 1)
  assert.equal(errorsOf(importing('packages/dashboard/src/a.ts', 'node:fs')).length, 1)
})

test('an import cycle is an error, even of types, of tests and between packages', () => {
  assert.deepEqual(
    errorsOf(
      ['test/a.ts', "import type { B } from './support/b.ts'\n"],
      ['test/support/b.ts', "import type { C } from '../c.ts'\n"],
      ['test/c.ts', "export type { A } from './a.ts'\n"],
    ),
    ['import cycle: test/a.ts → test/support/b.ts → test/c.ts → test/a.ts'],
  )
  const cycle = errorsOf(
    importing('packages/lib/src/a.ts', '@godwit/git/refs'),
    importing('packages/git/src/refs.ts', '@godwit/lib/a'),
  )
  assert.ok(cycle.some((error) => error.startsWith('import cycle: packages/lib/src/a.ts →')))
})

test('what the table or a package.json allows and only tests need is unused', () => {
  const unused = [
    'import-table.ts: unused: packages/server/src/http may import packages/server/src/db',
    'unused in "exports": packages/git/src/refs.ts',
  ]
  const imports = (path: string) => [
    importing(path, '../db/a.ts'),
    importing(path, '@godwit/git/refs'),
  ]
  const inTest = unusedEntries(imports('packages/server/src/http/a.test.ts'), RULES)
  const inProduct = unusedEntries(imports('packages/server/src/http/a.ts'), RULES)
  for (const each of unused) {
    assert.ok(inTest.includes(each))
    assert.ok(!inProduct.includes(each))
  }
})

test('the published package names the same versions as the packages in it', () => {
  const root = (dependencies: Record<string, string>) => ({ name: 'godwit', dependencies })
  assert.deepEqual(publishedErrors(root({ fastify: '1.2.3' }), RULES), [])
  assert.deepEqual(publishedErrors(root({ fastify: '1.2.4', pg: '8.0.0' }), RULES), [
    'package.json: fastify is 1.2.4, but 1.2.3 in packages/*/package.json',
    'package.json: pg is 8.0.0, but absent in packages/*/package.json',
  ])
})
