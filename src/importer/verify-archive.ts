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
import {
  compareSegments,
  metadataDisagreements,
  storedFileDisagreements,
} from './compare-manifest.ts'
import { brokenLinks, brokenRecordLinks, readRecords } from './records.ts'
import { type Unpacked, unpackArchive } from './unpack-archive.ts'

export type Finding =
  | Limited<{ fault: string }>
  /** Something that others should know of, and that takes nothing from the proof. */
  | Limited<{ warning: string }>
  | Limited<{ note: string }>
  /** A repository of which every object is there and is what its name says. */
  | { whole: string }
  /** Once, at the end: whether the bytes could be compared with a manifest. */
  | { compared: boolean }

/** `count` is how many findings the text stands for, where it says how many more of a kind there are. */
type Limited<T> = T & { count?: number }

export interface VerifyParts {
  git: Git
  /** Empty, and the caller's to remove. */
  directory: string
  /** Where the archive is kept, if it is not merely passing by: then its stored bytes are compared as well. */
  file?: string | undefined
}

/** Everything that can be said for and against an archive, as it is found. Throws ArchiveRefused. */
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
  yield* faultsOf('entries', await strangers(root, manifest))
  for (const fault of await schemaFaults(root)) yield { fault }
  if (manifest) yield* metadataFindings(root, manifest)
  yield* recordFindings(unpacked)
  let packedAgain = 0
  for await (const judged of checkRepositories(unpacked, manifest, { git, scratch }, signal)) {
    const { fullName } = judged
    if ('snapshot' in judged) {
      if (judged.isPackedAgain) packedAgain += 1
      yield { whole: fullName }
    } else for (const fault of judged.faults) yield { fault: `${fullName}: ${fault}` }
  }
  if (packedAgain > 0 && manifest) yield { note: packedAgainNote(packedAgain, manifest) }
  // Found from the end of the file, which is not there to be found when the archive is damaged.
  if (manifest && !unpacked.damage) yield* digestFindings(file, manifest, signal)
  if (manifest) {
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
}: Unpacked): Promise<{ manifest: Manifest | undefined; findings: Finding[] }> {
  try {
    const manifest = await readManifest(root)
    if (manifest) return { manifest, findings: [] }
    // It is the last entry, and the archive cannot be read so far.
    if (damage) return { manifest, findings: [] }
    return {
      manifest,
      findings: [{ note: `there is no ${MANIFEST_PATH}: Godwit did not make it` }],
    }
  } catch (error) {
    if (!(error instanceof ManifestInvalid)) throw error
    return { manifest: undefined, findings: [{ fault: error.message }] }
  }
}

async function* metadataFindings(root: string, manifest: Manifest): AsyncGenerator<Finding> {
  const faults = await metadataDisagreements(root, manifest)
  yield* faultsOf('metadata files', faults ?? [])
  yield* faultsOf('stored files', storedFileDisagreements(root, manifest))
  if (!faults)
    yield { note: 'the metadata was not compared: older manifests have no digests of it' }
}

async function* digestFindings(
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

/** What nobody put there who writes such archives; without a manifest there is no telling. */
async function strangers(root: string, manifest: Manifest | undefined): Promise<string[]> {
  if (!manifest) return []
  const stored = manifest.stored_files?.flatMap(({ files }) => files.map(({ path }) => path)) ?? []
  const known = new Set(['schema.json', MANIFEST_PATH, 'repositories', ...stored.map(topOf)])
  const isKnown = (name: string) => known.has(name) || kindOfFile(name) !== undefined
  const atTop = (await readdir(root)).filter((name) => !isKnown(name))
  const owners = existsSync(join(root, 'repositories'))
    ? await readdir(join(root, 'repositories'), { withFileTypes: true })
    : []
  const loose: string[] = []
  for (const owner of owners) {
    const path = `repositories/${owner.name}`
    if (!owner.isDirectory()) loose.push(path)
    else
      for (const name of await readdir(join(root, path)))
        if (!name.endsWith('.git')) loose.push(`${path}/${name}`)
  }
  return [...atTop, ...loose].map((path) => `${path} does not belong in an archive`)
}

const topOf = (path: string): string => path.slice(0, path.indexOf('/'))

/** Only the version is asked for: github.com also says which program wrote it, and others may say more. */
async function schemaFaults(root: string): Promise<string[]> {
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
  yield* faultsOf('record files', records.faults)
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
