import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '@godwit/git/git'
import type { Bytes } from '@godwit/lib/bytes'
import { hasCode } from '@godwit/lib/errno'
import { formatRecordCount, limitLines, sumLosses } from '@godwit/lib/findings'
import { parseJson } from '@godwit/lib/json-shape'
import { formatCount } from '@godwit/lib/quantities'
import {
  checkRepositories,
  describeSkipped,
  describeUnexportedLfs,
  readManifest,
} from './formats/check-repositories.ts'
import {
  compareMetadata,
  compareSegments,
  compareUploadedFiles,
  uploadDigests,
} from './formats/compare-manifest.ts'
import { Report } from './formats/format.ts'
import {
  type GitLabOptions,
  isGitLabExport,
  readGitLabExport,
} from './formats/gitlab-export/read-gitlab-export.ts'
import { readdirIfExists } from './formats/output.ts'
import { type Unpacked, unpackArchive } from './formats/unpack-archive.ts'
import { kindOfFile } from './records/read-records.ts'
import { brokenLinks, readRecords } from './records.ts'
import { MANIFEST_PATH, type Manifest, ManifestInvalid } from './tar/manifest.ts'
import type { Folder } from './tar/read-folder.ts'
import { unsafePath } from './tar/tar-header.ts'

/**
 * A warning is something that a user should know and that does not make the archive invalid. The text of `verified` is the full name of
 * a repository that has all its objects, each with the right digest. `partial` is the same, except for LFS objects that its host did not
 * have, which the text names.
 */
type Level = 'error' | 'warning' | 'note' | 'verified' | 'partial'

export type Finding =
  /** `count` is how many findings the text represents: more than one if it counts further ones of a kind. */
  | { level: Level; text: string; count: number }
  /** The last finding: whether the archive has a manifest that it was compared with. */
  | { compared: boolean }

const finding = (level: Level, text: string): Finding => ({ level, text, count: 1 })

export interface VerifyOptions {
  git: Git
  /** An empty directory. The caller removes it. */
  directory: string
  /** Undefined for standard input. For a file, the compressed bytes are compared with the manifest too. */
  file?: string | undefined
}

/** Yields verified and partial repositories, errors, warnings and notes as soon as they are found. Throws ArchiveRefused. */
export async function* verifyArchive(
  { git, directory, file }: VerifyOptions,
  archive: Bytes | Folder,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const scratch = join(directory, 'scratch')
  await mkdir(scratch)
  const unpacked = await unpackArchive(archive, join(directory, 'unpacked'), signal)
  if (unpacked.damage) yield finding('error', unpacked.damage.message)

  const { root } = unpacked
  if (isGitLabExport(root)) {
    yield* exportFindings(unpacked, { git, scratch, name: file ?? 'project', signal })
    return
  }
  let manifest: Manifest | undefined
  try {
    manifest = await readManifest(root)
    // The manifest is the last entry, so a truncated archive lacks it.
    if (!manifest && !unpacked.damage)
      yield finding('note', `there is no ${MANIFEST_PATH}: Godwit did not make it`)
  } catch (error) {
    if (!(error instanceof ManifestInvalid)) throw error
    yield finding('error', error.message)
  }
  if (manifest) yield* await limited('error', 'entries', await unexpectedEntries(root, manifest))
  for (const text of await schemaErrors(root)) yield finding('error', text)
  if (manifest) {
    yield* await limited('error', 'metadata files', compareMetadata(root, manifest))
    const uploads = compareUploadedFiles(root, manifest)
    yield* await limited('error', 'attachments and release assets', uploads)
  }
  yield* recordFindings(unpacked)
  let packedAgain = 0
  const listed = new Map(manifest?.repositories.map((each) => [each.full_name, each]))
  for await (const checked of checkRepositories(unpacked, manifest, { git, scratch, signal })) {
    const { fullName } = checked
    if ('snapshot' in checked) {
      if (checked.isPackedAgain) packedAgain += 1
      const one = listed.get(fullName)
      const missing = one ? describeUnexportedLfs(one) : []
      for (const text of missing) yield finding('partial', text)
      if (missing.length === 0) yield finding('verified', fullName)
    } else for (const error of checked.errors) yield finding('error', `${fullName}: ${error}`)
  }
  if (manifest) {
    if (packedAgain > 0)
      yield finding(
        'note',
        `${formatCount(packedAgain, 'repository was', 'repositories were')} packed again since the export (CRC): compared by objects, refs and files`,
      )
    // A damaged archive may lack the end by which archives of Godwit are recognized.
    if (!unpacked.damage) yield* segmentFindings(file, manifest, signal)
    yield* await limited('note', 'skipped repositories', describeSkipped(manifest))
    for (const { kind, count, examples } of sumLosses(manifest.losses ?? [])) {
      const shown = examples.length > 0 ? ` (${examples.join('; ')})` : ''
      yield finding('note', `not in the archive: ${formatRecordCount(kind, count)}${shown}`)
    }
  }
  yield { compared: manifest !== undefined }
}

/** Reads a project export of GitLab as a conversion would: every record that it would lose is a warning. */
async function* exportFindings(
  unpacked: Unpacked,
  gitlabOptions: Pick<GitLabOptions, 'git' | 'scratch' | 'name' | 'signal'>,
): AsyncGenerator<Finding> {
  using resources = new DisposableStack()
  const warnings: string[] = []
  const report = new Report((text) => warnings.push(text))
  const names = { owner: 'gitlab', people: new Map(), projects: new Map() }
  const options = { ...gitlabOptions, ...names, wanted: new Set<string>(), report, resources }
  const content = await readGitLabExport(unpacked, options)
  const { madeBy } = content.summary
  yield finding('note', `it is a project export of ${madeBy}; it has no digests to compare`)
  report.end()
  for (const text of warnings) yield finding('warning', text)
  for await (const { fullName, ...each } of content.repositories())
    if ('snapshot' in each) {
      yield finding('verified', fullName.split('/')[1]!)
      for (const text of await each.missingLfs()) yield finding('note', text)
    } else
      for (const error of each.errors) yield finding('error', `${fullName.split('/')[1]}: ${error}`)
  yield { compared: false }
}

async function limited(level: Level, ...args: Parameters<typeof limitLines>): Promise<Finding[]> {
  return (await limitLines(...args)).map((line) => ({ level, ...line }))
}

const UNCOMPARED = 'the digests of its segments were not compared'
const DIFFERENT = 'its compressed bytes differ from the exported ones (SHA-256)'

async function* segmentFindings(file: string | undefined, manifest: Manifest, signal: AbortSignal) {
  const compared = file
    ? await compareSegments(file, manifest, signal)
    : { incomparable: 'it could be read only once' }
  if ('incomparable' in compared) yield finding('note', `${UNCOMPARED}: ${compared.incomparable}`)
  else
    for (const fullName of compared.differing) yield finding('error', `${fullName}: ${DIFFERENT}`)
}

/** Returns a line for each file and directory that Godwit never writes. */
async function unexpectedEntries(root: string, manifest: Manifest): Promise<string[]> {
  const folders = uploadDigests(manifest)
    .keys()
    .map((path) => path.slice(0, path.indexOf('/')))
  const known = new Set(['schema.json', MANIFEST_PATH, 'repositories', ...folders])
  const isKnown = (name: string) => known.has(name) || kindOfFile(name) !== undefined
  const unexpected = (await readdir(root)).filter((name) => !isKnown(name))
  for (const owner of await readdirIfExists(join(root, 'repositories'))) {
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
      `schema.json: is missing${isInside ? `: everything is in the folder ${only}; pack it again from inside that folder` : ''}`,
    ]
  }
}

async function* recordFindings({ root, damage }: Unpacked): AsyncGenerator<Finding> {
  const urls = new Set<string>()
  const records = await readRecords(root, (url) => urls.add(url))
  yield* await limited('error', 'record files', records.errors)
  for (const line of records.warnings) yield { level: 'warning', ...line }
  const hasGit = existsSync(join(root, 'repositories'))
  if (!hasGit)
    yield finding('note', 'it holds no git data; links to repositories were not followed')
  if (!records.hasUsers) yield finding('note', 'it holds no users; links to them were not followed')
  const isInArchive = (path: string) =>
    (!hasGit && path.startsWith('repositories/')) ||
    damage !== undefined ||
    (unsafePath(path) === undefined && existsSync(join(root, path)))
  for (const line of await brokenLinks(root, records, urls, isInArchive))
    yield { level: 'error', ...line }
}
