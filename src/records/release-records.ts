import { list, oneOf } from '../lib/json-shape.ts'
import { reactions, readIssueOrPull, writeReactions } from './issue-records.ts'
import {
  commitComment,
  fileId,
  id,
  issueOrPull,
  linkOrNull,
  person,
  release,
  repositoryName,
  storedPath,
} from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import { addressInArchive } from './record-addresses.ts'
import {
  anyBoolean,
  anyString,
  type FieldReader,
  objectOf,
  optional,
  orElse,
  textOrNull,
} from './record-shapes.ts'
import type { AttachedTo, Attachment, Release, ReleaseAsset, RepositoryFile } from './release.ts'

export function readRelease(field: FieldReader): Release {
  return {
    repository: field('repository', repositoryName),
    tag: field('tag_name', anyString),
    author: field('user', person),
    name: field('name', textOrNull),
    body: field('body', textOrNull),
    draft: field('state', oneOf('published', 'draft')) === 'draft',
    prerelease: field('prerelease', orElse(anyBoolean, false)),
    target: field('target_commitish', orElse(anyString, '')),
    assets: field('release_assets', orElse(list(asset), [])),
    publishedAt: field('published_at', textOrNull),
    createdAt: field('created_at', anyString),
    reactions: field('reactions', optional(reactions)),
  }
}

const asset = objectOf((field): ReleaseAsset => {
  const file = field('asset_url', storedPath)
  return {
    // The path is `release_assets/{uuid}/{name}`.
    uuid: file.split('/').at(-2) ?? '',
    name: field('asset_name', anyString),
    contentType: field('asset_content_type', orElse(anyString, 'application/octet-stream')),
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

export function readRepositoryFile(field: FieldReader): RepositoryFile {
  return {
    repository: field('repository', repositoryName),
    id: field('url', fileId),
    author: field('user', person),
    name: field('file_name', anyString),
    contentType: field('file_content_type', orElse(anyString, 'application/octet-stream')),
    file: field('file_url', storedPath),
    createdAt: field('created_at', anyString),
  }
}

export function readAttachment(field: FieldReader): Attachment {
  const file = field('asset_url', storedPath)
  return {
    ...readAttachedTo(field),
    // The path is `attachments/{uuid}/{name}`. The address in `url` has no UUID in old archives.
    uuid: file.split('/').at(-2) ?? '',
    author: field('user', person),
    name: field('asset_name', anyString),
    contentType: field('asset_content_type', orElse(anyString, 'application/octet-stream')),
    file,
    createdAt: field('created_at', anyString),
  }
}

export function writeAttachment(attachment: Attachment, links: Links) {
  const { repository, on } = attachment
  return {
    type: 'attachment',
    url: links.attachment(attachment.uuid),
    legacy_url: null,
    [on.kind]: attachedToLink(repository, on, links),
    user: links.person(attachment.author),
    asset_name: attachment.name,
    asset_content_type: attachment.contentType,
    asset_url: addressInArchive(attachment.file),
    created_at: attachment.createdAt,
  }
}

interface Attached {
  repository: string
  on: AttachedTo
}

/** Returns the object that the attachment belongs to. If several fields link to an object, the most specific one counts. */
function readAttachedTo(field: FieldReader): Attached {
  for (const read of [
    attachedToIssueComment,
    attachedToReviewComment,
    attachedToReview,
    attachedToCommitComment,
    attachedToRelease,
  ]) {
    const found = read(field)
    if (found) return found
  }
  const isOnIssueOrPull = ['pull_request', 'issue'].some((key) => field(key, optional(anyString)))
  if (isOnIssueOrPull) return readIssueOrPull(field)
  return { repository: field('repository', repositoryName), on: { kind: 'repository' } }
}

function attachedToIssueComment(field: FieldReader): Attached | undefined {
  const comment = field('issue_comment', linkOrNull(issueOrPull))
  if (!comment) return undefined
  const { repository, ...on } = comment
  return { repository, on: { kind: 'issue_comment', on, id: field('issue_comment', id) } }
}

const attachedToReviewComment = (field: FieldReader) =>
  attachedToPullPart(field, 'pull_request_review_comment')
const attachedToReview = (field: FieldReader) => attachedToPullPart(field, 'pull_request_review')

function attachedToPullPart(
  field: FieldReader,
  kind: 'pull_request_review' | 'pull_request_review_comment',
): Attached | undefined {
  const pull = field(kind, linkOrNull(issueOrPull))
  if (!pull) return undefined
  return { repository: pull.repository, on: { kind, pull: pull.number, id: field(kind, id) } }
}

function attachedToCommitComment(field: FieldReader): Attached | undefined {
  const comment = field('commit_comment', linkOrNull(commitComment))
  if (!comment) return undefined
  return { repository: comment.repository, on: { kind: 'commit_comment', ...comment.on } }
}

function attachedToRelease(field: FieldReader): Attached | undefined {
  const found = field('release', linkOrNull(release))
  if (!found) return undefined
  return { repository: found.repository, on: { kind: 'release', tag: found.tag } }
}

function attachedToLink(repository: string, on: AttachedTo, links: Links): string | null {
  switch (on.kind) {
    case 'issue':
    case 'pull_request':
      return links.discussed(repository, on)
    case 'issue_comment':
      return links.inDiscussion(repository, on.on, `issuecomment-${on.id}`)
    case 'pull_request_review':
      return links.inPull(repository, on.pull, `pullrequestreview-${on.id}`)
    case 'pull_request_review_comment':
      return links.inPull(repository, on.pull, `r${on.id}`)
    case 'commit_comment':
      return links.commitComment(repository, on.commit, on.id)
    case 'release':
      return links.release(repository, on.tag)
    case 'repository':
      return links.repository(repository)
  }
}
