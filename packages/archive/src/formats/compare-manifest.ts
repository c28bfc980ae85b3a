import { createReadStream } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { decodeRefs } from '@godwit/git/refs'
import type { Examination, ExaminedRepository } from '@godwit/git/snapshot'
import type { Bytes } from '@godwit/lib/bytes'
import { ifExists } from '@godwit/lib/errno'
import { digestOf } from '@godwit/lib/file-digest'
import { limitLines } from '@godwit/lib/findings'
import { kindOfFile } from '../records/read-records.ts'
import { ByteReader, gunzip } from '../tar/gunzip.ts'
import {
  MANIFEST_PATH,
  type Manifest,
  type ManifestFile,
  type ManifestGit,
  type ManifestRepository,
  parseManifest,
} from '../tar/manifest.ts'
import { ARCHIVE_HEAD, ARCHIVE_TAIL_LENGTH, CLOSING_BLOCK } from '../tar/plan-archive.ts'
import { readEntries, textOf } from '../tar/read-entries.ts'
import { ArchiveDamaged, ArchiveRefused, UnreadableArchive } from '../tar/unreadable-archive.ts'
import { IS_OBJECT, type TarChecksum } from './unpack-archive.ts'

const MAX_DIFFERENCES = 10

/** Returns a line, without the repository's name, for each difference of its git data from the manifest. */
export function compareRepository(expected: ManifestRepository, { repository, wiki }: Examination) {
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

/** Returns how the tar entries of a repository differ from the segment that was exported, or an empty list. */
export function compareSegment({ segment }: ManifestRepository, tar: TarChecksum): string[] {
  if (tar.plainLength !== segment.plain_length)
    return [`it has ${tar.plainLength} bytes of tar, not ${segment.plain_length}`]
  return tar.crc32 === segment.crc32 ? [] : ['its bytes differ from the exported ones (CRC)']
}

function compareGit(expected: ManifestGit, found: ExaminedRepository): string[] {
  if (expected.object_format !== found.objectFormat)
    return [`its objects are ${found.objectFormat}, not ${expected.object_format}`]
  const { head, refs, symrefs } = decodeRefs(found)
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

/** Returns a line for each file of an unpacked repository and its wiki that differs from the manifest. */
export async function compareFiles(root: string, { full_name, wiki, files }: ManifestRepository) {
  const names = wiki ? [full_name, `${full_name}.wiki`] : [full_name]
  const folders = names.map((name) => `repositories/${name}.git`)
  // The manifest does not list objects: the name of an object is its digest, and a pack ends with its digest.
  const found = (await filesBelow(root, folders)).filter((path) => !IS_OBJECT.test(path))
  const lines = differingFiles(root, found, digestsOf(files))
  return (await limitLines('files', lines)).map(({ text }) => text)
}

export const NOT_IN_MANIFEST = 'is in the archive and not in the manifest'
export const CHANGED = 'is not the file that was exported (SHA-256)'

/** Yields a line for each file that differs. */
async function* differingFiles(
  root: string,
  found: readonly string[],
  digests: ReadonlyMap<string, string>,
): AsyncGenerator<string> {
  const missing = new Set(digests.keys())
  for (const path of found) {
    missing.delete(path)
    const sha256 = digests.get(path)
    if (sha256 === undefined) yield `${path} ${NOT_IN_MANIFEST}`
    else if ((await digestOf(join(root, path))) !== sha256) yield `${path} ${CHANGED}`
  }
  for (const path of missing) yield `${path} is missing`
}

const digestsOf = (files: readonly ManifestFile[]): Map<string, string> =>
  new Map(files.map(({ path, sha256 }) => [path, sha256]))

/** Lists the files in these folders of `root`. A folder that does not exist counts as empty. */
async function filesBelow(root: string, folders: Iterable<string>): Promise<string[]> {
  const options = { recursive: true, withFileTypes: true } as const
  const files: string[] = []
  for (const folder of folders)
    for (const each of (await ifExists(readdir(join(root, folder), options), 'ENOENT')) ?? [])
      if (!each.isDirectory()) files.push(relative(root, join(each.parentPath, each.name)))
  return files
}

/** Yields a line for each metadata file of an unpacked archive that differs from the manifest. */
export async function* compareMetadata(root: string, { metadata }: Manifest) {
  const digests = digestsOf(metadata.files)
  const isMetadata = (name: string) => digests.has(name) || kindOfFile(name) !== undefined
  yield* differingFiles(root, (await readdir(root)).filter(isMetadata).sort(), digests)
}

/** Throws ArchiveRefused if the metadata was edited. It decides who may read a repository and what they may do. */
export async function refuseEdited(root: string, manifest: Manifest): Promise<void> {
  const [first, ...more] = await Array.fromAsync(compareMetadata(root, manifest))
  if (first === undefined) return
  throw new ArchiveRefused(more.length > 0 ? `${first}; and ${more.length} more like it` : first)
}

/** Yields a line for each attachment and release asset that differs from the manifest. */
export async function* compareUploadedFiles(root: string, manifest: Manifest) {
  const digests = uploadDigests(manifest)
  const folders = new Set([...digests.keys()].map((path) => path.split('/')[0]!))
  yield* differingFiles(root, await filesBelow(root, folders), digests)
}

/** Returns the SHA-256 of attachments and release assets by path. */
export const uploadDigests = ({ stored_files }: Manifest): Map<string, string> =>
  digestsOf(stored_files.flatMap(({ files }) => files))

/**
 * Compares the length and SHA-256 of the compressed bytes of each segment with the manifest. Returns the full names of the
 * repositories that differ, and `the metadata` if that does, or why nothing was compared. The last segment is that of the manifest,
 * which does not list itself.
 */
export async function compareSegments(
  file: string,
  { repositories, metadata, stored_files }: Manifest,
  signal: AbortSignal,
): Promise<{ differing: string[] } | { incomparable: string }> {
  // A pipe must not be opened, because that would wait for another writer.
  const stats = await stat(file)
  if (stats.isDirectory()) return { incomparable: 'it is a directory' }
  if (!stats.isFile()) return { incomparable: 'it could be read only once' }
  if (!(await isAsWritten(file, stats.size)))
    return { incomparable: 'it was packed again since it was exported' }

  const metadataSegment = { full_name: 'the metadata', segment: metadata.segment }
  const segments = [metadataSegment, ...repositories, ...stored_files]
  const lengths = segments.reduce((sum, { segment }) => sum + segment.length, 0)
  let start = ARCHIVE_HEAD.length
  if (start + lengths > stats.size - ARCHIVE_TAIL_LENGTH)
    return { differing: segments.map(({ full_name }) => full_name) }
  const differing: string[] = []
  for (const { full_name, segment } of segments) {
    const range = { start, end: start + segment.length - 1 }
    if (segment.length === 0 || (await digestOf(file, range, signal)) !== segment.sha256)
      differing.push(full_name)
    start += segment.length
  }
  return { differing }
}

/** Returns whether Godwit wrote the compressed file. Only Godwit ends an archive with one stored block of zeros. */
async function isAsWritten(file: string, size: number): Promise<boolean> {
  if (size < ARCHIVE_HEAD.length + ARCHIVE_TAIL_LENGTH) return false
  await using archive = await open(file)
  const [head, closing] = [Buffer.alloc(ARCHIVE_HEAD.length), Buffer.alloc(CLOSING_BLOCK.length)]
  await archive.read({ buffer: head, position: 0 })
  await archive.read({ buffer: closing, position: size - ARCHIVE_TAIL_LENGTH })
  return head.equals(ARCHIVE_HEAD) && closing.equals(CLOSING_BLOCK)
}

/** How an archive was checked: only by its gzip checksum, or also by the digests in its manifest. */
export type CheckMethod = 'gzip' | 'digests'

/**
 * Checks every byte without unpacking and without git: the gzip checksum, and for an archive of Godwit also its tar format and the
 * digest of each repository. Throws ArchiveDamaged.
 */
export async function checkArchive(file: string, signal: AbortSignal): Promise<CheckMethod> {
  const manifest = await findManifest(file, signal)
  if (!manifest) return 'gzip'
  const compared = await compareSegments(file, manifest, signal)
  if ('incomparable' in compared) return 'gzip'
  const [first, ...others] = compared.differing
  if (first === undefined) return 'digests'
  const more = others.length > 0 ? ` and ${others.length} more` : ''
  throw new ArchiveDamaged(`${first}${more}: the bytes differ from the exported ones (SHA-256)`, 0)
}

/** Checks only the gzip checksum of a stream. Throws ArchiveDamaged. */
export async function checkGzip(archive: Bytes, signal: AbortSignal): Promise<void> {
  const gzip = new ByteReader(Readable.from(archive, { highWaterMark: 1, signal }))
  for await (const _ of gunzip(gzip));
}

/** Returns undefined for an archive of another program, of which only the gzip checksum is checked. */
async function findManifest(file: string, signal: AbortSignal): Promise<Manifest | undefined> {
  let found: Manifest | undefined
  try {
    for await (const entry of readEntries(createReadStream(file), { signal }))
      if (entry.path === MANIFEST_PATH) found = parseManifest(await textOf(entry))
  } catch (error) {
    if (found || !(error instanceof UnreadableArchive)) throw error
    await checkGzip(createReadStream(file), signal)
  }
  return found
}
