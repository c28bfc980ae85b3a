import type { ManifestFile } from '../../archive/manifest.ts'
import type { Section } from './rows-blob.ts'

/** What a segment of rows says of itself. */
export interface RowsContents {
  /** The forge that they were read of: texts have its addresses. */
  forge: string
  sections: Section[]
  /** Of the segments of their files, by folder; null where there are none. */
  files: Record<FilesFolder, string | null>
}

/** Where files of records are in the archive. */
export const FILES_FOLDERS = ['attachments', 'release_assets'] as const
export type FilesFolder = (typeof FILES_FOLDERS)[number]

/** What a segment of files says of itself. */
export interface FilesContents {
  full_name: string
  files: ManifestFile[]
  /** Which files it does without, and why. */
  missing?: string[]
}
