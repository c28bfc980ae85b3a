import { list, oneOf } from '../lib/json-shape.ts'
import { anyText, type FieldsOf, flag, optional, orElse, part, textOrNull } from './field-shapes.ts'
import { reactions, writeReactions } from './reaction-records.ts'
import { fileId, person, repositoryName, storedPath } from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import { addressInArchive } from './record-links.ts'
import type { Release, ReleaseAsset, RepositoryFile } from './release.ts'

export function readRelease(field: FieldsOf): Release {
  return {
    repository: field('repository', repositoryName),
    tag: field('tag_name', anyText),
    author: field('user', person),
    name: field('name', textOrNull),
    body: field('body', textOrNull),
    draft: field('state', oneOf('published', 'draft')) === 'draft',
    prerelease: field('prerelease', orElse(flag, false)),
    target: field('target_commitish', orElse(anyText, '')),
    assets: field('release_assets', orElse(list(asset), [])),
    publishedAt: field('published_at', textOrNull),
    createdAt: field('created_at', anyText),
    reactions: field('reactions', optional(reactions)),
  }
}

const asset = part((field): ReleaseAsset => {
  const file = field('asset_url', storedPath)
  return {
    uuid: file.split('/').at(-2) ?? '',
    name: field('asset_name', anyText),
    contentType: field('asset_content_type', orElse(anyText, 'application/octet-stream')),
    file,
  }
})

export function writeRelease(release: Release, links: Links) {
  return {
    type: 'release',
    url: links.release(release.repository, release.tag),
    repository: links.repository(release.repository),
    user: links.person(release.author),
    name: release.name,
    tag_name: release.tag,
    body: release.body,
    state: release.draft ? 'draft' : 'published',
    pending_tag: release.tag,
    prerelease: release.prerelease,
    target_commitish: release.target,
    release_assets: release.assets.map(({ name, contentType, file }) => ({
      asset_name: name,
      asset_content_type: contentType,
      asset_url: addressInArchive(file),
    })),
    published_at: release.publishedAt,
    created_at: release.createdAt,
    reactions: release.reactions && writeReactions(release.reactions, 'Release', links),
  }
}

export function readRepositoryFile(field: FieldsOf): RepositoryFile {
  return {
    repository: field('repository', repositoryName),
    id: field('url', fileId),
    author: field('user', person),
    name: field('file_name', anyText),
    contentType: field('file_content_type', orElse(anyText, 'application/octet-stream')),
    file: field('file_url', storedPath),
    createdAt: field('created_at', anyText),
  }
}
