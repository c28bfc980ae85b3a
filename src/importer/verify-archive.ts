import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST_PATH, type Manifest, ManifestInvalid } from '../archive/manifest.ts'
import type { Folder } from '../archive/read-folder.ts'
import { unsafePath } from '../archive/tar-header.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import type { Git } from '../git/git.ts'
import { hasCode } from '../lib/errno.ts'
import { parseJson } from '../lib/json-shape.ts'
import { limitLines } from '../lib/limited-lines.ts'
import { kindOfFile } from '../records/record-file.ts'
import {
  checkRepositories,
  readManifest,
  skippedRepositories,
  unexportedLfs,
} from './check-repositories.ts'
import { compareMetadata, compareSegments, compareStoredFiles } from './compare-manifest.ts'
import { brokenLinks, brokenRecordLinks, readRecords } from './records.ts'
import { type Unpacked, unpackArchive } from './unpack-archive.ts'

export type Finding =
  | Limited<{ fault: string }>
  /** Something that a user should know and that does not make the archive invalid. */
  | Limited<{ warning: string }>
  | Limited<{ note: string }>
  /** The full name of a repository that has all its objects, each with the right digest. */
  | { whole: string }
  /** Sent once, at the end: whether the archive has a manifest to compare with. */
  | { compared: boolean }

/** `count` is how many findings the text stands for, if it says how many more of a kind there are. */
type Limited<T> = T & { count?: number }

export interface VerifyParts {
  git: Git
  /** An empty directory. The caller removes it. */
  directory: string
  /** The file of the archive, if it is one. Then its compressed bytes are compared with the manifest too. */
  file?: string | undefined
}

/** Yields everything that was verified or is wrong, as soon as it is found. Throws ArchiveRefused. */
export async function* verifyArchive(
  { git, directory, file }: VerifyParts,
  archive: Bytes | Folder,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const scratch = join(directory, 'scratch')
  await mkdir(scratch)
  const unpacked = await unpackArchive(archive, join(directory, 'unpacked'), signal)
  if (unpacked.damage) yield { fault: unpacked.damage.message }

  const { root } = unpacked
  const { manifest, findings } = await manifestFindings(unpacked)
  yield* findings
  if (manifest) yield* faultsOf('entries', await unexpectedEntries(root, manifest))
  for (const fault of await schemaErrors(root)) yield { fault }
  if (manifest) yield* metadataFindings(root, manifest)
  yield* recordFindings(unpacked)
  let packedAgain = 0
  for await (const checked of checkRepositories(unpacked, manifest, { git, scratch }, signal)) {
    const { fullName } = checked
    if ('snapshot' in checked) {
      if (checked.isPackedAgain) packedAgain += 1
      yield { whole: fullName }
    } else for (const error of checked.errors) yield { fault: `${fullName}: ${error}` }
  }
  if (manifest) {
    if (packedAgain > 0) yield { note: packedAgainNote(packedAgain, manifest) }
    // Segments are found from the end of the file, which a damaged archive may lack.
    if (!unpacked.damage) yield* segmentFindings(file, manifest, signal)
    yield* notesOf('LFS objects', manifest.repositories.flatMap(unexportedLfs))
    yield* notesOf('skipped repositories', skippedRepositories(manifest))
  }
  yield { compared: manifest !== undefined }
}

type Lines = Iterable<string> | AsyncIterable<string>

async function* faultsOf(kind: string, lines: Lines): AsyncGenerator<Finding> {
  for (const { text, count } of await limitLines(kind, lines)) yield { fault: text, count }
}

async function* notesOf(kind: string, lines: Lines): AsyncGenerator<Finding> {
  for (const { text, count } of await limitLines(kind, lines)) yield { note: text, count }
}

function packedAgainNote(count: number, { repositories }: Manifest): string {
  const by = repositories.every(({ files }) => files)
    ? 'objects, refs and files'
    : 'objects and refs'
  return `${count} repositories were packed again since they were exported (CRC): compared by ${by}`
}

async function manifestFindings({
  root,
  damage,
}: Unpacked): Promise<{ manifest?: Manifest; findings: Finding[] }> {
  try {
    const manifest = await readManifest(root)
    if (manifest) return { manifest, findings: [] }
    // The manifest is the last entry, so a truncated archive lacks it.
    if (damage) return { findings: [] }
    return { findings: [{ note: `there is no ${MANIFEST_PATH}: Godwit did not make it` }] }
  } catch (error) {
    if (!(error instanceof ManifestInvalid)) throw error
    return { findings: [{ fault: error.message }] }
  }
}

async function* metadataFindings(root: string, manifest: Manifest): AsyncGenerator<Finding> {
  const errors = await compareMetadata(root, manifest)
  yield* faultsOf('metadata files', errors ?? [])
  yield* faultsOf('stored files', compareStoredFiles(root, manifest))
  if (!errors)
    yield { note: 'the metadata was not compared: older manifests have no digests of it' }
}

async function* segmentFindings(
  file: string | undefined,
  manifest: Manifest,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const compared = file
    ? await compareSegments(file, manifest, signal)
    : { incomparable: 'it could be read only once' }
  if ('incomparable' in compared)
    yield { note: `the digests of its segments were not compared: ${compared.incomparable}` }
  else
    for (const fullName of compared.differing)
      yield { fault: `${fullName}: its stored bytes are not those it was exported as (SHA-256)` }
}

/** Returns a line for each file and directory that Godwit never writes. */
async function unexpectedEntries(root: string, manifest: Manifest): Promise<string[]> {
  const stored = manifest.stored_files?.flatMap(({ files }) => files.map(({ path }) => path)) ?? []
  const folders = stored.map((path) => path.slice(0, path.indexOf('/')))
  const known = new Set(['schema.json', MANIFEST_PATH, 'repositories', ...folders])
  const isKnown = (name: string) => known.has(name) || kindOfFile(name) !== undefined
  const unexpected = (await readdir(root)).filter((name) => !isKnown(name))
  const owners = existsSync(join(root, 'repositories'))
    ? await readdir(join(root, 'repositories'), { withFileTypes: true })
    : []
  for (const owner of owners) {
    const path = `repositories/${owner.name}`
    if (!owner.isDirectory()) unexpected.push(path)
    else
      for (const name of await readdir(join(root, path)))
        if (!name.endsWith('.git')) unexpected.push(`${path}/${name}`)
  }
  return unexpected.map((path) => `${path} does not belong in an archive`)
}

/** Checks only the version. github.com also writes which program made the archive, and others may write more. */
async function schemaErrors(root: string): Promise<string[]> {
  try {
    const schema: unknown = parseJson(await readFile(join(root, 'schema.json'), 'utf8'))
    const version: unknown = (schema as { version?: unknown } | null)?.version
    return typeof version === 'string' && version !== '' ? [] : ['schema.json: it has no version']
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) return [`schema.json: ${(error as Error).message}`]
    const [only = '', ...others] = await readdir(root)
    const isInside = others.length === 0 && existsSync(join(root, only, 'schema.json'))
    return [
      `schema.json: is missing${isInside ? `: all is in the folder ${only}; pack it again from inside` : ''}`,
    ]
  }
}

async function* recordFindings({ root, damage }: Unpacked): AsyncGenerator<Finding> {
  const addresses = new Set<string>()
  const records = await readRecords(root, (address) => addresses.add(address))
  yield* faultsOf('record files', records.errors)
  for (const { text, count } of records.warnings) yield { warning: text, count }
  const hasGit = existsSync(join(root, 'repositories'))
  if (!hasGit) yield { note: 'it holds no git data; links to repositories were not followed' }
  if (!records.hasUsers) yield { note: 'it holds no users; links to them were not followed' }
  const isInArchive = (path: string) =>
    (!hasGit && path.startsWith('repositories/')) ||
    damage !== undefined ||
    (unsafePath(path) === undefined && existsSync(join(root, path)))
  for (const { text, count } of [
    ...brokenLinks(records, isInArchive),
    ...(await brokenRecordLinks(root, records, addresses, isInArchive)),
  ])
    yield { fault: text, count }
}
