import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unsafePath } from '../archive/entry-path.ts'
import { object, text } from '../archive/json-shape.ts'
import { MANIFEST_PATH, type Manifest, ManifestInvalid } from '../archive/manifest.ts'
import { parseJson } from '../archive/parse-json.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import type { Git } from '../git/git.ts'
import { hasCode } from '../ground/errno.ts'
import { metadataDisagreements } from './metadata-agreement.ts'
import { brokenLinks } from './record-links.ts'
import { RECORD_FILE, readRecords } from './records.ts'
import { compareSegments } from './segment-digests.ts'
import { type Unpacked, unpackArchive } from './unpack-archive.ts'
import { judgeRepositories, readManifest } from './unpacked-repositories.ts'

export type Finding = { fault: string } | { note: string } | { whole: string }

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
  archive: Bytes,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const scratch = join(directory, 'scratch')
  await mkdir(scratch)
  const unpacked = await unpackArchive(archive, join(directory, 'unpacked'), signal)
  if (unpacked.damage) yield { fault: unpacked.damage.message }

  const { root } = unpacked
  const { manifest, findings } = await manifestFindings(unpacked)
  yield* findings
  for (const fault of await strangers(root, manifest)) yield { fault }
  for (const fault of await schemaFaults(root)) yield { fault }
  if (manifest) yield* metadataFindings(root, manifest)
  yield* recordFindings(unpacked)
  for await (const judged of judgeRepositories(unpacked, manifest, { git, scratch }, signal)) {
    const { fullName } = judged
    if ('snapshot' in judged) yield { whole: fullName }
    else for (const fault of judged.faults) yield { fault: `${fullName}: ${fault}` }
  }
  // Found from the end of the file, which is not there to be found when the archive is damaged.
  if (manifest && !unpacked.damage) yield* digestFindings(file, manifest, signal)
  for (const { full_name, lfs_missing = [] } of manifest?.repositories ?? [])
    if (lfs_missing.length > 0) yield { note: `${full_name}: ${missingInWords(lfs_missing)}` }
  for (const { full_name, reason } of manifest?.skipped ?? [])
    yield { note: `${full_name} was skipped when the archive was made: ${reason}` }
}

const MAX_NAMED = 3

function missingInWords(missing: readonly { oid: string }[]): string {
  const [what, more] =
    missing.length === 1
      ? ['1 LFS object was', '']
      : [`${missing.length} LFS objects were`, missing.length > MAX_NAMED ? ', …' : '']
  const named = missing.slice(0, MAX_NAMED).map(({ oid }) => oid)
  return `${what} missing on the host when it was exported: ${named.join(', ')}${more}`
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
    const note = `there is no ${MANIFEST_PATH}: what Godwit did not make cannot be compared with what it should hold`
    return { manifest, findings: [{ note }] }
  } catch (error) {
    if (!(error instanceof ManifestInvalid)) throw error
    return { manifest: undefined, findings: [{ fault: error.message }] }
  }
}

async function* metadataFindings(root: string, manifest: Manifest): AsyncGenerator<Finding> {
  const faults = await metadataDisagreements(root, manifest)
  for (const fault of faults ?? []) yield { fault }
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
  const isKnown = (name: string) =>
    RECORD_FILE.test(name) || ['schema.json', MANIFEST_PATH, 'repositories'].includes(name)
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

const schema = object<{ version: string }>({ version: text('a version', (value) => value !== '') })

async function schemaFaults(root: string): Promise<string[]> {
  try {
    schema(parseJson(await readFile(join(root, 'schema.json'), 'utf8')), '')
    return []
  } catch (error) {
    const isMissing = hasCode(error, 'ENOENT')
    return [`schema.json: ${isMissing ? 'is missing' : (error as Error).message}`]
  }
}

async function* recordFindings({ root, damage }: Unpacked): AsyncGenerator<Finding> {
  const records = await readRecords(root)
  for (const fault of records.faults) yield { fault }
  const hasGit = existsSync(join(root, 'repositories'))
  if (!hasGit) yield { note: 'it holds no git data; links to repositories were not followed' }
  if (!records.hasUsers) yield { note: 'it holds no users; links to them were not followed' }
  const isInArchive = (path: string) =>
    !hasGit ||
    damage !== undefined ||
    (unsafePath(path) === undefined && existsSync(join(root, path)))
  for (const fault of brokenLinks(records, isInArchive)) yield { fault }
}
