import {
  count,
  distinct,
  list,
  object,
  objectWith,
  oneOf,
  orNull,
  parseJson,
  type Shape,
  text,
} from '../lib/json-shape.ts'
import { isFullName } from '../lib/names.ts'
import { unsafePath } from './tar-header.ts'

/** The entry of an archive that says what is in it. It is the last. */
export const MANIFEST_PATH = 'godwit-manifest.json'

/** Of the files that records name. */
export const STORED_FOLDERS = ['attachments', 'release_assets', 'repository_files']

export const isStoredFile = (path: string): boolean =>
  STORED_FOLDERS.some((folder) => path.startsWith(`${folder}/`))

/** The keys are those of the file. */
export interface Manifest {
  /** 1 has no `metadata`; 1 and 2 say `omitted` for `skipped`; 4 has `stored_files`. */
  format: 1 | 2 | 3 | 4
  /** The program that wrote it and its version, such as `godwit 0.1.0`. */
  generator: string
  migration_guid: string
  /** ISO 8601, UTC. */
  created_at: string
  repositories: ManifestRepository[]
  skipped: ManifestSkipped[]
  metadata?: ManifestMetadata
  stored_files?: ManifestStoredFiles[]
}

/** Attachments of a repository's discussions, or assets of its releases: a segment of its own. */
export interface ManifestStoredFiles {
  full_name: string
  segment: ManifestSegment
  files: ManifestFile[]
}

export interface ManifestSkipped {
  full_name: string
  reason: string
}

/** What is in no repository, but for the manifest itself. */
export interface ManifestMetadata {
  segment: ManifestSegment
  files: ManifestFile[]
}

export interface ManifestFile {
  path: string
  size: number
  sha256: string
}

export interface ManifestSegment {
  sha256: string
  length: number
  plain_length: number
  crc32: number
}

export interface ManifestRepository extends ManifestGit {
  full_name: string
  /** The bytes of its files. */
  size: number
  segment: ManifestSegment
  wiki: ManifestGit | null
  lfs: { oid: string; size: number }[]
  /** Named by pointers of the repository or its wiki, and not on the host when it was exported; absent where there are none. */
  lfs_missing?: { oid: string; size: number }[]
  /** Every file that does not prove itself as objects do; absent where the segment was made before this was noted. */
  files?: ManifestFile[]
}

export interface ManifestGit {
  object_format: 'sha1' | 'sha256'
  /** What HEAD says: the name of a ref, or an oid when it is detached. */
  head: string
  /** HEAD is not among these. */
  refs: { name: string; oid: string }[]
  symrefs: { name: string; target: string }[]
}

/** The manifest is not one that this version reads; the message says where and why. */
export class ManifestInvalid extends Error {
  override name = 'ManifestInvalid'
}

/** Strict: every field, no other field, and nothing that a restore could stumble over. */
export function parseManifest(json: string): Manifest {
  try {
    return manifest(parseJson(json), '')
  } catch (error) {
    throw new ManifestInvalid(`${MANIFEST_PATH}: ${(error as Error).message}`, { cause: error })
  }
}

const OID = { sha1: /^[0-9a-f]{40}$/, sha256: /^[0-9a-f]{64}$/ }
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
/** Not all of git's rules for names, but those that keep one inside `refs/`. */
const REF = /^refs(\/(?!\.)[^\p{Cc} ~^:?*[\\/]+)+$/u

const words = text('a text', (value) => value.trim() !== '')
const sha256 = text('a SHA-256', (value) => OID.sha256.test(value))
const fullName = text('OWNER/NAME', isFullName)
const refName = text('the name of a ref', (value) => REF.test(value))
const time = text('a time in UTC', (value) => UTC.test(value) && !Number.isNaN(Date.parse(value)))

const faultByName = ({ name }: { name: string }) => name

/** The oids of a repository are all of its one object format. */
function gitFields(format: ManifestGit['object_format']) {
  const isOid = (value: string) => OID[format].test(value)
  const oid = text(`an oid of ${format}`, isOid)
  return {
    object_format: oneOf('sha1', 'sha256'),
    head: text(`the name of a ref or an oid of ${format}`, (v) => REF.test(v) || isOid(v)),
    refs: distinct(list(object<ManifestGit['refs'][number]>({ name: refName, oid })), faultByName),
    symrefs: distinct(
      list(object<ManifestGit['symrefs'][number]>({ name: refName, target: refName })),
      faultByName,
    ),
  }
}

function byFormat<T extends ManifestGit>(
  commandShape: (format: ManifestGit['object_format']) => Shape<T>,
): Shape<T> {
  const ofSha1 = commandShape('sha1')
  const ofSha256 = commandShape('sha256')
  return (value, at) => {
    const format = (value as Partial<T> | null)?.object_format
    return (format === 'sha256' ? ofSha256 : ofSha1)(value, at)
  }
}

const wiki = byFormat((format) => object<ManifestGit>(gitFields(format)))

const segment = object<ManifestSegment>({
  sha256,
  length: count(),
  plain_length: count(),
  crc32: count(2 ** 32 - 1),
})

const lfsObjects = distinct(
  list(object<ManifestRepository['lfs'][number]>({ oid: sha256, size: count() })),
  ({ oid }) => oid,
)

const repositoryFields = {
  full_name: fullName,
  size: count(),
  segment,
  wiki: orNull(wiki),
  lfs: lfsObjects,
}

const path = text('a path', (value) => unsafePath(value) === undefined && value !== MANIFEST_PATH)

const files = distinct(
  list(object<ManifestFile>({ path, size: count(), sha256 })),
  (file) => file.path,
)

const repository = byFormat<ManifestRepository>((format) =>
  objectWith<ManifestRepository>(
    { ...repositoryFields, ...gitFields(format) },
    { lfs_missing: lfsObjects, files },
  ),
)

const metadata = object<ManifestMetadata>({ segment, files })

const manifestFields = {
  format: oneOf(1, 2, 3, 4),
  generator: words,
  migration_guid: words,
  created_at: time,
  repositories: distinct(list(repository), ({ full_name }) => full_name.toLowerCase()),
}

const skipped = list(object<ManifestSkipped>({ full_name: fullName, reason: words }))

/** As it was written before `skipped` had its name. */
type OlderManifest = Omit<Manifest, 'skipped' | 'stored_files'> & { omitted: ManifestSkipped[] }

const ofFormat1 = object<Omit<OlderManifest, 'metadata'>>({ ...manifestFields, omitted: skipped })
const ofFormat2 = object<Required<OlderManifest>>({ ...manifestFields, omitted: skipped, metadata })
const ofFormat3 = object<Required<Omit<Manifest, 'stored_files'>>>({
  ...manifestFields,
  skipped,
  metadata,
})
const storedFiles = list(object<ManifestStoredFiles>({ full_name: fullName, segment, files }))
const ofFormat4 = object<Required<Manifest>>({
  ...manifestFields,
  skipped,
  metadata,
  stored_files: storedFiles,
})

const manifest: Shape<Manifest> = (value, at) => {
  const format = (value as Partial<Manifest> | null)?.format
  if (format === 4) return ofFormat4(value, at)
  if (format !== 1 && format !== 2) return ofFormat3(value, at)
  const { omitted, ...rest } = (format === 1 ? ofFormat1 : ofFormat2)(value, at)
  return { ...rest, skipped: omitted }
}
