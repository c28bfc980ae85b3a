import { inspect } from 'node:util'
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
} from '@godwit/lib/json-shape'
import { isFullName } from '@godwit/lib/names'
import { unsafePath } from './tar-header.ts'

/** The last entry of an archive. It lists the contents of the archive. */
export const MANIFEST_PATH = 'godwit-manifest.json'

/** The folders of the files that users uploaded: attachments and release assets. `repository_files` are attachments in old archives. */
export const UPLOAD_FOLDERS = ['attachments', 'release_assets', 'repository_files']

export const isUploadedFile = (path: string): boolean =>
  UPLOAD_FOLDERS.some((folder) => path.startsWith(`${folder}/`))

/** Formats 1 to 3 were never released. */
export const MANIFEST_FORMAT = 4

const OID = { sha1: /^[0-9a-f]{40}$/, sha256: /^[0-9a-f]{64}$/ }
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
/** Checks those of git's rules for ref names that keep a name inside `refs/`. */
const REF = /^refs(\/(?!\.)[^\p{Cc} ~^:?*[\\/]+)+$/u

const nonEmpty = text('a non-empty string', (value) => value.trim() !== '')
const sha256 = text('a SHA-256', (value) => OID.sha256.test(value))
const fullName = text('OWNER/NAME', isFullName)
const refName = text('the name of a ref', (value) => REF.test(value))
const time = text('a time in UTC', (value) => UTC.test(value) && !Number.isNaN(Date.parse(value)))
const path = text(
  'a safe relative path',
  (value) => unsafePath(value) === undefined && value !== MANIFEST_PATH,
)

const segment = object({
  sha256,
  length: count(),
  plain_length: count(),
  crc32: count(2 ** 32 - 1),
})
export type ManifestSegment = ReturnType<typeof segment>

const file = object({ path, size: count(), sha256 })
export type ManifestFile = ReturnType<typeof file>
const files = distinct(list(file), (each) => each.path)

const byName = ({ name }: { name: string }) => name

/** All oids of a repository have the same format. */
function gitFields(format: 'sha1' | 'sha256') {
  const isOid = (value: string) => OID[format].test(value)
  const oid = text(`an oid of ${format}`, isOid)
  return {
    object_format: oneOf('sha1', 'sha256'),
    /** The name of a ref, or an oid if HEAD is detached. */
    head: text(`the name of a ref or an oid of ${format}`, (v) => REF.test(v) || isOid(v)),
    /** Without HEAD. */
    refs: distinct(list(object({ name: refName, oid })), byName),
    symrefs: distinct(list(object({ name: refName, target: refName })), byName),
  }
}

function byFormat<T extends { object_format: string }>(
  shapeFor: (format: 'sha1' | 'sha256') => Shape<T>,
): Shape<T> {
  const ofSha1 = shapeFor('sha1')
  const ofSha256 = shapeFor('sha256')
  return (value, at) => {
    const format = (value as Partial<T> | null)?.object_format
    return (format === 'sha256' ? ofSha256 : ofSha1)(value, at)
  }
}

const wiki = byFormat((format) => object(gitFields(format)))
export type ManifestGit = ReturnType<typeof wiki>

const lfsObjects = distinct(list(object({ oid: sha256, size: count() })), ({ oid }) => oid)

export interface ManifestRepository extends ManifestGit {
  full_name: string
  /** The size of its git objects and LFS objects, including those of its wiki. */
  size: number
  segment: ManifestSegment
  wiki: ManifestGit | null
  lfs: { oid: string; size: number }[]
  /** Objects that the host did not have although LFS pointers of the repository or its wiki refer to them. Absent if there are none. */
  lfs_missing?: { oid: string; size: number }[]
  /** All files except objects of git and LFS, which can be verified by their names. */
  files: ManifestFile[]
}

const repository = byFormat<ManifestRepository>((format) =>
  objectWith<ManifestRepository>(
    {
      full_name: fullName,
      size: count(),
      segment,
      wiki: orNull(wiki),
      lfs: lfsObjects,
      files,
      ...gitFields(format),
    },
    { lfs_missing: lfsObjects },
  ),
)

/** All files except those of repositories, uploaded files and the manifest itself. */
const metadata = object({ segment, files })
export type ManifestMetadata = ReturnType<typeof metadata>

/** `full_name` is null for losses of a conversion, which are counted for all repositories together. */
const loss = object({
  full_name: orNull(fullName),
  kind: nonEmpty,
  count: count(),
  examples: list(text('a string', () => true)),
})
export type ManifestLoss = ReturnType<typeof loss>

const format: Shape<typeof MANIFEST_FORMAT> = (value) => {
  if (value === MANIFEST_FORMAT) return value
  throw new Error(
    `format ${inspect(value)} is not supported: this version of Godwit reads format ${MANIFEST_FORMAT}`,
  )
}

const fields = {
  format,
  /** The program that wrote the archive, and its version, such as `godwit 0.1.0`. */
  generator: nonEmpty,
  migration_guid: nonEmpty,
  created_at: time,
  repositories: distinct(list(repository), ({ full_name }) => full_name.toLowerCase()),
  skipped: list(object({ full_name: fullName, reason: nonEmpty })),
  metadata,
  /** The segments with the attachments of a repository's issues and pull requests, and with the assets of its releases. */
  stored_files: list(object({ full_name: fullName, segment, files })),
}

export type Manifest = { [K in keyof typeof fields]: ReturnType<(typeof fields)[K]> } & {
  /** What could not be read from the host or represented in this format. Absent if there are none. */
  losses?: ManifestLoss[]
}
const manifest = objectWith<Manifest>(fields, { losses: list(loss) })

/** The manifest is malformed or has another format. The message names the field and the reason. */
export class ManifestInvalid extends Error {
  override name = 'ManifestInvalid'
}

/**
 * Rejects missing and unknown fields; only `losses` and `lfs_missing` are optional. Rejects names and paths that would be unsafe to
 * restore.
 */
export function parseManifest(json: string): Manifest {
  try {
    return manifest(parseJson(json), '')
  } catch (error) {
    throw new ManifestInvalid(`${MANIFEST_PATH}: ${(error as Error).message}`, { cause: error })
  }
}
