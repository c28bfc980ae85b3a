import { existsSync } from 'node:fs'

const FILE = new URL('../../../shared/data/github-archive-2022.tar.gz', import.meta.url).pathname

/** A migration archive made by github.com. It is not part of the project; without it, its tests are skipped. */
export const REAL_ARCHIVE = {
  file: FILE,
  needed: { skip: existsSync(FILE) ? false : 'the archive of github.com is not available' },
} as const
