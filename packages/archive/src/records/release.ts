import { oneOf } from '@godwit/lib/json-shape'
import { reactionsTo, readIssueOrPull } from './issue.ts'
import type { IssueOrPull, RecordOfRepository } from './record.ts'
import * as field from './record-fields.ts'
import type { RecordUrls } from './record-urls.ts'
import * as link from './record-urls.ts'

const contentType = field.withDefault(field.string, 'application/octet-stream')

/** The path in the archive has it before the name. In old archives, `url` has no UUID. */
const uuid: field.Part<{ uuid: string }> = {
  read: (read) => ({ uuid: read('asset_url', link.storedPath).split('/').at(-2) ?? '' }),
  write: () => ({}),
}

/** A file that users uploaded to the host and that the archive contains. */
const uploadedFile = {
  uuid,
  /** The name of the uploaded file, without a path. */
  asset_name: field.named('name', field.string),
  asset_content_type: field.named('contentType', contentType),
  /** The path in the archive, such as `attachments/{uuid}/{name}`. */
  asset_url: field.named('file', field.storedPath),
}

export type ReleaseAsset = ReturnType<typeof assetRecord>
const assetRecord = field.recordFormat(uploadedFile)

export type Release = ReturnType<typeof releaseRecord>
export const releaseRecord = field.recordFormat({
  type: field.constant('release'),
  url: field.written(({ repository, tag }: RecordOfRepository & { tag: string }, urls) =>
    urls.release(repository, tag),
  ),
  repository: field.repository,
  user: field.author,
  name: field.stringOrNull,
  /** The name of the tag, unique in the repository. The tag of a draft need not exist yet. */
  tag_name: field.named('tag', field.string),
  body: field.stringOrNull,
  state: field.named(
    'draft',
    (value, at) => oneOf('published', 'draft')(value, at) === 'draft',
    (draft) => (draft ? 'draft' : 'published'),
  ),
  pending_tag: field.written(({ tag }: { tag: string }) => tag),
  prerelease: field.booleanOrFalse,
  /** The branch or commit that the tag is created from if it does not exist. */
  target_commitish: field.named('target', field.withDefault(field.string, '')),
  release_assets: field.named('assets', field.listOrEmpty(assetRecord)),
  /** Null for drafts. */
  published_at: field.timeOrNull,
  created_at: field.time,
  /** Undefined in archives from before 2022. */
  reactions: field.optional(reactionsTo('Release')),
})

/** The object whose text links to an attachment. */
export type AttachedTo =
  | IssueOrPull
  | { kind: 'issue_comment'; on: IssueOrPull; id: number }
  | { kind: 'pull_request_review'; pull: number; id: number }
  | { kind: 'pull_request_review_comment'; pull: number; id: number }
  | { kind: 'commit_comment'; commit: string; id: number }
  | { kind: 'release'; tag: string }
  | { kind: 'repository' }

type Attached = RecordOfRepository & { on: AttachedTo }

/** Reads the object that the attachment belongs to. If several fields link to an object, the most specific one counts. */
function readAttachedTo(read: field.FieldReader): Attached {
  const comment = read('issue_comment', link.orNull(link.issueOrPull))
  if (comment) {
    const { repository, ...on } = comment
    return { repository, on: { kind: 'issue_comment', on, id: read('issue_comment', link.id) } }
  }
  for (const kind of ['pull_request_review_comment', 'pull_request_review'] as const) {
    const found = read(kind, link.orNull(link.issueOrPull))
    if (!found) continue
    const { repository, number: pull } = found
    return { repository, on: { kind, pull, id: read(kind, link.id) } }
  }
  const onCommit = read('commit_comment', link.orNull(link.commitComment))
  if (onCommit) return onCommit
  const onRelease = read('release', link.orNull(link.release))
  if (onRelease) return onRelease
  const hasText = (key: string) => read(key, field.optional(field.string))
  if (hasText('pull_request') || hasText('issue')) return readIssueOrPull(read)
  return { repository: read('repository', link.repositoryName), on: { kind: 'repository' } }
}

function attachedObjectUrl({ repository, on }: Attached, urls: RecordUrls): string | null {
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

const attachedTo: field.Part<Attached> = {
  read: readAttachedTo,
  write: (record: Attached, urls) => ({ [record.on.kind]: attachedObjectUrl(record, urls) }),
}

/**
 * The URL on the old host. Texts in an archive link to `user-attachments/assets/UUID` instead, as GitHub's importers expect; texts in
 * a dump link to this URL. Undefined until the record is written to an archive. GitHub's archives do not have `old_url`: there the
 * address is `url`.
 */
const oldUrl: field.Part<{ oldUrl: string | undefined }> = {
  read: (read, key) => ({
    oldUrl: read(key, field.optional(field.string)) ?? read('url', field.optional(field.string)),
  }),
  write: ({ uuid, oldUrl }: { uuid: string; oldUrl?: string }, urls, key) => ({
    [key]: oldUrl === urls.attachment(uuid) ? undefined : oldUrl,
  }),
}

export type Attachment = ReturnType<typeof attachmentRecord>
export const attachmentRecord = field.recordFormat({
  type: field.constant('attachment'),
  url: field.written(({ uuid }: { uuid: string }, urls) => urls.attachment(uuid)),
  legacy_url: field.constant(null),
  old_url: oldUrl,
  repository: attachedTo,
  user: field.author,
  ...uploadedFile,
  created_at: field.time,
})

/** An attachment as archives stored it until about 2023. It is not written. */
export type RepositoryFile = ReturnType<typeof repositoryFileRecord>
export const repositoryFileRecord = field.recordFormat({
  url: field.named('id', link.fileId),
  repository: field.repository,
  user: field.author,
  file_name: field.named('name', field.string),
  file_content_type: field.named('contentType', contentType),
  file_url: field.named('file', field.storedPath),
  created_at: field.time,
})
