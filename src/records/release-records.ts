import { oneOf } from '../lib/json-shape.ts'
import {
  anyString,
  booleanOrFalse,
  type FieldReader,
  listOrEmpty,
  objectOf,
  optional,
  stringOrNull,
  withDefault,
} from './field-reader.ts'
import { reactions, readIssueOrPull, writeReactions } from './issue-records.ts'
import * as url from './parse-urls.ts'
import { type Links, urlInArchive } from './record-urls.ts'
import type {
  AttachedTo,
  Attachment,
  Release,
  ReleaseAsset,
  RepositoryFile,
  StoredFile,
} from './release.ts'

export function readRelease(field: FieldReader): Release {
  return {
    repository: field('repository', url.repositoryName),
    tag: field('tag_name', anyString),
    author: field('user', url.loginOrNull),
    name: field('name', stringOrNull),
    body: field('body', stringOrNull),
    draft: field('state', oneOf('published', 'draft')) === 'draft',
    prerelease: field('prerelease', booleanOrFalse),
    target: field('target_commitish', withDefault(anyString, '')),
    assets: field('release_assets', listOrEmpty(objectOf(readAsset))),
    publishedAt: field('published_at', stringOrNull),
    createdAt: field('created_at', anyString),
    reactions: field('reactions', optional(reactions)),
  }
}

const contentType = withDefault(anyString, 'application/octet-stream')

function readAsset(field: FieldReader): ReleaseAsset {
  const file = field('asset_url', url.storedPath)
  return {
    // The path is `release_assets/{uuid}/{name}` or `attachments/{uuid}/{name}`. In old archives, `url` has no UUID.
    uuid: file.split('/').at(-2) ?? '',
    name: field('asset_name', anyString),
    contentType: field('asset_content_type', contentType),
    file,
  }
}

const writeAsset = ({ name, contentType, file }: StoredFile) => ({
  asset_name: name,
  asset_content_type: contentType,
  asset_url: urlInArchive(file),
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
    release_assets: release.assets.map(writeAsset),
    published_at: release.publishedAt,
    created_at: release.createdAt,
    reactions: release.reactions && writeReactions(release.reactions, 'Release', links),
  }
}

export function readRepositoryFile(field: FieldReader): RepositoryFile {
  return {
    repository: field('repository', url.repositoryName),
    id: field('url', url.fileId),
    author: field('user', url.loginOrNull),
    name: field('file_name', anyString),
    contentType: field('file_content_type', contentType),
    file: field('file_url', url.storedPath),
    createdAt: field('created_at', anyString),
  }
}

export function readAttachment(field: FieldReader): Attachment {
  return {
    ...readAsset(field),
    ...readAttachedTo(field),
    author: field('user', url.loginOrNull),
    createdAt: field('created_at', anyString),
  }
}

export function writeAttachment(attachment: Attachment, links: Links) {
  const { repository, on } = attachment
  return {
    type: 'attachment',
    url: links.attachment(attachment.uuid),
    legacy_url: null,
    [on.kind]: linkToAttachedObject(repository, on, links),
    user: links.person(attachment.author),
    ...writeAsset(attachment),
    created_at: attachment.createdAt,
  }
}

/** Reads the object that the attachment belongs to. If several fields link to an object, the most specific one counts. */
function readAttachedTo(field: FieldReader): Pick<Attachment, 'repository' | 'on'> {
  const comment = field('issue_comment', url.linkOrNull(url.issueOrPull))
  if (comment) {
    const { repository, ...on } = comment
    return { repository, on: { kind: 'issue_comment', on, id: field('issue_comment', url.id) } }
  }
  for (const kind of ['pull_request_review_comment', 'pull_request_review'] as const) {
    const pull = field(kind, url.linkOrNull(url.issueOrPull))
    if (pull)
      return {
        repository: pull.repository,
        on: { kind, pull: pull.number, id: field(kind, url.id) },
      }
  }
  const onCommit = field('commit_comment', url.linkOrNull(url.commitComment))
  if (onCommit) {
    const { repository, ...on } = onCommit
    return { repository, on: { kind: 'commit_comment', ...on } }
  }
  const onRelease = field('release', url.linkOrNull(url.release))
  if (onRelease) {
    const { repository, ...on } = onRelease
    return { repository, on: { kind: 'release', ...on } }
  }
  const isOnIssueOrPull = ['pull_request', 'issue'].some((key) => field(key, optional(anyString)))
  if (isOnIssueOrPull) return readIssueOrPull(field)
  return { repository: field('repository', url.repositoryName), on: { kind: 'repository' } }
}

function linkToAttachedObject(repository: string, on: AttachedTo, links: Links): string | null {
  switch (on.kind) {
    case 'issue':
    case 'pull_request':
      return links.issueOrPull(repository, on)
    case 'issue_comment':
      return links.issueComment(repository, on.on, on.id)
    case 'pull_request_review':
      return links.review(repository, on.pull, on.id)
    case 'pull_request_review_comment':
      return links.reviewComment(repository, on.pull, on.id)
    case 'commit_comment':
      return links.commitComment(repository, on.commit, on.id)
    case 'release':
      return links.release(repository, on.tag)
    case 'repository':
      return links.repository(repository)
  }
}
