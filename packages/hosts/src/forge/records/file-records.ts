import { extname } from 'node:path'
import type { AttachedTo, Attachment, Release } from '@godwit/archive/records/release'
import { contentTypeOf } from '@godwit/lib/content-types'
import type { FileToFetch } from '../../discussions.ts'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { UUID } from '../attachment-links.ts'

const IS_UUID = new RegExp(`^${UUID}$`)

/** An attachment or release asset that the forge lists or that a text links to. */
export interface ListedFile {
  uuid: string
  name: string
  size: number | null
  createdAt: string | null
}

/** Returns the files in `assets`. Calls `onExternal` for each asset that is a link to another host or has no valid UUID. */
export function listedFiles(entry: Json, onExternal: () => void): ListedFile[] {
  return json.objects(entry, 'assets').flatMap((asset) => {
    const uuid = json.string(asset, 'uuid').toLowerCase()
    // Forgejo accepts any URL as an asset. Fetching it could reach internal hosts.
    if (json.string(asset, 'type') === 'external' || !IS_UUID.test(uuid)) {
      onExternal()
      return []
    }
    const size = typeof asset.size === 'number' && asset.size >= 0 ? asset.size : null
    const createdAt = json.timeOrNull(asset, 'created_at')
    return [{ uuid, name: json.string(asset, 'name'), size, createdAt }]
  })
}

/** Returns the fields of a file in the archive, and where its content is. */
function storedFile(
  folder: 'attachments' | 'release_assets',
  { uuid, size, ...listed }: ListedFile,
) {
  const name = fileName(listed.name)
  const file = `${folder}/${uuid}/${name}`
  // In every version this path accepts a token, for release assets too.
  const toFetch: FileToFetch = { file, source: `/attachments/${uuid}`, size }
  return { stored: { uuid, name, contentType: contentTypeOf(name), file }, toFetch }
}

export function attachmentRecord(
  repository: string,
  on: AttachedTo,
  holder: Json,
  listed: ListedFile,
): { record: Attachment; file: FileToFetch } {
  const { stored, toFetch } = storedFile('attachments', listed)
  const author = json.author(holder, 'user')
  const createdAt = listed.createdAt ?? json.time(holder, 'created_at')
  return { record: { repository, on, author, createdAt, ...stored }, file: toFetch }
}

export function releaseRecord(repository: string, release: Json, onExternal: () => void) {
  const draft = json.boolean(release, 'draft')
  const createdAt = json.time(release, 'created_at')
  const listed = listedFiles(release, onExternal)
  const files = listed.map((each) => storedFile('release_assets', each))
  const record: Release = {
    repository,
    tag: json.string(release, 'tag_name'),
    author: json.author(release, 'author'),
    name: json.stringOrNull(release, 'name'),
    body: json.string(release, 'body'),
    draft,
    prerelease: json.boolean(release, 'prerelease'),
    target: json.string(release, 'target_commitish'),
    assets: files.map(({ stored }) => stored),
    publishedAt: draft ? null : (json.timeOrNull(release, 'published_at') ?? createdAt),
    createdAt,
    reactions: [],
  }
  return { record, files: files.map(({ toFetch }) => toFetch) }
}

/** Returns a file name of at most 200 bytes, with slashes and control characters replaced by `_`. */
export function fileName(original: string): string {
  const short = shorten(original.replace(/[\p{Cc}\p{Cf}/\\]/gu, '_').trim(), 200)
  return short === '' || short === '.' || short === '..' ? 'file' : short
}

/** Shortens a name and keeps its extension. */
function shorten(name: string, bytes: number): string {
  if (Buffer.byteLength(name) <= bytes) return name
  const end = extname(name).slice(0, 20)
  // Every character has at least one byte. Without this limit, shortening a very long name would take forever.
  let start = name.slice(0, Math.min(name.length - end.length, bytes))
  while (Buffer.byteLength(start + end) > bytes) start = [...start].slice(0, -1).join('')
  return start + end
}
