import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  type Contents,
  contentsOfFolder,
  sha256Of,
} from '../../../../test/support/archive-readers.ts'
import { collect, pathOf, temporaryFolder } from '../../../../test/support/archive-samples.ts'
import { needs } from '../../../../test/support/archive-tools.ts'
import { ARCHIVE_WRITERS } from '../../../../test/support/archive-writers.ts'
import {
  headerRecord,
  paxContent,
  sizeField,
  type UnusualEntry,
  unusualGzip,
  unusualHeader,
  unusualTar,
} from '../../../../test/support/unusual-tar.ts'
import { readEntries } from './read-entries.ts'
import { unsafePath } from './tar-header.ts'
import { ArchiveDamaged, ArchiveNotSupported, ArchiveRefused } from './unreadable-archive.ts'

const END = Buffer.alloc(1024)

async function listOf(archive: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  const all = []
  for await (const { path, kind, content } of readEntries(archive))
    all.push({ path, kind, content: (await collect(content)).toString('latin1') })
  return all
}

describe('archives of other programs are read', () => {
  for (const [name, { tool, hasLongPaths, write }] of Object.entries(ARCHIVE_WRITERS))
    test(name, needs(tool), async (t) => {
      const folder = await temporaryFolder(t)
      const [from, archive] = [join(folder, 'from'), join(folder, 'archive')]
      const paths = ['schema.json', 'a/b/c', 'empty', 'Ærø 渡り鳥.txt', pathOf(90)]
      if (hasLongPaths) paths.push(pathOf(101, 20), pathOf(255), pathOf(400), `${'é'.repeat(60)}x`)
      for (const path of paths) {
        await mkdir(dirname(join(from, path)), { recursive: true })
        await writeFile(join(from, path), path === 'empty' ? '' : `${path}\n`.repeat(1000))
      }
      await mkdir(join(from, 'refs/heads'), { recursive: true })
      await write(from, archive)
      const seen: Contents = {}
      for await (const { path, kind, content } of readEntries(createReadStream(archive)))
        seen[kind === 'directory' ? `${path}/` : path] =
          kind === 'directory' ? '' : await sha256Of(content)
      assert.deepEqual(seen, await contentsOfFolder(from))
    })
})

const part = fc.stringMatching(/^[a-zA-Z0-9é渡_-]{1,60}$/)
const oddEntry: fc.Arbitrary<UnusualEntry> = fc.record({
  path: fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
  kind: fc.constantFrom('file' as const, 'directory' as const),
  content: fc.uint8Array({ maxLength: 1500 }).map((bytes) => Buffer.from(bytes)),
  pathPrefix: fc.constantFrom('', './', './/'),
  type: fc.constantFrom('0', '\0', '7'),
  magic: fc.constantFrom('posix', 'gnu', 'v7'),
  name: fc.constantFrom('pax', 'gnu'),
  numbers: fc.constantFrom('octal', 'spaces', 'base-256', 'pax'),
  extraHeaders: fc.boolean(),
})

test('any mixture of dialects, gzip members and padding is read', async () => {
  const archives = fc.record({
    entries: fc.array(
      oddEntry.map((each) =>
        each.kind === 'directory' ? { ...each, content: Buffer.alloc(0) } : each,
      ),
      { maxLength: 8 },
    ),
    hasRoot: fc.boolean(),
    members: fc.integer({ min: 0, max: 4 }),
    zeroBlocks: fc.integer({ min: 2, max: 30 }),
    padding: fc.integer({ min: 0, max: 2000 }),
    chunk: fc.integer({ min: 1, max: 5000 }),
  })
  await fc.assert(
    fc.asyncProperty(archives, async ({ entries, hasRoot, members, ...how }) => {
      const size = sizeField(0, 'octal')
      const root = unusualHeader({ name: Buffer.from('./'), type: '5', magic: 'gnu', size })
      const tar = Buffer.concat([...(hasRoot ? [root] : []), unusualTar(entries, how.zeroBlocks)])
      const isPlain = members === 0 && (hasRoot || entries.length > 0)
      const archive = isPlain ? tar : unusualGzip(tar, Math.max(members, 1), how.padding)
      function* chunks() {
        for (let at = 0; at < archive.length; at += how.chunk)
          yield archive.subarray(at, at + how.chunk)
      }
      const written = entries.map(({ path, kind, content }) => {
        return { path, kind, content: content.toString('latin1') }
      })
      assert.deepEqual(await listOf(chunks()), written)
    }),
    { numRuns: 150 },
  )
})

test('no header gives a path outside the archive', async () => {
  const names = fc
    .array(fc.constantFrom('..', '.', '', 'a', 'b', '/', '\\', 'c\0d', '\n'), { maxLength: 6 })
    .map((parts) => parts.join('/'))
  const headers = fc.record({
    name: names,
    type: fc.constantFrom('0', '5', '\0', '7', '1', '2', '3', 'L', 'K', 'x', 'g', 'S', 'V', 'Z'),
    magic: fc.constantFrom('posix' as const, 'gnu' as const, 'v7' as const),
    before: fc.constantFrom('none', 'L', 'x', 'g'),
    size: fc.constantFrom(0, 0, 0, 100, 2 ** 60),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(headers, { maxLength: 4 }), async (all) => {
      const blocks = all.flatMap(({ name, type, magic, before, size }) => {
        const field = sizeField(size, size > 2 ** 32 ? 'base-256' : 'octal')
        const header = unusualHeader({
          name: Buffer.from(name).subarray(0, 100),
          type,
          magic,
          size: field,
        })
        if (before === 'none') return [header]
        const content = before === 'L' ? Buffer.from(`${name}\0`) : paxContent([['path', name]])
        return [...headerRecord(before, content), header]
      })
      const first = unusualHeader({
        name: Buffer.from('first'),
        type: '0',
        magic: 'posix',
        size: sizeField(0, 'octal'),
      })
      try {
        for await (const { path, kind } of readEntries([Buffer.concat([first, ...blocks, END])])) {
          assert.equal(unsafePath(path), undefined, path)
          assert.ok(kind === 'file' || kind === 'directory')
        }
      } catch (error) {
        const isKnown = [ArchiveDamaged, ArchiveNotSupported, ArchiveRefused].some(
          (kind) => error instanceof kind,
        )
        if (!isKnown) throw error
      }
    }),
    { numRuns: 300 },
  )
})

describe('headers before an entry are limited', () => {
  const tar = (...blocks: Buffer[]) => [Buffer.concat([...blocks, END])]
  const aFile = unusualHeader({
    name: Buffer.from('a'),
    type: '0',
    magic: 'posix',
    size: sizeField(0, 'octal'),
  })

  test('a huge pax header and endless headers are refused', async () => {
    const name = Buffer.from('x')
    const large = unusualHeader({
      name,
      type: 'x',
      magic: 'posix',
      size: sizeField(2 ** 40, 'base-256'),
    })
    await assert.rejects(listOf(tar(large)), /refused: a pax header has 1099511627776 bytes/)
    const comment = headerRecord('g', paxContent([['comment', 'x']]))
    const many = Array.from({ length: 20 }, () => comment).flat()
    await assert.rejects(
      listOf(tar(...many, aFile)),
      /refused: an entry has more than 16 extra headers/,
    )
  })

  test('a malformed pax header is damage', async () => {
    for (const content of ['12 path=a', '99 path=a\n', 'path=a\n', '-1 path=a\n', '9 path a\n'])
      await assert.rejects(
        listOf(tar(...headerRecord('x', Buffer.from(content)), aFile)),
        ArchiveDamaged,
      )
    for (const [key, value] of [
      ['size', '-1'],
      ['size', '1e3'],
      ['size', '9'.repeat(30)],
      ['mtime', 'never'],
      ['mtime', '1e300'],
    ] as const)
      await assert.rejects(
        listOf(tar(...headerRecord('x', paxContent([[key, value]])), aFile)),
        ArchiveDamaged,
      )
  })

  test('a sparse file in pax and a global path are not supported', async () => {
    const sparse = headerRecord('x', paxContent([['GNU.sparse.major', '1']]))
    await assert.rejects(listOf(tar(...sparse, aFile)), /not supported: it holds a sparse file/)
    const global = headerRecord('g', paxContent([['path', 'a']]))
    await assert.rejects(listOf(tar(...global, aFile)), ArchiveNotSupported)
  })

  test('global headers and deleted values are read', async () => {
    const mtime = headerRecord('g', paxContent([['mtime', '5.5']]))
    const back = paxContent([
      ['path', 'wrong'],
      ['path', ''],
      ['size', '7'],
      ['size', ''],
    ])
    const seen = []
    for await (const { path, size, modifiedAt } of readEntries(
      tar(...mtime, ...headerRecord('x', back), aFile),
    ))
      seen.push({ path, size, modifiedAt })
    assert.deepEqual(seen, [{ path: 'a', size: 0, modifiedAt: 5000 }])
  })
})

test('a file beyond 8 GiB is read by base-256 and by pax, and memory stays flat', async () => {
  const size = 9 * 2 ** 30
  const name = Buffer.from('large')
  const ways = [
    [unusualHeader({ name, type: '0', magic: 'gnu', size: sizeField(size, 'base-256') })],
    [
      ...headerRecord('x', paxContent([['size', String(size)]])),
      unusualHeader({ name, type: '0', magic: 'posix', size: sizeField(0, 'octal') }),
    ],
  ]
  const chunk = Buffer.alloc(4 * 2 ** 20, 7)
  for (const headers of ways) {
    function* archive() {
      yield Buffer.concat(headers)
      for (let at = 0; at < size; at += chunk.length) yield chunk
      yield END
    }
    const before = process.memoryUsage().rss
    let read = 0
    for await (const { content } of readEntries(archive()))
      for await (const bytes of content) read += bytes.length
    assert.equal(read, size)
    const grown = process.memoryUsage().rss - before
    assert.ok(grown < 128 * 2 ** 20, `${grown} bytes`)
  }
})
