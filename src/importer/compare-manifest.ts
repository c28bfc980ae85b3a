import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Manifest, ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import { ARCHIVE_HEAD, ARCHIVE_TAIL_LENGTH, CLOSING_BLOCK } from '../archive/plan-archive.ts'
import { limitLines } from '../lib/limited-lines.ts'
import { kindOfFile } from '../records/record-file.ts'
import { statedRefs } from '../sources/refs.ts'
import type { Examination, Found } from '../sources/snapshot.ts'
import { IS_OBJECT } from './safe-entries.ts'
import type { SegmentRun } from './unpack-archive.ts'

const MAX_TOLD = 10

/** Where a repository is not what the manifest says of it, each in a line without its name. */
export function manifestErrors(
  said: ManifestRepository,
  { repository, wiki }: Examination,
): string[] {
  return [
    ...gitDisagreements(said, repository),
    ...(said.wiki && wiki ? gitDisagreements(said.wiki, wiki).map((line) => `wiki: ${line}`) : []),
    ...(said.wiki && !wiki ? ['its wiki is missing'] : []),
    ...(wiki && !said.wiki ? ['it has a wiki that the manifest does not name'] : []),
    ...differences(
      'LFS object',
      new Map(said.lfs.map(({ oid, size }) => [oid, `${size} bytes`])),
      new Map(
        repository.lfsObjects.map(({ path, size }) => [path.split('/').at(-1)!, `${size} bytes`]),
      ),
    ),
  ]
}

/** Whether the entries of the repository are, byte for byte, those that its segment was made of. */
export function runDisagreement({ segment }: ManifestRepository, run: SegmentRun): string[] {
  if (run.plainLength !== segment.plain_length)
    return [`it has ${run.plainLength} bytes of tar, not ${segment.plain_length}`]
  return run.crc32 === segment.crc32 ? [] : ['its bytes are not those it was exported with (CRC)']
}

function gitDisagreements(said: ManifestGit, found: Found): string[] {
  if (said.object_format !== found.objectFormat)
    return [`its objects are ${found.objectFormat}, not ${said.object_format}`]
  const { head, refs, symrefs } = statedRefs(found)
  return [
    ...(head === said.head ? [] : [`HEAD is ${head}, and the manifest says ${said.head}`]),
    ...differences('ref', oidsOf(said.refs), oidsOf(refs)),
    ...differences('symbolic ref', targetsOf(said.symrefs), targetsOf(symrefs)),
  ]
}

const oidsOf = (refs: ManifestGit['refs']) => new Map(refs.map(({ name, oid }) => [name, oid]))
const targetsOf = (symrefs: ManifestGit['symrefs']) =>
  new Map(symrefs.map(({ name, target }) => [name, target]))

function differences(
  what: string,
  said: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): string[] {
  const lines: string[] = []
  for (const [name, value] of said) {
    const there = found.get(name)
    if (there === undefined) lines.push(`the ${what} ${name} is missing`)
    else if (there !== value) lines.push(`${name} is ${there}, and the manifest says ${value}`)
  }
  for (const name of found.keys())
    if (!said.has(name)) lines.push(`the manifest does not name the ${what} ${name}`)
  const more = lines.length - MAX_TOLD
  return more > 0 ? [...lines.slice(0, MAX_TOLD), `and ${more} more like these`] : lines
}

/**
 * Every file of an unpacked repository and its wiki that is not the one it was exported with, each in a line. None where
 * the manifest says nothing of files, as those of older formats.
 */
export async function fileDisagreements(
  root: string,
  { full_name, wiki, files }: ManifestRepository,
): Promise<string[]> {
  if (!files) return []
  const folders = wiki ? [`${full_name}.git`, `${full_name}.wiki.git`] : [`${full_name}.git`]
  const named = new Map(files.map(({ path, sha256 }) => [path, sha256]))
  // Objects have their digest in their name, or are in a pack that ends with its own.
  async function* found(): AsyncGenerator<string> {
    for (const folder of folders)
      for await (const path of filesBelow(root, join('repositories', folder)))
        if (!IS_OBJECT.test(path)) yield path
  }
  async function* lines(): AsyncGenerator<string> {
    for await (const { path, why } of differingFiles(root, found(), named)) yield `${path} ${why}`
  }
  return (await limitLines('files', lines())).map(({ text }) => text)
}

/** Each file that was found or is named, and is not there or not the same. */
async function* differingFiles(
  root: string,
  found: AsyncIterable<string>,
  named: ReadonlyMap<string, string>,
): AsyncGenerator<{ path: string; why: string }> {
  const missing = new Set(named.keys())
  for await (const path of found) {
    missing.delete(path)
    const sha256 = named.get(path)
    if (sha256 === undefined) yield { path, why: UNNAMED }
    else if ((await digestOf(join(root, path))) !== sha256) yield { path, why: CHANGED }
  }
  for (const path of missing) yield { path, why: MISSING }
}

export const UNNAMED = 'is in the archive and not in the manifest'
export const CHANGED = 'is not the file that was exported (SHA-256)'
const MISSING = 'is missing'

async function* filesBelow(root: string, folder: string): AsyncGenerator<string> {
  const found = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
  for (const each of found)
    if (!each.isDirectory()) yield relative(root, join(each.parentPath, each.name))
}

/**
 * Every file of an unpacked archive's metadata that is not the one it was exported with, each in a line. Undefined where
 * the manifest says nothing of them, as those of format 1.
 */
export async function metadataDisagreements(
  root: string,
  { metadata }: Manifest,
): Promise<string[] | undefined> {
  if (!metadata) return undefined
  const faults: string[] = []
  for (const { path, sha256 } of metadata.files) {
    const file = join(root, path)
    if (!existsSync(file)) faults.push(`${path}: ${MISSING}`)
    else if ((await digestOf(file)) !== sha256) faults.push(`${path}: ${CHANGED}`)
  }
  const named = new Set(metadata.files.map(({ path }) => path))
  for (const name of (await readdir(root)).sort())
    if (kindOfFile(name) !== undefined && !named.has(name)) faults.push(`${name}: ${UNNAMED}`)
  return faults
}

/** The same for the files that records name: attachments, and assets of releases. */
export async function* storedFileDisagreements(
  root: string,
  manifest: Manifest,
): AsyncGenerator<string> {
  const named = storedDigests(manifest) ?? new Map<string, string>()
  async function* found(): AsyncGenerator<string> {
    for (const folder of new Set([...named.keys()].map((path) => path.split('/')[0]!)))
      if (existsSync(join(root, folder))) yield* filesBelow(root, folder)
  }
  for await (const { path, why } of differingFiles(root, found(), named)) yield `${path}: ${why}`
}

/** SHA-256 by path. Undefined where the manifest says nothing of such files, as those before format 4. */
export function storedDigests({ stored_files }: Manifest): Map<string, string> | undefined {
  return (
    stored_files &&
    new Map(stored_files.flatMap(({ files }) => files.map(({ path, sha256 }) => [path, sha256])))
  )
}

export type Compared =
  /** The repositories, by full name, and the metadata, whose stored bytes are not those that the manifest names. */
  { differing: string[] } | { incomparable: string }

const CHUNK = 1024 * 1024

/**
 * Whether the deflated bytes of each segment are, by length and SHA-256, those that it was exported as. The manifest's own
 * is the one whose length nobody can know when it is written. It is the last of all, and in format 1 it was the first.
 */
export async function compareSegments(
  file: string,
  { repositories, metadata, stored_files = [] }: Manifest,
  signal: AbortSignal,
): Promise<Compared> {
  // Asked before it is opened: opening a pipe would wait for another writer.
  const kind = await stat(file)
  if (kind.isDirectory()) return { incomparable: 'it is a directory' }
  if (!kind.isFile()) return { incomparable: 'it could be read only once' }
  await using archive = await open(file)
  if (!(await isAsWritten(archive, kind.size)))
    return { incomparable: 'it was packed again since it was exported' }

  const named = [...repositories, ...stored_files].map(({ full_name, segment }) => ({
    name: full_name,
    ...segment,
  }))
  const segments = metadata ? [{ name: 'the metadata', ...metadata.segment }, ...named] : named
  const lengths = segments.reduce((sum, { length }) => sum + length, 0)
  const end = kind.size - ARCHIVE_TAIL_LENGTH
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

/** Any other program that writes gzip ends it otherwise than with one stored block of zeros. */
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

/** Of the whole file, or of the bytes from `start` up to and including `end`. */
export async function digestOf(
  file: string,
  range: { start?: number; end?: number } = {},
  signal?: AbortSignal,
): Promise<string> {
  const digest = createHash('sha256')
  await pipeline(createReadStream(file, { ...range, highWaterMark: CHUNK }), digest, { signal })
  return digest.digest('hex')
}
