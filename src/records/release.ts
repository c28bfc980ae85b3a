import type { Author, Discussed, DiscussionFact, Reaction } from './fact.ts'

export interface Release extends DiscussionFact {
  /** The tag's name; a draft's tag need not exist yet. Unique in its repository. */
  tag: string
  author: Author
  name: string | null
  body: string | null
  draft: boolean
  prerelease: boolean
  /** Branch or commit that the tag is made from, if it is not there. */
  target: string
  assets: readonly ReleaseAsset[]
  /** Null for drafts. */
  publishedAt: string | null
  createdAt: string
  /** Undefined in archives from before 2022. */
  reactions?: readonly Reaction[] | undefined
}

/** A file whose bytes are in the archive. */
export interface StoredFile {
  /** As people named it; no part of a path. */
  name: string
  contentType: string
  /** Path of its bytes in the archive: `attachments/{uuid}/{name}`, `release_assets/{uuid}/{name}`. */
  file: string
}

export interface ReleaseAsset extends StoredFile {
  uuid: string
}

/** What an attachment was uploaded to: its text holds the address. */
export type AttachedTo =
  | Discussed
  | { kind: 'issue_comment'; on: Discussed; id: number }
  | { kind: 'pull_request_review'; pull: number; id: number }
  | { kind: 'pull_request_review_comment'; pull: number; id: number }
  | { kind: 'commit_comment'; commit: string; id: number }
  | { kind: 'release'; tag: string }
  | { kind: 'repository' }

export interface Attachment extends DiscussionFact, StoredFile {
  uuid: string
  on: AttachedTo
  author: Author
  createdAt: string
}

/** A file that was dropped into a discussion, as archives until about 2023 keep it. */
export interface RepositoryFile extends DiscussionFact, StoredFile {
  id: number
  author: Author
  createdAt: string
}
