import { anyText, type FieldsOf, optional, orElse } from './field-shapes.ts'
import {
  commitId,
  discussed,
  id,
  person,
  releaseTag,
  repositoryName,
  storedPath,
  uuid,
} from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import { addressInArchive } from './record-links.ts'
import type { AttachedTo, Attachment } from './release.ts'

export function readAttachment(field: FieldsOf): Attachment {
  return {
    ...readAttachedTo(field),
    uuid: field('url', uuid),
    author: field('user', person),
    name: field('asset_name', anyText),
    contentType: field('asset_content_type', orElse(anyText, 'application/octet-stream')),
    file: field('asset_url', storedPath),
    createdAt: field('created_at', anyText),
  }
}

export function writeAttachment(attachment: Attachment, links: Links) {
  const { repository, on } = attachment
  return {
    type: 'attachment',
    url: links.attachment(attachment.uuid),
    legacy_url: null,
    [on.kind]: linkTo(repository, on, links),
    user: links.person(attachment.author),
    asset_name: attachment.name,
    asset_content_type: attachment.contentType,
    asset_url: addressInArchive(attachment.file),
    created_at: attachment.createdAt,
  }
}

/** One field of many names says it. */
function readAttachedTo(field: FieldsOf): { repository: string; on: AttachedTo } {
  const inPull = (kind: 'pull_request_review' | 'pull_request_review_comment') => {
    const on = field(kind, optional(discussed))
    return on && { repository: on.repository, on: { kind, pull: on.number, id: field(kind, id) } }
  }
  const inRepository = (address: string, end: RegExp) =>
    repositoryName(address.replace(end, ''), 'repository')
  const comment = field('issue_comment', optional(discussed))
  if (comment) {
    const { repository, kind, number } = comment
    const on = { kind, number }
    return { repository, on: { kind: 'issue_comment', on, id: field('issue_comment', id) } }
  }
  const said = inPull('pull_request_review_comment') ?? inPull('pull_request_review')
  if (said) return said
  const commit = field('commit_comment', optional(commitId))
  if (commit !== undefined) {
    const repository = inRepository(field('commit_comment', anyText), /\/commits?\/.*$/s)
    return { repository, on: { kind: 'commit_comment', commit, id: field('commit_comment', id) } }
  }
  const tag = field('release', optional(releaseTag))
  if (tag !== undefined) {
    const repository = inRepository(field('release', anyText), /\/releases\/tag\/.*$/s)
    return { repository, on: { kind: 'release', tag } }
  }
  const whole = field('repository', optional(repositoryName))
  const pull = field('pull_request', optional(discussed))
  if (pull)
    return { repository: pull.repository, on: { kind: 'pull_request', number: pull.number } }
  const issue = field('issue', optional(discussed))
  if (issue) return { repository: issue.repository, on: { kind: 'issue', number: issue.number } }
  return { repository: whole ?? field('issue', discussed).repository, on: { kind: 'repository' } }
}

function linkTo(repository: string, on: AttachedTo, links: Links): string | null {
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
