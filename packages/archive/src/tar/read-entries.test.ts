import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  collect,
  directory,
  file,
  lines,
  MODIFIED_AT,
  noise,
  sampleSegments,
  segmentInMemory,
} from '../../../../test/support/archive-samples.ts'
import { readArchive } from './copy-archive.ts'
import { planArchive } from './plan-archive.ts'
import { readEntries } from './read-entries.ts'
import { ArchiveDamaged, ArchiveNotSupported, ArchiveRefused } from './unreadable-archive.ts'
import type { SegmentEntry } from './write-segment.ts'

async function archiveOf(entries: SegmentEntry[]): Promise<Buffer> {
  const { bytes, ...segment } = await segmentInMemory(entries)
  const open = async () => Readable.from([bytes])
  return collect(readArchive(planArchive([{ key: 'only', ...segment }]), { open }))
}

async function readAll(archive: Iterable<Buffer> | AsyncIterable<Buffer>) {
  const read = []
  for await (const { content, ...entry } of readEntries(archive)) {
    read.push({ ...entry, content: await collect(content) })
  }
  return read
}

function* chunked(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test('entries are read back, however the stream is cut', async () => {
  const entries = sampleSegments().flat()
  const archive = await archiveOf(entries)
  const expected = await Promise.all(
    entries.map(async (entry) => ({
      path: entry.path,
      kind: entry.kind,
      modifiedAt: MODIFIED_AT,
      size: entry.kind === 'file' ? entry.size : 0,
      content: entry.kind === 'file' ? await collect(entry.open()) : Buffer.alloc(0),
    })),
  )
  for (const size of [511, 65_536, archive.length]) {
    assert.deepEqual(await readAll(chunked(archive, size)), expected)
  }
})

test('content that is not read, or not to its end, is skipped', async () => {
  const archive = await archiveOf([
    file('a', noise(900_000)),
    file('b', noise(900_000)),
    directory('c'),
  ])
  const seen = []
  for await (const { path, content } of readEntries([archive])) {
    seen.push(path)
    if (path === 'b') for await (const _ of content) break
  }
  assert.deepEqual(seen, ['a', 'b', 'c'])
})

test('content that is read too late is an error, not an empty file', async () => {
  const archive = await archiveOf([file('a', noise(10)), file('b', noise(10))])
  const entries = []
  for await (const entry of readEntries([archive])) entries.push(entry)
  await assert.rejects(
    collect(entries[0]!.content),
    /content of a was read after the next entry was requested/,
  )
})

test('leaving the loop closes the stream', async () => {
  const source = Readable.from(chunked(await archiveOf([file('a', noise(900_000))]), 1000))
  for await (const _ of readEntries(source)) break
  assert.ok(source.destroyed)
})

describe('errors', () => {
  const validArchive = () => archiveOf([file('a', lines(1000)), directory('d')])
  const tarOf = async () => gunzipSync(await validArchive())
  const assertRejected = (
    archive: Buffer | Buffer[],
    message: RegExp,
    kind: new (...args: never[]) => Error = ArchiveDamaged,
  ) =>
    assert.rejects(readAll([archive].flat()), (error) => {
      assert.ok(error instanceof kind, String(error))
      assert.match(error.message, message)
      return true
    })
  /** Returns a tar with a changed field in a header, whose checksum is corrected. */
  const changeHeader = (tar: Buffer, header: number, at: number, text: string): Buffer => {
    tar.write(text, header + at, 'latin1')
    tar.fill(' ', header + 148, header + 156)
    const sum = tar.subarray(header, header + 512).reduce((total, byte) => total + byte, 0)
    tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, header + 148)
    return gzipSync(tar)
  }

  test('every truncation is detected', async () => {
    const archive = await validArchive()
    for (let length = 0; length < archive.length; length += 1) {
      await assertRejected(
        archive.subarray(0, length),
        /the file is empty|unexpected end of file|ends too early/,
      )
    }
  })

  test('every flipped byte is detected', async () => {
    const archive = await validArchive()
    const harmless = new Set([4, 5, 6, 7, 8, 9]) // time, flags and system of the gzip header
    for (let at = 0; at < archive.length; at += 1) {
      if (harmless.has(at)) continue
      const turned = Buffer.from(archive)
      turned[at]! ^= 0xff
      await assertRejected(turned, /^the archive is damaged(?: at byte \d+ of its tar)?: /)
    }
  })

  test('a wrong header checksum, and where', async () => {
    const tar = await tarOf()
    tar[1536 + 3]! ^= 1
    await assertRejected(gzipSync(tar), /at byte 1536 of its tar: the checksum/)
  })

  test('garbage after the gzip member, in the same chunk and in another', async () => {
    const archive = await validArchive()
    await assertRejected(Buffer.concat([archive, noise(100)]), /[Tt]railing junk/)
    await assertRejected([archive, noise(100)], /[Tt]railing junk/)
    await assertRejected([archive, Buffer.from('\x1f\x8bxyz', 'latin1')], /unexpected end of file/)
  })

  test('anything but zeros after the end of the tar', async () => {
    const tar = await tarOf()
    await assertRejected(
      gzipSync(Buffer.concat([tar, Buffer.from('x')])),
      /unexpected data after the end/,
    )
    assert.equal((await readAll([gzipSync(Buffer.concat([tar, Buffer.alloc(9000)]))])).length, 2)
  })

  test('a tar without its end', async () => {
    const tar = await tarOf()
    await assertRejected(
      gzipSync(tar.subarray(0, -1024)),
      /at byte 2048 of its tar: it ends too early/,
    )
    await assertRejected(gzipSync(tar.subarray(0, -512)), /it ends too early/)
  })

  test('two concatenated tars are not supported', async () => {
    const archive = await validArchive()
    for (const both of [
      [archive, archive],
      [Buffer.concat([archive, archive])],
      [gzipSync(Buffer.concat([await tarOf(), await tarOf()]))],
    ])
      await assertRejected(both, /not supported: it is several tars/, ArchiveNotSupported)
  })

  for (const [type, what] of [
    ['1', 'a hard link'],
    ['2', 'a symbolic link'],
    ['3', 'a character device'],
    ['4', 'a block device'],
    ['6', 'a named pipe'],
    ['S', 'a sparse file'],
    ['D', 'the listing of a directory'],
    ['M', 'the rest of a file'],
    ['~', 'an entry of the unknown type "~"'],
  ] as const) {
    test(`${what} is not supported`, async () => {
      const expected = new RegExp(`not supported: it holds ${what}.*: "a"$`)
      await assertRejected(changeHeader(await tarOf(), 0, 156, type), expected, ArchiveNotSupported)
    })
  }

  for (const path of ['/a', '../a', 'a/../../b', './/../a', 'a/..', '//a']) {
    test(`the path ${path} is rejected`, async () => {
      await assertRejected(
        changeHeader(await tarOf(), 0, 0, path),
        /refused: the path "/,
        ArchiveRefused,
      )
    })
  }

  test('a tar of an unknown format', async () => {
    await assertRejected(
      changeHeader(await tarOf(), 0, 257, 'rats'),
      /unknown format/,
      ArchiveNotSupported,
    )
  })

  test('a long name that is too long, not UTF-8, or without an entry', async () => {
    const path = 'n'.repeat(150)
    const tar = async () => gunzipSync(await archiveOf([file(path, noise(1))]))
    const tooLong = changeHeader(await tar(), 0, 124, '77777777777')
    await assertRejected(tooLong, /a long name has/, ArchiveRefused)
    const spoilt = await tar()
    spoilt[512 + 7] = 0xff
    await assertRejected(gzipSync(spoilt), /not UTF-8/, ArchiveNotSupported)
    const alone = Buffer.concat([(await tar()).subarray(0, 1024), Buffer.alloc(1024)])
    await assertRejected(gzipSync(alone), /the last header has no entry/)
  })

  for (const [name, begins] of [
    ['a zip file', 'PK\x03\x04'],
    ['compressed with xz', '\xfd7zXZ\0'],
    ['compressed with zstd', '\x28\xb5\x2f\xfd'],
    ['compressed with bzip2', 'BZh9'],
    ['a git bundle', '# v2 git bundle\n'],
    ['a web page', '<!DOCTYPE html>'],
    ['JSON', '{"message":"Not Found"}'],
  ] as const) {
    test(`${name} is named in the error`, async () => {
      const bytes = Buffer.concat([Buffer.from(begins, 'latin1'), noise(2000)])
      await assertRejected(bytes, new RegExp(`not supported: it is ${name}`), ArchiveNotSupported)
    })
  }

  test('an empty file and an unknown file', async () => {
    await assertRejected([], /damaged: the file is empty$/)
    await assertRejected(Buffer.from('hello'), /it ends too early/)
    await assertRejected(noise(2000), /damaged: it is not an archive: neither gzip nor tar$/)
  })

  test('errors of the stream and aborts are thrown unchanged', async () => {
    const archive = await validArchive()
    const unplugged = new Error('unplugged')
    async function* failingAfter(length: number) {
      yield archive.subarray(0, length)
      throw unplugged
    }
    await assert.rejects(readAll(failingAfter(100)), unplugged)
    await assert.rejects(readAll(failingAfter(archive.length)), unplugged)
    const signal = AbortSignal.abort()
    await assert.rejects(readEntries([archive], { signal }).next(), { name: 'AbortError' })
  })
})
