import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Manifest, ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import { ARCHIVE_HEAD, ARCHIVE_TAIL_LENGTH, CLOSING_BLOCK } from '../archive/plan-archive.ts'
import { limitLines } from '../lib/limited-lines.ts'
import { kindOfFile } from '../records/record-file.ts'
import { readableRefs } from '../sources/refs.ts'
import type { Examination, ExaminedRepository } from '../sources/snapshot.ts'
import { IS_OBJECT } from './safe-entries.ts'
import type { SegmentRun } from './unpack-archive.ts'

const MAX_DIFFERENCES = 10

/** Returns a line, without the repository's name, for each difference of its git data from the manifest. */
export function compareRepository(
  expected: ManifestRepository,
  { repository, wiki }: Examination,
): string[] {
  return [
    ...compareGit(expected, repository),
    ...(expected.wiki && wiki
      ? compareGit(expected.wiki, wiki).map((line) => `wiki: ${line}`)
      : []),
    ...(expected.wiki && !wiki ? ['its wiki is missing'] : []),
    ...(wiki && !expected.wiki ? ['it has a wiki that the manifest does not name'] : []),
    ...compareMaps(
      'LFS object',
      new Map(expected.lfs.map(({ oid, size }) => [oid, `${size} bytes`])),
      new Map(
        repository.lfsObjects.map(({ path, size }) => [path.split('/').at(-1)!, `${size} bytes`]),
      ),
    ),
  ]
}

/** Compares the tar entries of a repository with the segment that they were exported as. */
export function compareSegment({ segment }: ManifestRepository, run: SegmentRun): string[] {
  if (run.plainLength !== segment.plain_length)
    return [`it has ${run.plainLength} bytes of tar, not ${segment.plain_length}`]
  return run.crc32 === segment.crc32 ? [] : ['its bytes are not those it was exported with (CRC)']
}

function compareGit(expected: ManifestGit, found: ExaminedRepository): string[] {
  if (expected.object_format !== found.objectFormat)
    return [`its objects are ${found.objectFormat}, not ${expected.object_format}`]
  const { head, refs, symrefs } = readableRefs(found)
  const oids = (of: ManifestGit['refs']) => new Map(of.map(({ name, oid }) => [name, oid]))
  const targets = (of: ManifestGit['symrefs']) =>
    new Map(of.map(({ name, target }) => [name, target]))
  return [
    ...(head === expected.head ? [] : [`HEAD is ${head}, and the manifest says ${expected.head}`]),
    ...compareMaps('ref', oids(expected.refs), oids(refs)),
    ...compareMaps('symbolic ref', targets(expected.symrefs), targets(symrefs)),
  ]
}

function compareMaps(
  what: string,
  expected: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): string[] {
  const lines: string[] = []
  for (const [name, value] of expected) {
    const actual = found.get(name)
    if (actual === undefined) lines.push(`the ${what} ${name} is missing`)
    else if (actual !== value) lines.push(`${name} is ${actual}, and the manifest says ${value}`)
  }
  for (const name of found.keys())
    if (!expected.has(name)) lines.push(`the manifest does not name the ${what} ${name}`)
  const more = lines.length - MAX_DIFFERENCES
  return more > 0 ? [...lines.slice(0, MAX_DIFFERENCES), `and ${more} more like these`] : lines
}

/**
 * Returns a line for each file of an unpacked repository and its wiki that differs from the manifest. Manifests of older formats do
 * not list files; then there are no lines.
 */
export async function compareFiles(
  root: string,
  { full_name, wiki, files }: ManifestRepository,
): Promise<string[]> {
  if (!files) return []
  const folders = wiki ? [`${full_name}.git`, `${full_name}.wiki.git`] : [`${full_name}.git`]
  const digests = new Map(files.map(({ path, sha256 }) => [path, sha256]))
  // The digest of an object is its name, and a pack ends with its digest.
  async function* found(): AsyncGenerator<string> {
    for (const folder of folders)
      for await (const path of filesBelow(root, join('repositories', folder)))
        if (!IS_OBJECT.test(path)) yield path
  }
  async function* lines(): AsyncGenerator<string> {
    for await (const { path, why } of differingFiles(root, found(), digests)) yield `${path} ${why}`
  }
  return (await limitLines('files', lines())).map(({ text }) => text)
}

export const NOT_IN_MANIFEST = 'is in the archive and not in the manifest'
export const CHANGED = 'is not the file that was exported (SHA-256)'
const MISSING = 'is missing'

async function* differingFiles(
  root: string,
  found: AsyncIterable<string>,
  digests: ReadonlyMap<string, string>,
): AsyncGenerator<{ path: string; why: string }> {
  const missing = new Set(digests.keys())
  for await (const path of found) {
    missing.delete(path)
    const sha256 = digests.get(path)
    if (sha256 === undefined) yield { path, why: NOT_IN_MANIFEST }
    else if ((await digestOf(join(root, path))) !== sha256) yield { path, why: CHANGED }
  }
  for (const path of missing) yield { path, why: MISSING }
}

async function* filesBelow(root: string, folder: string): AsyncGenerator<string> {
  const found = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
  for (const each of found)
    if (!each.isDirectory()) yield relative(root, join(each.parentPath, each.name))
}

/**
 * Returns a line for each metadata file of an unpacked archive that differs from the manifest. Returns undefined if the manifest has
 * no digests of them, as in format 1.
 */
export async function compareMetadata(
  root: string,
  { metadata }: Manifest,
): Promise<string[] | undefined> {
  if (!metadata) return undefined
  const errors: string[] = []
  for (const { path, sha256 } of metadata.files) {
    const file = join(root, path)
    if (!existsSync(file)) errors.push(`${path}: ${MISSING}`)
    else if ((await digestOf(file)) !== sha256) errors.push(`${path}: ${CHANGED}`)
  }
  const named = new Set(metadata.files.map(({ path }) => path))
  for (const name of (await readdir(root)).sort())
    if (kindOfFile(name) !== undefined && !named.has(name))
      errors.push(`${name}: ${NOT_IN_MANIFEST}`)
  return errors
}

/** Yields a line for each attachment and release asset that differs from the manifest. */
export async function* compareStoredFiles(
  root: string,
  manifest: Manifest,
): AsyncGenerator<string> {
  const digests = storedDigests(manifest) ?? new Map<string, string>()
  async function* found(): AsyncGenerator<string> {
    for (const folder of new Set([...digests.keys()].map((path) => path.split('/')[0]!)))
      if (existsSync(join(root, folder))) yield* filesBelow(root, folder)
  }
  for await (const { path, why } of differingFiles(root, found(), digests)) yield `${path}: ${why}`
}

/** Returns the SHA-256 of attachments and release assets by path, or undefined for manifests before format 4. */
export function storedDigests({ stored_files }: Manifest): Map<string, string> | undefined {
  return (
    stored_files &&
    new Map(stored_files.flatMap(({ files }) => files.map(({ path, sha256 }) => [path, sha256])))
  )
}

export type ComparedSegments =
  /** The full names of repositories, and `the metadata`, whose stored bytes differ from the manifest. */
  { differing: string[] } | { incomparable: string }

const CHUNK_BYTES = 1024 * 1024

/**
 * Compares the length and SHA-256 of the compressed bytes of each segment with the manifest. The segment of the manifest itself is
 * not listed in it; it is the last one, and was the first one in format 1.
 */
export async function compareSegments(
  file: string,
  { repositories, metadata, stored_files = [] }: Manifest,
  signal: AbortSignal,
): Promise<ComparedSegments> {
  // A pipe must not be opened, because that would wait for another writer.
  const stats = await stat(file)
  if (stats.isDirectory()) return { incomparable: 'it is a directory' }
  if (!stats.isFile()) return { incomparable: 'it could be read only once' }
  await using archive = await open(file)
  if (!(await isAsWritten(archive, stats.size)))
    return { incomparable: 'it was packed again since it was exported' }

  const named = [...repositories, ...stored_files].map(({ full_name, segment }) => ({
    name: full_name,
    ...segment,
  }))
  const segments = metadata ? [{ name: 'the metadata', ...metadata.segment }, ...named] : named
  const lengths = segments.reduce((sum, { length }) => sum + length, 0)
  const end = stats.size - ARCHIVE_TAIL_LENGTH
  let start = metadata ? ARCHIVE_HEAD.length : end - lengths
  if (start < ARCHIVE_HEAD.length || start + lengths > end)
    return { differing: segments.map(({ name }) => name) }
  const differing: string[] = []
  for (const { name, length, sha256 } of segments) {
    const range = { start, end: start + length - 1 }
    if (length === 0 || (await digestOf(file, range, signal)) !== sha256) differing.push(name)
    start += length
  }
  return { differing }
}

/** Only Godwit ends an archive with one stored block of zeros. */
async function isAsWritten(archive: FileHandle, size: number): Promise<boolean> {
  if (size < ARCHIVE_HEAD.length + ARCHIVE_TAIL_LENGTH) return false
  const head = await bytesAt(archive, 0, ARCHIVE_HEAD.length)
  const closing = await bytesAt(archive, size - ARCHIVE_TAIL_LENGTH, CLOSING_BLOCK.length)
  return head.equals(ARCHIVE_HEAD) && closing.equals(CLOSING_BLOCK)
}

async function bytesAt(archive: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await archive.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** Returns the SHA-256 of a file, or of its bytes from `start` to `end` inclusive. */
export async function digestOf(
  file: string,
  range: { start?: number; end?: number } = {},
  signal?: AbortSignal,
): Promise<string> {
  const digest = createHash('sha256')
  const stream = createReadStream(file, { ...range, highWaterMark: CHUNK_BYTES })
  await pipeline(stream, digest, { signal })
  return digest.digest('hex')
}
