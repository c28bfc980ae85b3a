import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ArchiveEntry } from './read-entries.ts'
import { withoutFolder } from './read-folder.ts'

async function* entriesOf(paths: readonly string[]): AsyncGenerator<ArchiveEntry> {
  for (const path of paths) {
    const kind = path.endsWith('/') ? ('directory' as const) : ('file' as const)
    yield { path: path.replace(/\/$/, ''), kind, size: 0, modifiedAt: 0, content: none() }
  }
}
async function* none(): AsyncGenerator<Uint8Array> {}

const read = async (paths: readonly string[]) =>
  (await Array.fromAsync(withoutFolder(entriesOf(paths)))).map(({ path, kind }) =>
    kind === 'directory' ? `${path}/` : path,
  )

const FILES = [
  'schema.json',
  'users_000001.json',
  'repositories/',
  'repositories/alice/',
  'repositories/alice/site.git/',
  'repositories/alice/site.git/HEAD',
  'repositories/alice/site.git/refs/heads/schema.json',
  'attachments/1/schema.json',
  'notes/schema.txt',
]

test('a folder around the archive is removed in any order of entries', async () => {
  const orders = fc.shuffledSubarray(
    FILES.filter((path) => path !== 'notes/schema.txt'),
    { minLength: 8 },
  )
  const around = fc.constantFrom('', 'folder/', 'tmp/my archive/', 'repositories.old/', 'a/b/c/')
  await fc.assert(
    fc.asyncProperty(orders, around, async (order, folder) => {
      const above = folder.split('/').slice(0, -1)
      const parents = above.map((_, n) => `${above.slice(0, n + 1).join('/')}/`)
      const packed = [...parents, ...order.map((path) => `${folder}${path}`)]
      assert.deepEqual(await read(packed), order)
      assert.deepEqual(await read(packed.slice(parents.length)), order)
    }),
    { numRuns: 200 },
  )
})

test('an archive without such a folder is unchanged, including unknown files', async () => {
  for (const first of FILES) {
    const order = [first, ...FILES.filter((path) => path !== first)]
    assert.deepEqual(await read(order), order, first)
  }
  for (const paths of [[], ['folder/'], ['folder/', 'folder/other/'], ['folder/readme.txt']])
    assert.deepEqual(await read(paths), paths)
})

test('metadata of macOS is left out, but not uploaded files with such names', async () => {
  const files = ['x/schema.json', 'x/attachments/1/._shot.png', 'x/repositories/alice/._a.git/HEAD']
  const metadata = ['x/._schema.json', 'x/repositories/alice/site.git/refs/heads/._main']
  const order = ['._x', 'x/', ...metadata, ...files]
  assert.deepEqual(
    await read(order),
    files.map((path) => path.slice('x/'.length)),
  )
})

test('two folders, or a file beside one, are refused', async () => {
  for (const path of ['b/schema.json', 'readme.txt', 'b/', 'folders/schema.json'])
    await assert.rejects(
      read(['folder/', 'folder/schema.json', path]),
      /refused: .* is beside folder, which holds an archive/,
    )
})

test('endless directories are not held in memory', async () => {
  const many = Array.from({ length: 20_000 }, (_, n) => `d${n}/`)
  assert.deepEqual(await read([...many, 'schema.json']), [...many, 'schema.json'])
})
