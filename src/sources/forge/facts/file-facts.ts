import { extname } from 'node:path'
import type { AttachedTo, Attachment, Release } from '../../../records/release.ts'
import type { FileToFetch } from '../../discussions.ts'
import type { Entry } from '../client/forge-pages.ts'
import {
  authorIn,
  entryListIn,
  flagIn,
  textIn,
  textOrNull,
  timeIn,
  timeOrNull,
} from '../client/forge-values.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A file as the forge lists it, or as a link in a text names it. */
export interface ListedFile {
  uuid: string
  name: string
  size: number | null
  createdAt: string | null
}

/** The files of `assets`; `external` is told of those that are links to elsewhere and have no bytes here. */
export function listedFiles(entry: Entry, external: () => void): ListedFile[] {
  return entryListIn(entry, 'assets').flatMap((asset) => {
    const uuid = textIn(asset, 'uuid').toLowerCase()
    // Forgejo lets people name any address as an asset: it is not ours to ask.
    if (textIn(asset, 'type') === 'external' || !UUID.test(uuid)) {
      external()
      return []
    }
    const size = typeof asset.size === 'number' && asset.size >= 0 ? asset.size : null
    return [{ uuid, name: textIn(asset, 'name'), size, createdAt: timeOrNull(asset, 'created_at') }]
  })
}

const toFetch = (file: string, { uuid, size }: ListedFile): FileToFetch => ({
  file,
  // Where a token counts in every version, for assets of releases too.
  source: `/attachments/${uuid}`,
  size,
})

export interface Attached {
  fact: Attachment
  file: FileToFetch
}

export function attachmentFact(
  repository: string,
  on: AttachedTo,
  holder: Entry,
  listed: ListedFile,
): Attached {
  const name = fileName(listed.name)
  const file = `attachments/${listed.uuid}/${name}`
  return {
    fact: {
      repository,
      uuid: listed.uuid,
      on,
      name,
      contentType: contentTypeOf(name),
      file,
      author: authorIn(holder, 'user'),
      createdAt: listed.createdAt ?? timeIn(holder, 'created_at'),
    },
    file: toFetch(file, listed),
  }
}

export interface ReleaseWithFiles {
  fact: Release
  files: FileToFetch[]
}

export function releaseFact(
  repository: string,
  release: Entry,
  external: () => void,
): ReleaseWithFiles {
  const draft = flagIn(release, 'draft')
  const createdAt = timeIn(release, 'created_at')
  const files: FileToFetch[] = []
  const assets = listedFiles(release, external).map((listed) => {
    const name = fileName(listed.name)
    const file = `release_assets/${listed.uuid}/${name}`
    files.push(toFetch(file, listed))
    return { uuid: listed.uuid, name, contentType: contentTypeOf(name), file }
  })
  const fact: Release = {
    repository,
    tag: textIn(release, 'tag_name'),
    author: authorIn(release, 'author'),
    name: textOrNull(release, 'name'),
    body: textIn(release, 'body'),
    draft,
    prerelease: flagIn(release, 'prerelease'),
    target: textIn(release, 'target_commitish'),
    assets,
    publishedAt: draft ? null : (timeOrNull(release, 'published_at') ?? createdAt),
    createdAt,
    reactions: [],
  }
  return { fact, files }
}

/** As people named it, but no path, nothing that a file system or a terminal would stumble over, and not too long. */
export function fileName(said: string): string {
  const plain = said.replace(/[\p{Cc}\p{Cf}/\\]/gu, '_').trim()
  const short = shortened(plain, 200)
  return short === '' || short === '.' || short === '..' ? 'file' : short
}

/** Keeps the end, which tells what it is. */
function shortened(name: string, bytes: number): string {
  if (Buffer.byteLength(name) <= bytes) return name
  const end = extname(name).slice(0, 20)
  let start = name.slice(0, name.length - end.length)
  while (Buffer.byteLength(start + end) > bytes) start = [...start].slice(0, -1).join('')
  return start + end
}

const TYPES: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.csv': 'text/csv',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.mov': 'video/quicktime',
  '.mp4': 'video/mp4',
  '.patch': 'text/x-diff',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.svg': 'image/svg+xml',
  '.tgz': 'application/gzip',
  '.txt': 'text/plain',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.zip': 'application/zip',
}

/** By its ending: a forge does not say before the bytes come. */
export const contentTypeOf = (name: string): string =>
  TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream'
