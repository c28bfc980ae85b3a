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
import { reactionRecords, reactions, readIssueOrPull } from './issue-records.ts'
import * as url from './parse-urls.ts'
import { type RecordUrls, urlInArchive } from './record-urls.ts'
import type {
  AttachedTo,
  Attachment,
  Release,
  ReleaseAsset,
  RepositoryFile,
  UploadedFile,
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

const assetFields = ({ name, contentType, file }: UploadedFile) => ({
  asset_name: name,
  asset_content_type: contentType,
  asset_url: urlInArchive(file),
})

export function releaseRecord(release: Release, urls: RecordUrls) {
  return {
    type: 'release',
    url: urls.release(release.repository, release.tag),
    repository: urls.repository(release.repository),
    user: urls.person(release.author),
    name: release.name,
    tag_name: release.tag,
    body: release.body,
    state: release.draft ? 'draft' : 'published',
    pending_tag: release.tag,
    prerelease: release.prerelease,
    target_commitish: release.target,
    release_assets: release.assets.map(assetFields),
    published_at: release.publishedAt,
    created_at: release.createdAt,
    reactions: release.reactions && reactionRecords(release.reactions, 'Release', urls),
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
    oldUrl: field('old_url', optional(anyString)) ?? field('url', optional(anyString)),
    author: field('user', url.loginOrNull),
    createdAt: field('created_at', anyString),
  }
}

export function attachmentRecord(attachment: Attachment, urls: RecordUrls) {
  const { repository, on, oldUrl } = attachment
  const url = urls.attachment(attachment.uuid)
  return {
    type: 'attachment',
    url,
    legacy_url: null,
    // GitHub's archives do not have this field: there the address is `url`.
    old_url: oldUrl === url ? undefined : oldUrl,
    [on.kind]: attachedObjectUrl(repository, on, urls),
    user: urls.person(attachment.author),
    ...assetFields(attachment),
    created_at: attachment.createdAt,
  }
}

/** Reads the object that the attachment belongs to. If several fields link to an object, the most specific one counts. */
function readAttachedTo(field: FieldReader): Pick<Attachment, 'repository' | 'on'> {
  const comment = field('issue_comment', url.orNull(url.issueOrPull))
  if (comment) {
    const { repository, ...on } = comment
    return { repository, on: { kind: 'issue_comment', on, id: field('issue_comment', url.id) } }
  }
  for (const kind of ['pull_request_review_comment', 'pull_request_review'] as const) {
    const pull = field(kind, url.orNull(url.issueOrPull))
    if (pull)
      return {
        repository: pull.repository,
        on: { kind, pull: pull.number, id: field(kind, url.id) },
      }
  }
  const onCommit = field('commit_comment', url.orNull(url.commitComment))
  if (onCommit) {
    const { repository, ...on } = onCommit
    return { repository, on: { kind: 'commit_comment', ...on } }
  }
  const onRelease = field('release', url.orNull(url.release))
  if (onRelease) {
    const { repository, ...on } = onRelease
    return { repository, on: { kind: 'release', ...on } }
  }
  const isOnIssueOrPull = ['pull_request', 'issue'].some((key) => field(key, optional(anyString)))
  if (isOnIssueOrPull) return readIssueOrPull(field)
  return { repository: field('repository', url.repositoryName), on: { kind: 'repository' } }
}

function attachedObjectUrl(repository: string, on: AttachedTo, urls: RecordUrls): string | null {
  switch (on.kind) {
    case 'issue':
    case 'pull_request':
      return urls.issueOrPull(repository, on)
    case 'issue_comment':
      return urls.issueComment(repository, on.on, on.id)
    case 'pull_request_review':
      return urls.review(repository, on.pull, on.id)
    case 'pull_request_review_comment':
      return urls.reviewComment(repository, on.pull, on.id)
    case 'commit_comment':
      return urls.commitComment(repository, on.commit, on.id)
    case 'release':
      return urls.release(repository, on.tag)
    case 'repository':
      return urls.repository(repository)
  }
}
