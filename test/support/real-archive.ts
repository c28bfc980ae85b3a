import { sharedFile } from './shared-files.ts'

const { path, needed } = sharedFile('data/github-archive-2022.tar.gz')

/** A migration archive made by github.com. It is not part of the project; without it, its tests are skipped. */
export const REAL_ARCHIVE = { file: path, needed } as const
