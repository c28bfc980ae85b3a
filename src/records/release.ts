import type { Author, IssueOrPull, Reaction, RepositoryFact } from './fact.ts'

export interface Release extends RepositoryFact {
  /** The name of the tag, unique in the repository. The tag of a draft need not exist yet. */
  tag: string
  author: Author
  name: string | null
  body: string | null
  draft: boolean
  prerelease: boolean
  /** The branch or commit that the tag is created from if it does not exist. */
  target: string
  assets: readonly ReleaseAsset[]
  /** Null for drafts. */
  publishedAt: string | null
  createdAt: string
  /** Undefined in archives from before 2022. */
  reactions?: readonly Reaction[] | undefined
}

/** A file that users uploaded to the host and that the archive contains. */
export interface UploadedFile {
  /** The name of the uploaded file, without a path. */
  name: string
  contentType: string
  /** The path in the archive, such as `attachments/{uuid}/{name}`. */
  file: string
}

export interface ReleaseAsset extends UploadedFile {
  uuid: string
}

/** The object whose text links to an attachment. */
export type AttachedTo =
  | IssueOrPull
  | { kind: 'issue_comment'; on: IssueOrPull; id: number }
  | { kind: 'pull_request_review'; pull: number; id: number }
  | { kind: 'pull_request_review_comment'; pull: number; id: number }
  | { kind: 'commit_comment'; commit: string; id: number }
  | { kind: 'release'; tag: string }
  | { kind: 'repository' }

export interface Attachment extends RepositoryFact, UploadedFile {
  uuid: string
  on: AttachedTo
  author: Author
  createdAt: string
  /**
   * The URL on the old host. Texts in an archive link to `user-attachments/assets/UUID` instead, as GitHub's importers expect; texts in
   * a dump link to this URL. Undefined until the fact is written to an archive.
   */
  oldUrl?: string | undefined
}

/** An attachment as archives stored it until about 2023. */
export interface RepositoryFile extends RepositoryFact, UploadedFile {
  id: number
  author: Author
  createdAt: string
}
