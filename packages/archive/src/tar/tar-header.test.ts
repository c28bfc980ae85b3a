import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathOf } from '../../../../test/support/archive-samples.ts'
import { needs, runTool } from '../../../../test/support/archive-tools.ts'
import { readEntries } from './read-entries.ts'
import { parseTarHeader, tarHeader, tarPadding } from './tar-header.ts'

const GIB = 2 ** 30

describe('sizes', () => {
  const sizes = [0, 1, 8 * GIB - 1, 8 * GIB, 8 * GIB + 1, 5 * 2 ** 40, Number.MAX_SAFE_INTEGER]
  const headers = sizes.map((size) => tarHeader({ path: 'p', kind: 'file', size, modifiedAt: 0 }))

  test('one block each, read back', () => {
    assert.ok(headers.every(({ length }) => length === 512))
    assert.deepEqual(
      headers.map((header) => parseTarHeader(header).size),
      sizes,
    )
  })

  test('Python reads the same', needs('Python'), async () => {
    const program = `
import sys, tarfile
for header in sys.argv[1:]:
    print(tarfile.TarInfo.frombuf(bytes.fromhex(header), 'utf-8', 'strict').size)
`
    const hex = headers.map((header) => header.toString('hex'))
    const seen = await runTool('Python', ['-c', program, ...hex])
    assert.deepEqual(seen.trim().split('\n').map(Number), sizes)
  })

  test('octal goes on as long as it fits', () => {
    const sizeField = (size: number) =>
      tarHeader({ path: 'p', kind: 'file', size, modifiedAt: 0 }).subarray(124, 136)
    assert.equal(sizeField(8 * GIB - 1).toString('latin1'), '77777777777\0')
    assert.equal(sizeField(8 * GIB).toString('hex'), '800000000000000200000000')
  })
})

describe('paths', () => {
  const kept = async (path: string, kind: 'file' | 'directory') => {
    const header = tarHeader({ path, kind, size: 0, modifiedAt: 0 })
    const { value } = await readEntries([header]).next()
    return { how: header.length === 512 ? 'one block' : 'long name', path: value?.path }
  }
  for (const [path, kind, how] of [
    [pathOf(99), 'directory', 'one block'],
    [pathOf(100), 'directory', 'one block'],
    [pathOf(100, 100), 'file', 'one block'],
    [pathOf(100, 100), 'directory', 'long name'],
    [pathOf(101), 'file', 'one block'],
    [pathOf(101, 101), 'file', 'long name'],
    [`${'d'.repeat(155)}/${'n'.repeat(100)}`, 'file', 'one block'],
    [`${'d'.repeat(155)}/${'n'.repeat(99)}`, 'directory', 'one block'],
    [`${'d'.repeat(155)}/${'n'.repeat(100)}`, 'directory', 'long name'],
    [`${'d'.repeat(156)}/${'n'.repeat(99)}`, 'file', 'long name'],
    [`${'d'.repeat(154)}/${'n'.repeat(101)}`, 'file', 'long name'],
    [pathOf(257), 'file', 'long name'],
    [pathOf(400), 'file', 'long name'],
    [pathOf(4096), 'directory', 'long name'],
    [`${'é'.repeat(50)}x`, 'file', 'long name'],
  ] as const) {
    test(`${how}: ${kind} of ${Buffer.byteLength(path)} bytes, ${path.slice(-8)}`, async () => {
      assert.deepEqual(await kept(path, kind), { how, path })
    })
  }

  for (const path of [
    '',
    '/a',
    'a//b',
    'a/',
    '.',
    './a',
    'a/./b',
    'a/..',
    '../a',
    'a\0b',
    '\ud800',
  ]) {
    test(`${JSON.stringify(path)} is refused`, () => {
      assert.throws(
        () => tarHeader({ path, kind: 'file', size: 0, modifiedAt: 0 }),
        /^Error: the path /,
      )
    })
  }

  test('a path of more than 4,096 bytes is refused', () => {
    const path = pathOf(4097)
    assert.throws(
      () => tarHeader({ path, kind: 'file', size: 0, modifiedAt: 0 }),
      /longer than 4096/,
    )
  })
})

test('times are whole seconds, never before 1970', () => {
  const kept = (modifiedAt: number) =>
    parseTarHeader(tarHeader({ path: 'p', kind: 'file', size: 0, modifiedAt })).modifiedAt
  assert.equal(kept(1_709_210_096_999), 1_709_210_096_000)
  assert.equal(kept(-1), 0)
  assert.equal(kept(2 ** 33 * 1000), 2 ** 33 * 1000)
})

test('padding fills up the last block and no more', () => {
  const lengths = [0, 1, 511, 512, 513].map((size) => tarPadding(size).length)
  assert.deepEqual(lengths, [0, 511, 1, 0, 511])
})
