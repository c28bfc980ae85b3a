import { createCipheriv, createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { StoredSegment } from '../../packages/archive/src/tar/plan-archive.ts'
import {
  type FileEntry,
  type Segment,
  type SegmentEntry,
  writeSegment,
} from '../../packages/archive/src/tar/write-segment.ts'
import type { Bytes } from '../../packages/lib/src/bytes.ts'
import type { BlobStore } from '../../packages/server/src/blobs/blob-store.ts'

/** Returns incompressible bytes, the same for the same seed. */
export function noise(length: number, seed = 0): Buffer {
  const key = createHash('md5').update(`noise ${seed}`).digest()
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length))
}

export function lines(length: number): Buffer {
  return Buffer.alloc(length, 'The godwit flies eleven days over open sea.\n')
}

export const MODIFIED_AT = Date.UTC(2024, 1, 29, 12, 34, 56)

export function directory(path: string): SegmentEntry {
  return { kind: 'directory', path, modifiedAt: MODIFIED_AT }
}

/** Returns a file entry whose content arrives in chunks of the given size. */
export function file(path: string, content: Buffer, packed = false, chunk = 1000): FileEntry {
  return {
    kind: 'file',
    path,
    size: content.length,
    modifiedAt: MODIFIED_AT,
    packed,
    *open() {
      for (let at = 0; at < content.length; at += chunk) yield content.subarray(at, at + chunk)
    },
  }
}

/** Returns a path of exactly `length` bytes, in parts that file systems accept; its last part has `last` bytes. */
export function pathOf(length: number, last = 60): string {
  const folders = Array.from({ length: Math.max(0, length - last) }, (_, at) => {
    return at === length - last - 1 || at % 50 === 49 ? '/' : 'd'
  })
  return folders.join('').padEnd(length, 'n')
}

/** Yields the parent folders of a path, outermost first. */
function* foldersOf(path: string): Generator<SegmentEntry> {
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    yield directory(path.slice(0, at))
  }
}

export async function collect(bytes: Bytes): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of bytes) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

export async function segmentInMemory(
  entries: Iterable<SegmentEntry> | AsyncIterable<SegmentEntry>,
): Promise<Segment & { bytes: Buffer }> {
  let bytes: Buffer = Buffer.alloc(0)
  const segment = await writeSegment(entries, async (deflated) => {
    bytes = await collect(deflated)
  })
  return { ...segment, bytes }
}

export async function storeSegments(
  blobs: BlobStore,
  segments: readonly Iterable<SegmentEntry>[],
): Promise<StoredSegment[]> {
  const stored: StoredSegment[] = []
  for (const [index, entries] of segments.entries()) {
    const key = `segment-${index}`
    stored.push({ key, ...(await writeSegment(entries, (bytes) => blobs.put(key, bytes))) })
  }
  return stored
}

/** Returns three segments with files and directories, every way to write a path, and sizes around block boundaries. */
export function sampleSegments(): SegmentEntry[][] {
  const widest = `${'d'.repeat(155)}/${'n'.repeat(100)}`
  const long = [pathOf(100), pathOf(101), pathOf(255), pathOf(256), pathOf(400), widest]
  const sizes = [0, 1, 511, 512, 513, 65_534, 65_535, 65_536, 65_537, 524_280, 1_048_576]
  return [
    [file('schema.json', Buffer.from('{"version":"1.0.1"}')), directory('repositories')],
    [
      directory('packs'),
      ...sizes.map((size) => file(`packs/${size}.pack`, noise(size, size), true)),
      ...sizes.map((size) => file(`packs/${size}.txt`, lines(size))),
    ],
    [
      ...new Map(
        long.flatMap((path) => [...foldersOf(path)]).map((each) => [each.path, each]),
      ).values(),
      ...long.map((path, index) => file(path, lines(index * 1000), index % 2 === 0)),
      file('Ærøskøbing 渡り鳥.txt', Buffer.from('utf-8\n')),
    ],
  ]
}

export async function temporaryFolder(t: Pick<TestContext, 'after'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-archive-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}
